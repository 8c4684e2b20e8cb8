"""failures.wait: between a failure and the next attempt lies the wait that its policy asks for.

What a runtime does on the way, such as to save, to export or to call a hook, may or may not count
as waiting: it is left to the subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Check, Verdicts, broken, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History
from faultclock.oracle.predict import Ruling

__all__ = ["CHECK", "Waited", "waits_of"]

#: What a runtime may have to wait for between two attempts, by the facts that begin and end it.
_BUSY = (
    ("store.asked", "store.answered", ("op",)),
    ("hook.called", "hook.replied", ("hook", "n")),
    ("telemetry.asked", "telemetry.answered", ("name", "n")),
    ("queue.asked", "queue.answered", ("item", "n")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """The wait between a failure and the act that did it again.

    Attributes:
        ruling: of the policy that asks for the wait.
        waited_ns: all of the time between them.
        idle_ns: without what the runtime spent on something else.
    """

    failure: Failure
    ruling: Ruling
    again: TraceEvent
    waited_ns: int
    idle_ns: int


def waits_of(history: History, model: ErrorModel) -> Iterator[Waited]:
    """Yield the waits that a policy asks for, but for those between requests to a provider."""
    for failure in failures_of(history, model):
        ruling, again = failure.ruling, failure.redone_by
        if failure.wire is not None or ruling is None or again is None:
            continue
        if failure.tries >= ruling.policy.attempts_max:
            # No further attempt was legal, so no wait is.
            continue
        waited_ns = again.at_ns - failure.at_ns
        yield Waited(
            failure=failure,
            ruling=ruling,
            again=again,
            waited_ns=waited_ns,
            idle_ns=waited_ns - _busy_ns(history, failure, again.at_ns),
        )


def _wait(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing was retried under a policy with a wait")
    slack_ns = history.timing.slack_ns
    for wait in waits_of(history, model):
        failure, ruling, waited_ns = wait.failure, wait.ruling, wait.waited_ns
        cited = None if ruling.requirements is None else ruling.requirements.wait
        legal = ruling.policy.interval(failure.tries)
        yield held(cited)
        if waited_ns >= legal.low_ns - slack_ns and wait.idle_ns <= legal.high_ns + slack_ns:
            continue
        observed = f"waited {format_duration(waited_ns)}" if waited_ns > 0 else "it did not wait"
        yield broken(
            (cited,),
            call=failure.call,
            expected=f"a wait of {legal} before retry {failure.tries} after {failure}",
            observed=observed,
            events=(*failure.events, wait.again.seq),
            hint="Compare base, factor and the first retry's number with the policy.",
        )


def _busy_ns(history: History, failure: Failure, until_ns: int) -> int:
    """Return how much of the wait the runtime spent on something else."""
    total_ns, covered_ns = 0, failure.at_ns
    for begun_ns, ended_ns in sorted(_busy(history, failure)):
        begun_ns, ended_ns = max(begun_ns, covered_ns), min(ended_ns, until_ns)
        if ended_ns > begun_ns:
            total_ns += ended_ns - begun_ns
            covered_ns = ended_ns
    return total_ns


def _busy(history: History, failure: Failure) -> Iterator[tuple[int, int]]:
    for begins, ends, names in _BUSY:
        open_: dict[tuple[object, ...], int] = {}
        for event in history.of(begins, ends):
            key = tuple(event.payload.get(name) for name in names)
            if event.call != failure.call:
                continue
            if event.kind == begins:
                open_[key] = event.at_ns
            elif key in open_:
                yield open_.pop(key), event.at_ns


CHECK = Check(
    id="failures.wait",
    title="Waits before a retry",
    says="Each retry comes after the wait that the policy sets.",
    run=_wait,
)
