"""Permissions: who decides on a gated tool call, and what was decided.

An attached state machine decides alone: the stage's allowed tools, else its grant. Without one
the session's mode decides: `yolo` approves, `allowlist` looks the tool up, `ask` asks the person,
whose approval holds for that call (and, where the model reads it so, for the same arguments).
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from faultclock.model.canonical import digest_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.port_facts import Prompt
from faultclock.oracle.facts.tool_fates import arguments_of
from faultclock.oracle.facts.turn_facts import Execution, ToolCall

Source = Literal["person", "headless", "mode", "stage"]


class Permission(Struct, frozen=True, kw_only=True):
    """Whether an execution was allowed.

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


def mode_of(history: History) -> str:
    """Return the session's mode: a resumed session has the one that is recorded."""
    initial = history.world.stored.initial
    recorded = None if initial is None else initial.get("mode")
    first = history.lives[0] if history.lives else None
    if first is None or not first.resumes or not isinstance(recorded, str):
        return history.session.mode
    return recorded


def decider_of(history: History) -> Source:
    """Return who decides on gated tool calls."""
    if history.session.stages:
        return "stage"
    if mode_of(history) in ("yolo", "allowlist"):
        return "mode"
    return "headless" if history.session.headless else "person"


# ---------------------------------------------------------------------- what the model asked for


def is_gated(history: History, tool: str) -> bool:
    """Return whether a tool runs with an approval only."""
    return tool in history.tool_scripts and history.tool_scripts[tool].gated


def refusal_of(history: History, call: ToolCall) -> Source | None:
    """Return who refused a gated tool call that did not run; None when that is unknown."""
    if not is_gated(history, call.name):
        return None
    source = decider_of(history)
    if source == "stage":
        refused = any(
            event.tool == call.name and event.answer != "approve"
            for event in history.of("stage.asked")
            if event.phase == "grant" and event.call == call.call
        )
        return "stage" if refused else None
    if source == "headless" or mode_of(history) == "allowlist":
        return source
    refused = any(prompt.said != "approved" for prompt in history.prompts_about(call))
    return "person" if refused else None


# ---------------------------------------------------------------------- what was executed


def permission_of(history: History, model: ErrorModel, execution: Execution) -> Permission | None:
    """Return whether the execution of a gated tool was allowed; None: others judge that."""
    source = decider_of(history)
    if source == "stage":
        return _by_stage(history, execution)
    if source == "mode":
        patterns = ("*",) if mode_of(history) == "yolo" else history.session.allowlist
        return Permission(
            source="mode",
            given=any(_matches(pattern, execution.tool) for pattern in patterns),
            needs="the allowlist names it",
            why_not="it is not on the allowlist",
        )
    return _by_person(history, model, execution)


def is_about(history: History, prompt: Prompt, execution: Execution, *, same: bool) -> bool:
    """Return whether a request is about an executed call; `same`: or one with its arguments."""
    if prompt.life > execution.life:
        return False
    if prompt.tool_call == execution.tool_call:
        return True
    if not same or prompt.tool != execution.tool:
        return False
    wanted = digest_of(dict(execution.arguments))
    asked = (arguments_of(call) for call in history.tool_calls if call.id == prompt.tool_call)
    return any(given is not None and digest_of(given) == wanted for given in asked)


def approved_since(history: History, seq: int, execution: Execution) -> bool:
    """Return whether a person was asked about an executed call after an event, and said yes."""
    return any(
        prompt.shown.seq > seq and is_about(history, prompt, execution, same=False)
        for prompt in _approvals(history, execution)
    )


def _approvals(history: History, execution: Execution) -> list[Prompt]:
    """Return what a person had said yes to when a call was executed."""
    return [
        prompt
        for prompt in history.prompts
        # The answer is written down after the runtime has taken it, so the times decide.
        if prompt.said == "approved"
        and prompt.accepted is not None
        and prompt.accepted.at_ns <= execution.called.at_ns
    ]


def _by_person(history: History, model: ErrorModel, execution: Execution) -> Permission | None:
    approvals = _approvals(history, execution)
    if any(is_about(history, prompt, execution, same=False) for prompt in approvals):
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
    same = rules.approval_holds_for == "same_arguments"
    return Permission(
        source="person",
        given=same and any(is_about(history, item, execution, same=True) for item in approvals),
        needs="a person approved this call, or has approved the same arguments",
        why_not="the approval that it remembers was given for something else",
        events=tuple(event.seq for event in claims),
    )


def _is_remembered(event: TraceEvent, execution: Execution, source: str) -> bool:
    fields = event.fields
    return fields.get("tool_call") == execution.tool_call and fields.get("source") == source


def _by_stage(history: History, execution: Execution) -> Permission:
    before = execution.called.seq
    entered = [
        visit.stage
        for visit in history.stage_visits
        if visit.call == execution.call and visit.tries[0].begun.seq < before
    ]
    stages = {stage.id: stage for stage in history.session.stages}
    stage = stages.get(entered[-1]) if entered else None
    if stage is not None and execution.tool in stage.allowed_tools:
        return Permission(source="stage", given=True)
    asked = [
        event
        for event in history.of("stage.asked")
        if event.phase == "grant"
        and (event.tool, event.call) == (execution.tool, execution.call)
        and event.seq < before
    ]
    said = asked[-1].answer if asked else None
    return Permission(
        source="stage",
        given=said == "approve",
        needs="its stage allows the tool, or the state machine grants it",
        why_not=f"the state machine said {said}" if asked else "it was not asked",
        events=tuple(event.seq for event in asked),
    )


def _matches(pattern: str, name: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), name) is not None
