"""failures.wait: between a failure and the next attempt lies the wait that its policy asks for.

What a runtime does on the way, such as to save, to export or to call a hook, may or may not count
as waiting: it is left to the subject.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.duration import format_duration
from harness.oracle.check import Case, Check, Outcome, Violation
from harness.oracle.failures import Failure
from harness.oracle.predict import SLACK_NS

__all__ = ["CHECK"]

#: What a runtime may have to wait for between two attempts, by the facts that begin and end it.
_BUSY = (
    ("store.asked", "store.answered", ("op",)),
    ("hook.called", "hook.replied", ("hook", "n")),
    ("telemetry.asked", "telemetry.answered", ("name", "n")),
    ("queue.asked", "queue.answered", ("item", "n")),
)


def _wait(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing was done again under a policy with a wait")
    for failure in case.failures:
        ruling, again = failure.ruling, failure.redone_by
        if failure.wire is not None or ruling is None or again is None:
            continue
        if failure.tries >= ruling.policy.attempts_max:
            # No further attempt was legal, so no wait is.
            continue
        cited = None if ruling.requirements is None else ruling.requirements.wait
        legal = ruling.policy.interval(failure.tries)
        outcome.looked_at(cited)
        waited_ns = again.at_ns - failure.at_ns
        shortest_ns = waited_ns - _busy_ns(case, failure, again.at_ns)
        if waited_ns >= legal.low_ns - SLACK_NS and shortest_ns <= legal.high_ns + SLACK_NS:
            continue
        observed = f"waited {format_duration(waited_ns)}" if waited_ns > 0 else "it did not wait"
        outcome.violate(
            Violation(
                requirement=cited,
                call=failure.call,
                expected=f"a wait of {legal} before retry {failure.tries} after {failure}",
                observed=observed,
                events=(*failure.events, again.seq),
                hint="Compare base, factor and the first retry's number with the policy.",
            )
        )
    return outcome


def _busy_ns(case: Case, failure: Failure, until_ns: int) -> int:
    """Return how much of the wait the runtime spent on something else."""
    total_ns, covered_ns = 0, failure.at_ns
    for begun_ns, ended_ns in sorted(_busy(case, failure)):
        begun_ns, ended_ns = max(begun_ns, covered_ns), min(ended_ns, until_ns)
        if ended_ns > begun_ns:
            total_ns += ended_ns - begun_ns
            covered_ns = ended_ns
    return total_ns


def _busy(case: Case, failure: Failure) -> Iterator[tuple[int, int]]:
    for begins, ends, names in _BUSY:
        open_: dict[tuple[object, ...], int] = {}
        for event in case.trace.of_kind(begins, ends):
            key = tuple(event.payload.get(name) for name in names)
            if event.payload.get("call") != failure.call:
                continue
            if event.kind == begins:
                open_[key] = event.at_ns
            elif key in open_:
                yield open_.pop(key), event.at_ns


CHECK = Check(
    id="failures.wait",
    title="Waits before it is done again",
    says="Before each retry of what failed lies the wait that the policy asks for.",
    run=_wait,
)
