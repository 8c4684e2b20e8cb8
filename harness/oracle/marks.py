"""Marks: calls, attempts and waits as a report draws them. Judges nothing that a check does not."""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.finding import AttemptMark, CallReport, WaitMark
from harness.oracle.attempts import Call, Request
from harness.oracle.chain import chain_of
from harness.oracle.check import Case
from harness.oracle.predict import Step, step_legal

__all__ = ["call_reports", "wait_marks"]


def call_reports(case: Case) -> Iterator[CallReport]:
    """Yield each call and how it came out."""
    ended_at_ns = case.trace.footer.ended_at_ns
    plans: dict[str, list[Step]] = {call.id: [] for call in case.calls}
    for request, steps in case.plans:
        plans[request.id] += steps
    for call in case.calls:
        yield CallReport(
            call=call.id,
            task=call.task,
            started_ns=call.start.at_ns,
            ended_ns=None if call.over is None else call.over.at_ns,
            outcome=_outcome(call),
            attempts=tuple(_attempt_mark(call, step, ended_at_ns) for step in plans[call.id]),
        )


def wait_marks(case: Case) -> Iterator[WaitMark]:
    """Yield each wait between two attempts, with the interval that was legal."""
    for request, steps in case.plans:
        for step in steps:
            mark = _wait_mark(request, step)
            if mark is not None:
                yield mark


def _outcome(call: Call) -> str:
    if call.left is not None and call.end is None:
        code = call.left.payload.get("exit_code")
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
        # Nothing told the subject: at the latest it knew when it went on, or the run ended.
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


def _wait_mark(request: Request, step: Step) -> WaitMark | None:
    attempt, waited_ns = step.attempt, step.waited_ns
    if waited_ns is None or step.next is None or attempt.known_ns is None:
        return None
    wait = step.wait
    if wait is not None:
        basis, number = wait.basis, wait.retry_number
    else:
        number = step.failures or attempt.number
        basis = {
            "end": f"no retry: {step.classification} ends the call",
            "exhausted": "no retry: the attempts are used up",
            "none": "no retry: the attempt was good",
        }.get(step.act, "the document does not say")
    return WaitMark(
        call=request.id,
        retry_number=number,
        from_ns=attempt.known_ns,
        observed_ns=waited_ns,
        low_ns=None if wait is None else wait.interval.low_ns,
        high_ns=None if wait is None else wait.interval.high_ns,
        at_least=wait is not None and not wait.timing.exact,
        legal=step_legal(step),
        basis=basis,
        events=(attempt.start.seq, step.next.start.seq),
    )
