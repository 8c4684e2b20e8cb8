"""The state of each circuit breaker, folded over what was observed at its provider.

    closed --`failures` counted failures in a row--> open --`open_for`--> half open
    half open --a probe is good--> closed      half open --a probe fails and counts--> open

A failure that does not count, and a cancelled attempt, change nothing but that a probe is over.
What was under way when a breaker opened or closed no longer counts for it. A fresh process
begins anew.

Judges nothing: it says of each attempt what it met, and of each instant whether one is let by.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import zip_longest
from operator import itemgetter
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import BreakerRules, covers
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Attempt
from faultclock.oracle.wire.signals import classify
from faultclock.oracle.wire.timing import SLACK_NS

#: What an attempt meets: it is let by, it is the probe of a half-open breaker, it comes while the
#: breaker is open, or beside as many probes as there may be.
Met = Literal["free", "probe", "open", "crowded"]
#: How an attempt ends, for the breaker.
Result = Literal["good", "counted", "other", "cancelled"]
#: Whether an attempt is let by; `either` at the very instant at which that changes.
Gate = Literal["free", "shut", "either"]


class Snapshot(Struct, frozen=True, kw_only=True):
    """The state from one event on.

    Attributes:
        opened: how often it has opened so far, and `closed` how often a good probe closed it.
        reopened: whether a probe that failed was the last to open it.
        until_low_ns: earliest end of the open time; `until_high_ns` the latest. They differ where
            a failure could be known from its status, before its body.
        probes: probes under way.
        by: `seq` of the events of the attempt that brought the state about.
    """

    state: Literal["closed", "open", "half_open"] = "closed"
    opened: int = 0
    closed: int = 0
    reopened: bool = False
    until_low_ns: int = 0
    until_high_ns: int = 0
    probes: int = 0
    by: tuple[int, ...] = ()

    def gate(self, at_ns: int, probes_max: int) -> Gate:
        """Return whether an attempt at `at_ns` is let by."""
        if self.state == "open":
            return gate_of(at_ns, self.until_low_ns, self.until_high_ns)
        return "shut" if self.state == "half_open" and self.probes >= probes_max else "free"


def gate_of(at_ns: int, until_low_ns: int, until_high_ns: int) -> Gate:
    """Return whether something is let by that was shut until an instant between two others."""
    if at_ns < until_low_ns - SLACK_NS:
        return "shut"
    return "either" if at_ns <= until_high_ns + SLACK_NS else "free"


class BreakerFold:
    """One breaker. It gets its attempts in the order in which they begin and end."""

    def __init__(self, rules: BreakerRules) -> None:
        self.now = Snapshot()
        self._rules = rules
        self._failures = 0
        self._under_way: dict[int, tuple[tuple[int, int], bool]] = {}

    def begins(self, attempt: int, at_ns: int) -> Met:
        """Take in that an attempt begins, and return what it meets."""
        now = self.now
        if now.gate(at_ns, self._rules.half_open_probes) == "shut":
            # It should not be there; what becomes of it is not the breaker's affair.
            return "open" if now.state == "open" else "crowded"
        probe = now.state != "closed"
        if probe:
            self._becomes("half_open", probes=now.probes + 1)
        self._under_way[attempt] = ((now.opened, now.closed), probe)
        return "probe" if probe else "free"

    def ends(
        self,
        attempt: int,
        result: Result,
        knowable_ns: int,
        known_ns: int,
        by: tuple[int, ...] = (),
    ) -> None:
        """Take in how an attempt ends, and from when to when that could be known."""
        now = self.now
        era, probe = self._under_way.pop(attempt, ((-1, -1), False))
        if era != (now.opened, now.closed):
            return
        if probe:
            self._becomes("half_open", probes=now.probes - 1)
        if result == "good":
            self._failures = 0
            if probe:
                self._becomes("closed", closed=now.closed + 1, probes=0, by=by)
        elif result == "counted":
            self._failures += 1
            if probe or self._failures >= self._rules.failures:
                self._failures = 0
                self._becomes(
                    "open",
                    opened=now.opened + 1,
                    reopened=probe,
                    until_low_ns=knowable_ns + self._rules.open_for,
                    until_high_ns=known_ns + self._rules.open_for,
                    probes=0,
                    by=by,
                )

    def _becomes(
        self, state: Literal["closed", "open", "half_open"], reopened: bool = False, **changes: Any
    ) -> None:
        self.now = replace(self.now, state=state, reopened=reopened, **changes)


class Passage(Struct, frozen=True, kw_only=True):
    """An attempt at a breaker: what it met, and the state before it."""

    attempt: Attempt
    met: Met
    before: Snapshot


class Breakers(Struct, kw_only=True):
    """All breakers of a trace.

    Attributes:
        passages: the attempts of all calls, in the order in which they began.
        courses: of each provider, in each life: from which `seq` on it was in which state.
    """

    rules: BreakerRules
    passages: list[Passage] = field(default_factory=list)
    courses: dict[tuple[str, int], list[tuple[int, Snapshot]]] = field(default_factory=dict)

    def at(self, provider: str, life: int, seq: int) -> Snapshot:
        """Return the state of a provider's breaker right before the event `seq`."""
        course = self.courses.get((provider, life), [])
        place = bisect_left(course, seq, key=itemgetter(0))
        return course[place - 1][1] if place else Snapshot()

    def gate(self, provider: str, life: int, seq: int, at_ns: int) -> Gate:
        """Return whether an attempt at `at_ns` is let by, as things stood at the event `seq`."""
        return self.at(provider, life, seq).gate(at_ns, self.rules.half_open_probes)

    def shut_within(self, provider: str, life: int, since: TraceEvent, until: TraceEvent) -> bool:
        """Return whether it was shut at some time from one event on, until another one."""
        return self.gate(provider, life, since.seq, since.at_ns) != "free" or any(
            state.state == "open"
            or (state.state == "half_open" and state.probes >= self.rules.half_open_probes)
            for seq, state in self.courses.get((provider, life), ())
            if since.seq <= seq < until.seq
        )


class _Moment(Struct, frozen=True, kw_only=True):
    """The begin of an attempt, or its end where `knowable_ns` is given."""

    seq: int
    at_ns: int
    attempt: Attempt
    result: Result | None
    knowable_ns: int | None = None


@once
def breakers_in(history: History, model: ErrorModel) -> Breakers | None:
    """Return the circuit breakers of a runtime; None where the model has none."""
    rules = model.breaker
    if rules is None or not history.is_runtime:
        return None
    moments: dict[tuple[str, int], list[_Moment]] = {}
    for call in history.calls:
        for attempt, following in zip_longest(call.attempts, call.attempts[1:]):
            own = moments.setdefault((attempt.provider, call.life), [])
            own += _moments(model, rules, call, attempt, following)
    breakers = Breakers(rules=rules)
    for key, own in moments.items():
        fold, course = BreakerFold(rules), breakers.courses.setdefault(key, [])
        for moment in sorted(own, key=lambda moment: moment.seq):
            attempt, before = moment.attempt, fold.now
            began, events = attempt.start.seq, attempt.events
            if moment.knowable_ns is None:
                met = fold.begins(began, moment.at_ns)
                breakers.passages.append(Passage(attempt=attempt, met=met, before=before))
            elif moment.result is not None:
                fold.ends(began, moment.result, moment.knowable_ns, moment.at_ns, events)
            course.append((moment.seq, fold.now))
    breakers.passages.sort(key=lambda passage: passage.attempt.start.seq)
    return breakers


def _moments(
    model: ErrorModel, rules: BreakerRules, call: Call, attempt: Attempt, following: Attempt | None
) -> Iterator[_Moment]:
    result, start = _result(model, rules, call, attempt), attempt.start
    yield _Moment(seq=start.seq, at_ns=start.at_ns, attempt=attempt, result=result)
    if result is None:
        return
    seq, at_ns = max(attempt.events), attempt.known_ns
    if at_ns is None or result == "cancelled":
        # Its end is not known: at the latest it was over when the subject went on.
        last = following.start if following is not None else call.stop or call.end
        if last is None:
            return
        seq, at_ns = last.seq, last.at_ns
    yield _Moment(
        seq=max(seq, start.seq),
        at_ns=at_ns,
        attempt=attempt,
        result=result,
        knowable_ns=at_ns if attempt.knowable_ns is None else attempt.knowable_ns,
    )


def _result(model: ErrorModel, rules: BreakerRules, call: Call, attempt: Attempt) -> Result | None:
    if attempt.outcome == "ok":
        return "good"
    if attempt.signal is None:
        return "cancelled" if call.stop is not None or call.end is not None else None
    return "counted" if covers(rules.counts, classify(model, attempt.signal).pair) else "other"
