"""Consent: a gated tool runs on a yes of the person for that call, and on nothing else.

Judged by what the world saw alone, so that it holds for a runtime that declares nothing. A yes
counts when it is the first answer to its request, comes while that is open, and before a cancel.
It is for one call: the same tool with the same arguments, whether it is asked for again or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Check, Verdicts, Violation, also, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.permissions import mode_of
from faultclock.oracle.port_facts import Prompt
from faultclock.oracle.tool_fates import arguments_of, digest
from faultclock.oracle.turn_facts import Execution

__all__ = ["CHECKS"]


def _consent(history: History, model: ErrorModel) -> Verdicts:
    given = also(model, "approvals.consent.given")
    void = also(model, "approvals.consent.void")
    yield otherwise("no tool call needed the approval of a person")
    if history.session.stages or (history.session.mode, mode_of(history)) != ("ask", "ask"):
        yield otherwise("no person decides in this session")
        return
    for prompt in history.prompts:
        # What was refused, or not answered, and did not run either, shows that it is heeded.
        if prompt.tool_call is not None:
            yield held(*given)
            if any(_why_void(history, prompt, answer) for answer in prompt.answers):
                yield held(*void)
    for execution in history.executions:
        script = history.tool_scripts.get(execution.tool)
        if script is None or not script.gated:
            continue
        yield held(*given)
        if any(_is_yes_to(history, prompt, execution) for prompt in history.prompts):
            continue
        yield _violation(history, execution, given, void)


def _is_yes_to(history: History, prompt: Prompt, execution: Execution) -> bool:
    """Return whether the person said yes to this call, or to the same call before."""
    same = prompt.tool_call == execution.tool_call or (
        prompt.tool == execution.tool and _asks_for_the_same(history, prompt, execution)
    )
    return (
        same
        and prompt.life <= execution.life
        and any(
            answer.at_ns <= execution.called.at_ns and not _why_void(history, prompt, answer)
            for answer in _approvals(prompt)
        )
    )


def _approvals(prompt: Prompt) -> Iterator[TraceEvent]:
    return (event for event in prompt.answers if event.answer == "approved")


def _asks_for_the_same(history: History, prompt: Prompt, execution: Execution) -> bool:
    wanted = digest(dict(execution.arguments))
    asked = (arguments_of(call) for call in history.tool_calls if call.id == prompt.tool_call)
    return any(given is not None and digest(given) == wanted for given in asked)


def _why_void(history: History, prompt: Prompt, answer: TraceEvent) -> str:
    """Return in words why an answer does not count; empty where it does."""
    # A runtime may show a request of the same name again, after it was over.
    shown = [event for event in prompt.shown_all if event.seq < answer.seq]
    asked = shown[-1] if shown else prompt.shown
    if any(event.seq > asked.seq and event.at_ns < answer.at_ns for event in prompt.answers):
        return "it was the second answer"
    here = answer.interactor
    if any(
        asked.seq < event.seq < answer.seq and event.interactor == here
        for event in prompt.dismissals
    ):
        return "the request had been taken off the screen"
    due_ns = asked.deadline_ns
    if isinstance(due_ns, int) and answer.at_ns > asked.at_ns + due_ns:
        return "it came after the deadline"
    if _is_cancelled(history, prompt, asked, answer):
        return "the work had been cancelled"
    call = history.call(str(asked.call))
    over = None if call is None else call.over
    return "the turn had ended" if over is not None and over.seq < answer.seq else ""


def _is_cancelled(history: History, prompt: Prompt, asked: TraceEvent, answer: TraceEvent) -> bool:
    return any(
        asked.seq < event.seq < answer.seq
        and (event.scope in ("turn", "session") or event.target in (prompt.tool, prompt.tool_call))
        for event in history.of("cancel.requested")
    )


def _violation(
    history: History, execution: Execution, given: tuple[str, ...], void: tuple[str, ...]
) -> Violation:
    own = [prompt for prompt in history.prompts if prompt.tool_call == execution.tool_call]
    answers = [(prompt, event) for prompt in own for event in prompt.answers]
    late = [
        (event, why)
        for prompt, event in answers
        if event.answer == "approved" and (why := _why_void(history, prompt, event))
    ]
    observed = "the person was not asked"
    if late:
        observed = f"the person said yes, and {late[0][1]}"
    elif answers:
        observed = f"the person's answer was: {answers[0][1].answer}"
    elif own:
        observed = "the person had not answered"
    requirements = void if late else given
    return Violation(
        requirement=next(iter(requirements), None),
        call=execution.call,
        expected=f"{execution.tool} ({execution.tool_call}) runs after a yes to this call",
        observed=f"it ran, and {observed}",
        events=(
            *(prompt.shown.seq for prompt in own[:1]),
            *(event.seq for _, event in answers),
            execution.called.seq,
        ),
        hint="Keep each answer with the request that it is for, and close the request with it.",
    )


CHECKS = (
    Check(
        id="approvals.consent",
        title="An approval for each gated call",
        says="A gated tool runs only if the first answer to that call was a yes, and came in time.",
        run=_consent,
    ),
)
