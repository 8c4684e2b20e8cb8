"""Marks: calls, attempts and waits as a report draws them. Judges nothing that a check does not."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import AttemptMark, CallReport, WaitMark
from faultclock.oracle.check import also
from faultclock.oracle.checks.provider.retries import LONG_NS, floor_between
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.retries.predict import Step, step_legal
from faultclock.oracle.wire.attempts import Attempt, Call, Request
from faultclock.oracle.wire.chain import chain_of
from faultclock.oracle.wire.requests import wait_before


def call_reports(history: History, model: ErrorModel) -> Iterator[CallReport]:
    """Yield each call and how it came out."""
    ended_at_ns = history.trace.footer.ended_at_ns
    plans: dict[str, list[Step]] = {call.id: [] for call in history.calls}
    for request, steps in plans_of(history, model):
        plans[request.id] += steps
    for call in history.calls:
        yield CallReport(
            call=call.id,
            task=call.task,
            started_ns=call.start.at_ns,
            ended_ns=None if call.over is None else call.over.at_ns,
            outcome=_outcome(call),
            attempts=tuple(_attempt_mark(call, step, ended_at_ns) for step in plans[call.id]),
        )


def wait_marks(history: History, model: ErrorModel) -> Iterator[WaitMark]:
    """Yield each wait between two attempts, with the interval that was legal."""
    for request, steps in plans_of(history, model):
        for step in steps:
            mark = _wait_mark(history, model, request, step)
            if mark is not None:
                yield mark


def _outcome(call: Call) -> str:
    if call.left is not None and call.end is None:
        code = call.left.exit_code
        return "not watched to its end" if code is None else f"exited with code {code}"
    if call.end is None:
        return "never ended" if call.crashed is None else "crashed"
    if call.returned:
        return "returned"
    chain = chain_of(call.end) or [{}]
    return f"raised {str(chain[0].get('type', 'an error')).rsplit('.', 1)[-1]}"


def _attempt_mark(call: Call, step: Step, ended_at_ns: int) -> AttemptMark:
    attempt = step.attempt
    known_ns = attempt.known_ns
    if known_ns is None:
        # The subject got no sign: at the latest it knew when it went on, or the run ended.
        later = step.next.start if step.next is not None else call.over
        known_ns = ended_at_ns if later is None else later.at_ns
    words = {"ok": "ok", "open": "not ended"}
    return AttemptMark(
        call=call.id,
        number=attempt.number,
        started_ns=attempt.start.at_ns,
        known_ns=known_ns,
        ended=words.get(attempt.outcome, str(attempt.signal)),
        classification=None if step.classification is None else str(step.classification),
        events=attempt.events,
    )


def _wait_mark(
    history: History, model: ErrorModel, request: Request, step: Step
) -> WaitMark | None:
    """Return a wait with what was expected of it, by a policy or else by what the answer asked."""
    attempt, waited_ns, following, wait = step.attempt, step.waited_ns, step.next, step.wait
    if waited_ns is None or following is None or attempt.known_ns is None:
        return None
    basis = {
        "end": f"no retry: {step.classification} ends the call",
        "exhausted": "no retry: the attempts are used up",
        "none": "no retry: the attempt was good",
    }.get(step.act, "the document does not say")
    mark = WaitMark(
        call=request.id,
        retry_number=step.failures or attempt.number,
        from_ns=attempt.known_ns,
        observed_ns=waited_ns,
        low_ns=None,
        high_ns=None,
        legal=step_legal(step),
        basis=basis,
        events=(attempt.start.seq, following.start.seq),
    )
    if wait is None:
        return mark.model_copy(update=_by_hint(history, model, attempt, following, waited_ns))
    return mark.model_copy(
        update={
            "retry_number": wait.retry_number,
            "low_ns": wait.interval.low_ns,
            "high_ns": wait.interval.high_ns,
            "at_least": not wait.timing.exact,
            "basis": wait.basis,
        }
    )


def _by_hint(
    history: History, model: ErrorModel, attempt: Attempt, following: Attempt, waited_ns: int
) -> dict[str, object]:
    """Return what the provider asked for, and the ceiling, where the model demands to keep them."""
    since_ns = wait_before(attempt, following)
    asked = floor_between(history, model, attempt, following)
    is_endless = waited_ns >= LONG_NS and bool(also(model, "retries.long-wait"))
    if since_ns is None or (asked is None and not is_endless):
        return {}
    is_refused = asked is not None and asked.wait_ns >= LONG_NS and is_endless
    # A hint counts from the instant at which the failure could be known.
    low_ns = 0 if asked is None else max(0, asked.wait_ns - (since_ns - waited_ns))
    is_early = waited_ns + history.timing.slack_ns < low_ns
    bases = [] if asked is None else [asked.basis]
    if is_endless:
        bases.append(f"no wait of {format_duration(LONG_NS)} and more")
    return {
        "low_ns": None if is_refused else low_ns,
        "high_ns": LONG_NS if is_endless and not is_refused else None,
        "at_least": not is_endless,
        "legal": not is_early and not is_endless,
        "basis": "; ".join(bases),
    }
