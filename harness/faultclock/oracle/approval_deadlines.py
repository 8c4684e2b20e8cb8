"""Deadlines of requests to a person: what they are, when they end, and which answer is in time.

The time runs from the moment at which the request is first shown, never from the proposal of the
tool call. An answer at the very instant of the deadline is a draw, and is not judged.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Check, Verdicts, also, exercising, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.port_facts import Prompt
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.prompts import prompt_violation

__all__ = ["CHECKS"]


def _deadline(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no request was shown to a person")
    rules = model.interactions
    if rules is None:
        yield otherwise("the error model says nothing of requests to a person")
        return
    for prompt in history.prompts:
        row = rules.deadline_for(prompt.kind)
        finite = also(model, "approvals.deadline.finite")
        yield held(*finite)
        if prompt.deadline_ns is None:
            yield prompt_violation(
                next(iter(finite), None),
                prompt,
                "a finite deadline, so that the turn cannot wait for ever",
                "it has none",
            )
            continue
        wanted_ns = _wanted_ns(history, prompt, None if row is None else row.deadline)
        own = None if row is None else row.requirement
        if wanted_ns is not None:
            yield held(own)
            if abs(prompt.deadline_ns - wanted_ns) > SLACK_NS:
                said = format_duration(prompt.deadline_ns)
                yield exercising(
                    prompt_violation(
                        own,
                        prompt,
                        f"a deadline of {format_duration(wanted_ns)}",
                        f"it says {said}",
                    ),
                    own,
                )
                continue
        yield from _judge_end(history, model, prompt, prompt.deadline_ns, own)
        yield from _judge_answers(history, model, prompt, prompt.deadline_ns)


def _wanted_ns(history: History, prompt: Prompt, default_ns: int | None) -> int | None:
    call = history.call(prompt.call)
    tasks = {task.id: task for task in history.trace.header.scenario.tasks}
    task = None if call is None or call.do != "ask" else tasks.get(call.task)
    if task is not None and task.question is not None and task.question.deadline is not None:
        return task.question.deadline
    configured = {str(kind): deadline for kind, deadline in history.session.deadlines.items()}
    return configured.get(prompt.kind, default_ns)


def _judge_end(
    history: History, model: ErrorModel, prompt: Prompt, deadline_ns: int, own: str | None
) -> Verdicts:
    """Judge when a request without an answer in time ended."""
    due_ns = prompt.shown.at_ns + deadline_ns
    if prompt.said is not None or _was_stopped(history, prompt, due_ns):
        return
    life = next((item for item in history.lives if item.number == prompt.life), None)
    until_ns = history.trace.footer.ended_at_ns if life is None else life.until_ns
    if prompt.settled is None and until_ns <= due_ns + SLACK_NS:
        return
    requirements = (own, *also(model, "approvals.deadline.ends"))
    yield held(*requirements)
    if prompt.settled is not None and abs(prompt.settled.at_ns - due_ns) <= SLACK_NS:
        return
    observed = "it never ended"
    if prompt.settled is not None:
        after = format_duration(prompt.settled.at_ns - prompt.shown.at_ns)
        observed = f"it ended {after} after it was shown"
    expected = f"without an answer it ends exactly {format_duration(deadline_ns)} after it is shown"
    yield exercising(
        prompt_violation(
            own or next(iter(requirements), None),
            prompt,
            expected,
            observed,
            hint="Is the time counted from the proposal, or does a later event start it anew?",
        ),
        *requirements,
    )


def _was_stopped(history: History, prompt: Prompt, due_ns: int) -> bool:
    call = history.call(prompt.call)
    if call is None:
        return False
    stop, limit_ns = call.stop, history.limit_ns(call)
    if limit_ns is not None and limit_ns <= due_ns:
        return True
    stopped = stop is not None and prompt.shown.seq < stop.seq and stop.at_ns <= due_ns
    return stopped or _tool_cancelled(history, prompt, due_ns)


def _tool_cancelled(history: History, prompt: Prompt, due_ns: int) -> bool:
    return any(
        event.target in (None, prompt.tool, prompt.tool_call)
        and prompt.shown.seq < event.seq
        and event.at_ns <= due_ns
        for event in history.of("cancel.requested")
        if event.scope == "tool"
    )


def _judge_answers(
    history: History, model: ErrorModel, prompt: Prompt, deadline_ns: int
) -> Verdicts:
    """Judge that an answer before the deadline counts, and one after it does not."""
    requirements = also(model, "approvals.deadline.answers")
    due_ns = prompt.shown.at_ns + deadline_ns
    for event in prompt.answers:
        if event.at_ns == due_ns:
            continue
        in_time = event.at_ns < due_ns
        accepted = bool(event.accepted)
        settled_before = any(
            item.seq < event.seq for item in (prompt.accepted, *prompt.dismissals) if item
        )
        if settled_before or _stopped_before(history, prompt, event):
            # Something else settled it first: what comes after that is for the ordering rules.
            continue
        yield held(*requirements)
        if accepted is in_time:
            continue
        after = format_duration(event.at_ns - prompt.shown.at_ns)
        limit = format_duration(deadline_ns)
        yield prompt_violation(
            next(iter(requirements), None),
            prompt,
            f"an answer counts up to {limit} after the request is shown, and not later",
            f"one after {after} was {'accepted' if accepted else 'refused'}",
            event,
        )


def _stopped_before(history: History, prompt: Prompt, event: TraceEvent) -> bool:
    call = history.call(prompt.call)
    return call is not None and call.stop is not None and call.stop.seq < event.seq


CHECKS = (
    Check(
        id="approvals.deadline",
        title="How long a request to a person stays open",
        says="A request has the deadline of its kind. Without an answer it ends exactly then.",
        run=_deadline,
    ),
)
