"""Deadlines of requests to a person: what they are, when they end, and which answer is in time.

The time runs from the moment at which the request is first shown, never from the proposal of the
tool call. An answer at the very instant of the deadline is a draw, and is not judged.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.oracle.check import Verdicts, also, check, held, otherwise
from faultclock.oracle.checks.agent.approvals import broken_request, cancels_of
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.port_facts import Prompt
from faultclock.oracle.wire.timing import SLACK_NS


@check(
    "approvals.deadline",
    role="runtime",
    title="How long a request to a person stays open",
    says="A request has the deadline of its kind. Without an answer it ends exactly then.",
    unjudged="no request was shown to a person",
)
def deadline(history: History, model: ErrorModel) -> Verdicts:
    """Judge what the deadlines are, when they end a request, and which answers are in time."""
    rules = model.interactions
    if rules is None:
        yield otherwise("the error model says nothing of requests to a person")
        return
    finite = also(model, "approvals.deadline.finite")
    for prompt in history.prompts:
        yield held(*finite)
        if prompt.deadline_ns is None:
            expected = "a finite deadline, so that the turn cannot wait for ever"
            yield broken_request(finite, prompt, expected, "it has none")
            continue
        row = rules.deadline_for(prompt.kind)
        own = None if row is None else row.requirement
        wanted_ns = _wanted_ns(history, prompt, None if row is None else row.deadline)
        if wanted_ns is not None:
            yield held(own)
            if abs(prompt.deadline_ns - wanted_ns) > SLACK_NS:
                said = f"it says {format_duration(prompt.deadline_ns)}"
                yield broken_request(
                    (own,), prompt, f"a deadline of {format_duration(wanted_ns)}", said
                )
                continue
        due_ns = prompt.shown.at_ns + prompt.deadline_ns
        yield from _judge_end(
            history, prompt, due_ns, (own, *also(model, "approvals.deadline.ends"))
        )
        yield from _judge_answers(
            history, prompt, due_ns, also(model, "approvals.deadline.answers")
        )


def _wanted_ns(history: History, prompt: Prompt, default_ns: int | None) -> int | None:
    call = history.call(prompt.call)
    tasks = {task.id: task for task in history.trace.header.scenario.tasks}
    task = None if call is None or call.do != "ask" else tasks.get(call.task)
    if task is not None and task.question is not None and task.question.deadline is not None:
        return task.question.deadline
    configured = {str(kind): deadline for kind, deadline in history.session.deadlines.items()}
    return configured.get(prompt.kind, default_ns)


def _judge_end(
    history: History, prompt: Prompt, due_ns: int, requirements: tuple[str | None, ...]
) -> Verdicts:
    """Judge when a request without an answer in time ended. Its time runs from its being shown."""
    if prompt.said is not None or _was_stopped(history, prompt, due_ns):
        return
    life = history.life(prompt.life)
    until_ns = history.trace.footer.ended_at_ns if life is None else life.until_ns
    settled = prompt.settled
    if settled is None and until_ns <= due_ns + SLACK_NS:
        return
    yield held(*requirements)
    if settled is None or abs(settled.at_ns - due_ns) > SLACK_NS:
        after = "" if settled is None else format_duration(settled.at_ns - prompt.shown.at_ns)
        lasts = format_duration(due_ns - prompt.shown.at_ns)
        yield broken_request(
            requirements,
            prompt,
            f"without an answer it ends exactly {lasts} after it is shown",
            f"it ended {after} after it was shown" if after else "it never ended",
            hint="Is the time counted from the proposal, or does a later event start it anew?",
        )


def _was_stopped(history: History, prompt: Prompt, due_ns: int) -> bool:
    """Return whether the turn of a request, or its tool, was stopped before its time was up."""
    call = history.call(prompt.call)
    if call is None:
        return False
    stops = [event for event in cancels_of(history, prompt) if event.scope == "tool"]
    stops += [call.stop] if call.stop is not None else []
    limit_ns = history.limit_ns(call)
    return (limit_ns is not None and limit_ns <= due_ns) or any(
        prompt.shown.seq < stop.seq and stop.at_ns <= due_ns for stop in stops
    )


def _judge_answers(
    history: History, prompt: Prompt, due_ns: int, requirements: tuple[str, ...]
) -> Verdicts:
    """Judge that an answer before the deadline counts, and one after it does not."""
    call = history.call(prompt.call)
    stop = None if call is None else call.stop
    ends = [item.seq for item in (prompt.accepted, *prompt.dismissals, stop) if item]
    for event in prompt.answers:
        # What comes after another end is for the ordering rules, and the very instant is a draw.
        if event.at_ns == due_ns or any(seq < event.seq for seq in ends):
            continue
        yield held(*requirements)
        if event.accepted is not (event.at_ns < due_ns):
            lasts = format_duration(due_ns - prompt.shown.at_ns)
            after = format_duration(event.at_ns - prompt.shown.at_ns)
            expected = f"an answer counts up to {lasts} after the request is shown, and not later"
            observed = f"one after {after} was {'accepted' if event.accepted else 'refused'}"
            yield broken_request(requirements, prompt, expected, observed, event)
