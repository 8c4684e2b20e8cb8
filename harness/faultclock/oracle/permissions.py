"""Permissions: what allows a gated tool call to run, and what forbids it.

An attached state machine decides alone: the stage's allowed tools, else its grant. Without one
the session's mode decides: `yolo` approves, `allowlist` looks the tool up, `ask` asks the person,
whose approval holds for that call (and, where the model reads it so, for the same arguments).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.session_script import StageScript
from faultclock.model.trace import TraceEvent
from faultclock.oracle.history import History
from faultclock.oracle.port_facts import Prompt
from faultclock.oracle.tool_fates import arguments_of, digest
from faultclock.oracle.turn_facts import Execution, ToolCall

__all__ = ["Permission", "mode_of", "permission_of", "refusal_of"]

Source = Literal["person", "headless", "mode", "stage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """Whether a call may run.

    Attributes:
        source: who decides.
        needs: what would allow it, in words.
        why_not: why it was not allowed, in words.
        events: `seq` of the events that say so.
    """

    source: Source
    given: bool
    needs: str = ""
    why_not: str = ""
    events: tuple[int, ...] = ()


def permission_of(history: History, model: ErrorModel, execution: Execution) -> Permission | None:
    """Return whether the execution of a gated tool was allowed; None: others judge that."""
    session = history.session
    if session.stages:
        return _by_stage(history, execution)
    mode = mode_of(history)
    if mode == "yolo":
        return Permission(source="mode", given=True)
    if mode == "allowlist":
        return Permission(
            source="mode",
            given=any(_matches(item, execution.tool) for item in session.allowlist),
            needs="the allowlist names it",
            why_not="it is not on the allowlist",
        )
    return _by_person(history, model, execution)


def mode_of(history: History) -> str:
    """Return the session's mode: a resumed session has the one that is recorded."""
    store = history.trace.header.scenario.store
    recorded = None if store is None or store.initial is None else store.initial.get("mode")
    first = history.lives[0] if history.lives else None
    if first is None or not first.resumes or not isinstance(recorded, str):
        return history.session.mode
    return recorded


def refusal_of(history: History, call: ToolCall) -> Source | None:
    """Return who refused a gated tool call that did not run; None when that is unknown."""
    session = history.session
    if session.stages:
        refused = any(
            event.tool == call.name and event.answer != "approve"
            for event in history.of("stage.asked")
            if event.phase == "grant" and event.call == call.call
        )
        return "stage" if refused else None
    mode = mode_of(history)
    if mode == "allowlist":
        return "mode"
    if mode == "ask" and session.headless:
        return "headless"
    refused = any(
        prompt.tool_call == call.id and prompt.life == call.life and prompt.said != "approved"
        for prompt in history.prompts
    )
    return "person" if refused else None


def _by_person(history: History, model: ErrorModel, execution: Execution) -> Permission | None:
    if any(
        item.tool_call == execution.tool_call and _approved_by(item, execution)
        for item in history.prompts
    ):
        return Permission(source="person", given=True)
    rules = model.interactions
    claims = [
        event
        for event in history.of("declared.audit_event")
        if rules is not None and _is_remembered(event, execution, rules.remembered_as)
    ]
    if rules is None or not claims:
        # That no person was asked, or one said no, is what the ordering rules find.
        return None
    given = rules.approval_holds_for == "same_arguments" and any(
        prompt.tool == execution.tool
        and _approved_by(prompt, execution)
        and _same_arguments(history, prompt, execution)
        for prompt in history.prompts
    )
    return Permission(
        source="person",
        given=given,
        needs="a person approved this call, or has approved the same arguments",
        why_not="the approval that it remembers was given for something else",
        events=tuple(event.seq for event in claims),
    )


def _is_remembered(event: TraceEvent, execution: Execution, source: str) -> bool:
    fields = event.fields or {}
    return fields.get("tool_call") == execution.tool_call and fields.get("source") == source


def _approved_by(prompt: Prompt, execution: Execution) -> bool:
    accepted = prompt.accepted
    return (
        accepted is not None
        and prompt.said == "approved"
        and prompt.life <= execution.life
        # It is written down after the runtime has taken it, so the times decide.
        and accepted.at_ns <= execution.called.at_ns
    )


def _same_arguments(history: History, prompt: Prompt, execution: Execution) -> bool:
    wanted = digest(dict(execution.arguments))
    asked = (arguments_of(call) for call in history.tool_calls if call.id == prompt.tool_call)
    return any(given is not None and digest(given) == wanted for given in asked)


def _by_stage(history: History, execution: Execution) -> Permission:
    needs = "its stage allows the tool, or the state machine grants it"
    stage = _stage_at(history, execution)
    if stage is not None and execution.tool in stage.allowed_tools:
        return Permission(source="stage", given=True)
    events = [
        event
        for event in history.of("stage.asked")
        if event.phase == "grant"
        and event.tool == execution.tool
        and event.call == execution.call
        and event.seq < execution.called.seq
    ]
    granted = any(event.answer == "approve" for event in events[-1:])
    answers = ", ".join(str(event.answer) for event in events[-1:])
    return Permission(
        source="stage",
        given=granted,
        needs=needs,
        why_not=f"the state machine said {answers}" if events else "it was not asked",
        events=tuple(event.seq for event in events),
    )


def _stage_at(history: History, execution: Execution) -> StageScript | None:
    entered: str | None = None
    for visit in _visits_before(history, execution):
        entered = visit
    return next((stage for stage in history.session.stages if stage.id == entered), None)


def _visits_before(history: History, execution: Execution) -> Iterator[str]:
    for visit in history.stage_visits:
        if visit.call == execution.call and visit.tries[0].begun.seq < execution.called.seq:
            yield visit.stage


def _matches(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None
