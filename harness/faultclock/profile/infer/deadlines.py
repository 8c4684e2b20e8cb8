"""Deadlines: what ends an attempt by time, and what ends a call.

A deadline of an attempt shows where nothing comes; whether it is the one that was asked for shows
under a second one. A deadline of the call shows where slow failures leave fewer attempts than fast
ones: each failure after which it went on, or did not, bounds it from one side.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.report.inferred import Deadline, Evidence, Told
from faultclock.profile.infer.kinds import Kind
from faultclock.profile.infer.probes import ATTEMPTS_ASKED, TIMEOUT_NS, Asker, Probe
from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import close, rounded, said

#: The other deadline that is asked for.
SECOND_TIMEOUT_NS = 11 * SECOND_NS
#: A good answer that takes a quarter of an hour, without a pause as long as any deadline.
DRIP = Kind(
    id="drip",
    title="good answer, a few bytes every 8 s",
    fault={"kind": "slow_drip", "bytes_per_step": 4, "every": "8s"},
)
#: Connecting, and the way of the first byte.
_ON_THE_WAY_NS = 250 * MILLISECOND_NS
#: How long the provider takes to fail, at first; below the deadline of an attempt.
_SLOW_NS = 25 * SECOND_NS
_SLOWEST_NS = 29 * SECOND_NS
_FASTEST_NS = 50 * MILLISECOND_NS
_ROUNDS_MAX = 9
_FINE_NS = 100 * MILLISECOND_NS


def attempt_deadline(kind: Kind, first: Seen, second: Seen | None) -> Deadline:
    """Return what ends an attempt in which nothing comes.

    Args:
        first: under the deadline that is always asked for.
        second: under another one; None where it was not asked.
    """
    what = kind.title
    hung = [None if run is None else _hung_ns(run) for run in (first, second)]
    if hung[0] is None:
        reason = "it never ended by itself" if first.outcome == "never_ended" else first.trouble
        return Deadline(what=what, after_ns=Told(reason=reason or "no attempt hung"))
    told = Told[int](value=rounded(hung[0]), sure="exact", evidence=(first.whole,))
    asked = _near(hung[0], TIMEOUT_NS)
    follows = hung[1] is not None and _near(hung[1], SECOND_TIMEOUT_NS)
    if asked and follows:
        text = "the deadline that it is asked to use"
    elif hung[1] is not None and _near(hung[0], hung[1]):
        text = "its own, also when it is asked to use another deadline"
    elif hung[1] is None:
        text = "unknown: it may be the deadline that it is asked to use"
    else:
        shown = said(hung[1])
        text = f"{shown} where it is asked to use {format_duration(SECOND_TIMEOUT_NS)}"
    return Deadline(what=what, after_ns=told, text=text)


def drip_deadline(run: Seen) -> Deadline:
    """Return whether a deadline is for a whole answer, or for each pause in it."""
    evidence = (run.whole,)
    if run.trouble or not run.attempts or not run.met:
        why = run.trouble or "the answer was never dripped"
        return Deadline(what=DRIP.title, after_ns=Told(reason=why))
    if run.outcome == "returned" and len(run.attempts) == 1:
        why = "the whole answer was waited for: a deadline is for a pause, or there is none"
        return Deadline(what=DRIP.title, after_ns=Told(reason=why, evidence=evidence), text=why)
    first = run.attempts[0]
    over_ns = first.known_ns if first.known_ns is not None else run.end_ns
    if over_ns is None:
        return Deadline(what=DRIP.title, after_ns=Told(reason="the call never ended"))
    lasted = rounded(over_ns - first.start_ns)
    return Deadline(
        what=DRIP.title,
        after_ns=Told[int](value=lasted, sure="exact", evidence=evidence),
        text="a deadline is for the whole answer",
    )


class _Bounds(Struct, frozen=True, kw_only=True):
    """Between which a deadline lies, if it is asked about when an attempt has failed."""

    low_ns: int = 0
    high_ns: int | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def open_ns(self) -> int | None:
        return None if self.high_ns is None else self.high_ns - self.low_ns

    @property
    def makes_sense(self) -> bool:
        return self.high_ns is None or self.low_ns <= self.high_ns


def find_total(
    asker: Asker, kind: Kind, fast: Seen
) -> Generator[Sequence[Probe], Sequence[Seen], Deadline]:
    """Ask until the deadline of a whole call is known; return it.

    Args:
        kind: that is retried.
        fast: what became of it where the provider fails at once.
    """
    what = "the whole call"
    (slow,) = yield [asker.slow(kind, _SLOW_NS)]
    cut = _cut_off(slow)
    if cut is not None:
        return Deadline(what=what, after_ns=cut, text="it cuts the attempt off that is under way")
    if slow.trouble or len(slow.attempts) >= min(len(fast.attempts), ATTEMPTS_ASKED):
        lasted = 0 if slow.end_ns is None else slow.end_ns - slow.start_ns
        least = format_duration(lasted // SECOND_NS * SECOND_NS)
        why = slow.trouble or (
            f"none seen: all {len(fast.attempts)} attempts were made, though they took {least}"
        )
        return Deadline(what=what, after_ns=Told(reason=why, evidence=(slow.whole,)))
    at_failure, before_wait = _narrowed(_Bounds(), _Bounds(), fast, slow)
    for _ in range(_ROUNDS_MAX):
        think_ns = _next_think_ns(at_failure, before_wait, fast)
        if think_ns is None:
            break
        (slow,) = yield [asker.slow(kind, think_ns)]
        at_failure, before_wait = _narrowed(at_failure, before_wait, fast, slow)
    return _told_total(what, at_failure, before_wait)


def _told_total(what: str, at_failure: _Bounds, before_wait: _Bounds) -> Deadline:
    choices = [
        (bounds, text)
        for bounds, text in (
            (at_failure, "no attempt begins when a failure comes later than that"),
            (before_wait, "no attempt begins that would begin later than that"),
        )
        if bounds.makes_sense and bounds.high_ns is not None
    ]
    if not choices:
        why = "slow failures leave fewer attempts, by no one deadline"
        return Deadline(what=what, after_ns=Told(reason=why, evidence=at_failure.evidence))
    bounds, text = min(choices, key=lambda item: item[0].open_ns or 0)
    high = bounds.high_ns or 0
    span = f"{said(bounds.low_ns)} to {said(high)}"
    # It was written as a round number.
    whole = round(high / SECOND_NS) * SECOND_NS
    value = whole if bounds.low_ns <= whole <= high + MILLISECOND_NS else high
    told = Told[int](
        value=rounded(value), sure="bounded", reason=f"it is {span}", evidence=bounds.evidence
    )
    return Deadline(what=what, after_ns=told, text=text)


def _narrowed(
    at_failure: _Bounds, before_wait: _Bounds, fast: Seen, slow: Seen
) -> tuple[_Bounds, _Bounds]:
    """Return the bounds after one more run of slow failures."""
    for number, attempt in enumerate(slow.attempts, 1):
        if attempt.known_ns is None or number > len(fast.waits_ns):
            break
        wait = fast.waits_ns[number - 1] or 0
        failed_ns = attempt.known_ns - slow.start_ns
        went_on = number < len(slow.attempts)
        at_failure = _bounded(at_failure, failed_ns, slow, went_on=went_on)
        before_wait = _bounded(before_wait, failed_ns + wait, slow, went_on=went_on)
    return at_failure, before_wait


def _bounded(bounds: _Bounds, at_ns: int, run: Seen, *, went_on: bool) -> _Bounds:
    if went_on and at_ns > bounds.low_ns:
        return replace(bounds, low_ns=at_ns, evidence=(*bounds.evidence[-3:], run.whole))
    if not went_on and (bounds.high_ns is None or at_ns < bounds.high_ns):
        return replace(bounds, high_ns=at_ns, evidence=(*bounds.evidence[-3:], run.whole))
    return bounds


def _next_think_ns(at_failure: _Bounds, before_wait: _Bounds, fast: Seen) -> int | None:
    """Return how slow failures have to be for one of them to fall in the middle of the bounds."""
    bounds = at_failure if at_failure.makes_sense else before_wait
    if not bounds.makes_sense or bounds.high_ns is None or (bounds.open_ns or 0) <= _FINE_NS:
        return None
    middle = (bounds.low_ns + bounds.high_ns) // 2
    for number in range(1, len(fast.attempts)):
        waited = sum(wait or 0 for wait in fast.waits_ns[: number - 1])
        think = (middle - waited) // number
        if _FASTEST_NS <= think <= _SLOWEST_NS:
            return think // MILLISECOND_NS * MILLISECOND_NS
    return None


def _cut_off(run: Seen) -> Told[int] | None:
    """Return when a call was ended in the middle of an attempt that had not failed."""
    last = run.attempts[-1] if run.attempts else None
    if run.end_ns is None or last is None or last.hung_ns is None:
        return None
    if _near(last.hung_ns, TIMEOUT_NS) or not close(last.known_ns or run.end_ns, run.end_ns, 5e6):
        return None
    first = run.attempts[0]
    if len(run.attempts) == 1 or (first.hung_ns and _near(first.hung_ns, last.hung_ns)):
        return None
    return Told[int](value=rounded(run.end_ns - run.start_ns), sure="exact", evidence=(run.whole,))


def _hung_ns(run: Seen) -> int | None:
    hung = [item.hung_ns for item in run.attempts if item.hung_ns is not None]
    # Where the connection is closed only after the wait that follows, the last one shows it.
    return min(hung) if hung and run.outcome != "never_ended" else None


def _near(one: int, other: int) -> bool:
    return abs(one - other) <= _ON_THE_WAY_NS
