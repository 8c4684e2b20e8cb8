"""The patterns that pair two sets of events: precedence and response.

The first event of a pair (`other` in a precedence, `event` in a response) is held under its keys
until a second one has no more use for it. Bounds are read from the first event: it is ready from
`no_sooner` on, and good until `within`.
"""

# ruff: noqa: D102 - `Stretch` says what each method does

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from msgspec import Struct

from faultclock.model.duration import format_duration
from faultclock.model.report.finding import OrderStep
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.joins import Key
from faultclock.oracle.rules.match import described
from faultclock.oracle.rules.scope import (
    EVENT,
    OTHER,
    Fault,
    Stretch,
    agrees,
    differs,
)

#: The key of an event that no `other` can be joined with.
UNANSWERED: Key = (None,)
#: How the distance of a pair is spoken of that breaks a bound, by which one and on which side.
_HOW = {
    ("soon", "before"): "only",
    ("late", "before"): "as long as",
    ("soon", "after"): "already",
    ("late", "after"): "only",
}


class _Held(Struct, kw_only=True):
    """The first event of a pair, while it waits.

    Attributes:
        ready_ns, due_ns: from when and until when a second event may come.
        over: whether it waits no longer. It may still lie under other keys.
    """

    event: TraceEvent
    number: int
    ready_ns: int
    due_ns: int | None
    over: bool = False

    def is_late(self, at_ns: int) -> bool:
        """Return whether it is too late for a second event."""
        return self.due_ns is not None and at_ns > self.due_ns


@dataclass(slots=True, kw_only=True)
class _Pairs(Stretch):
    #: What is held, by key, in the order in which it gets ready.
    heaps: dict[Key, list[tuple[int, int, _Held]]] = field(default_factory=dict)
    count: int = 0
    #: The last `other`, and where some are not joined, the last one of each key.
    last: TraceEvent | None = None
    latest: dict[Key, TraceEvent] | None = None

    def _held(self, event: TraceEvent) -> _Held | None:
        """Return `event` as one to hold; None where a bound of it is not known."""
        terms = self.terms
        self.count += 1
        if not terms.is_timed:
            return _Held(event=event, number=self.count, ready_ns=event.at_ns, due_ns=None)
        sooner_ns, within_ns = terms.no_sooner.at(event), terms.within.at(event)
        if terms.no_sooner.written is None:
            sooner_ns = 0
        if sooner_ns is None or (within_ns is None and terms.within.written is not None):
            return None
        return _Held(
            event=event,
            number=self.count,
            ready_ns=event.at_ns + sooner_ns,
            due_ns=None if within_ns is None else event.at_ns + within_ns,
        )

    def _put(self, held: _Held, key: Key) -> None:
        heappush(self.heaps.setdefault(key, []), (held.ready_ns, held.number, held))

    def _first(self, keys: Iterable[Key]) -> _Held | None:
        """Return what was ready first of all that waits under `keys`."""
        found: tuple[int, int, _Held] | None = None
        for key in keys:
            heap = self.heaps.get(key)
            while heap and heap[0][2].over:
                heappop(heap)
            if heap and (found is None or heap[0][:2] < found[:2]):
                found = heap[0]
        return None if found is None else found[2]

    def _meet(self, other: TraceEvent) -> tuple[Key, ...]:
        """Remember an `other`, for the words about what is missing; return its keys."""
        keys = self.terms.join.keys_of_other(other.payload)
        self.last = other
        if self.terms.join.pairs:
            self.latest = self.latest if self.latest is not None else {}
            self.latest.update(dict.fromkeys(keys, other))
        return keys

    def _nearest(self, event: TraceEvent) -> TraceEvent | None:
        """Return the last `other` that is joined with `event`, else the last one of all."""
        join = self.terms.join
        keys = join.keys_of_event(event.payload) if join.pairs else ()
        own = [self.latest[key] for key in keys if self.latest and key in self.latest]
        return max(own, key=lambda item: item.seq, default=self.last)

    def _unpaired(self, event: TraceEvent, near: TraceEvent | None, *, before: bool) -> Fault:
        """Return that no `other` came before `event`, or after it, but at most `near`."""
        wanted, seen, side = self._wanted(), described(event), "before" if before else "after"
        missing = OrderStep(expected=wanted, agrees=False)
        observed = f"no {wanted} {'came before' if before else 'followed'} {seen}"
        if near is not None:
            first, second = (near, event) if before else (event, near)
            broken, bound = self._bound(first, second)
            bounded = f"{wanted} {bound} {'before' if before else 'later'}" if bound else wanted
            lacks = self.terms.join.differences(event.payload, near.payload)
            missing = differs(wanted if lacks else bounded, near)
            if lacks:
                observed += f": {described(near)} has {lacks}"
            elif not broken:
                observed += f" that is not used up: {described(near)} is"
            else:
                how = _HOW[broken, side]
                apart = format_duration(second.at_ns - first.at_ns)
                observed = f"{described(near)} came {how} {apart} {side} {seen}"
        own = agrees(self.terms.words.event, event)
        return Fault(
            observed=observed,
            proof=(event,),
            near=() if near is None else (near,),
            order=(missing, own) if before else (own, missing),
        )

    def _wanted(self) -> str:
        alike = self.terms.join.names()
        return self.terms.words.other + (f" with {alike}" if alike else "")

    def _bound(self, first: TraceEvent, second: TraceEvent) -> tuple[str, str]:
        """Return which bound two events break, and what it asks for; empty where they break none.

        Returns:
            `soon` or `late`, and words such as `at most 5s`.
        """
        apart_ns = second.at_ns - first.at_ns
        terms = self.terms
        sooner_ns = terms.no_sooner.at(first)
        if sooner_ns is not None and apart_ns < sooner_ns:
            return "soon", f"at least {format_duration(sooner_ns)}"
        within_ns = terms.within.at(first)
        if within_ns is not None and apart_ns > within_ns:
            return "late", f"at most {format_duration(within_ns)}"
        return "", ""


@dataclass(slots=True, kw_only=True)
class Precedence(_Pairs):
    """Before each `event` there was an `other`."""

    #: Keys of an `other` of which a bound is not known: what it allows cannot be judged.
    unknown: frozenset[Key] = frozenset()

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT:
            self._judge(event)
        if roles & OTHER:
            self._hold(event)

    def _judge(self, event: TraceEvent) -> None:
        keys = self.terms.join.keys_of_event(event.payload)
        while (first := self._first(keys)) is not None and first.ready_ns <= event.at_ns:
            if not first.is_late(event.at_ns):
                self.judged += 1
                first.over = self.terms.one_to_one
                return
            first.over = True
        if self.unknown.isdisjoint(keys):
            self.judged += 1
            self.blame(self._unpaired(event, self._nearest(event), before=True))

    def _hold(self, other: TraceEvent) -> None:
        keys = self._meet(other)
        held = self._held(other)
        if held is None:
            self.unknown |= {*keys}
            return
        for key in keys:
            heap = self.heaps.get(key)
            # One that is ready sooner and never late is good whenever this one is.
            better = heap and heap[0][0] <= held.ready_ns and heap[0][2].due_ns is None
            if not better or self.terms.one_to_one:
                self._put(held, key)


class Response(_Pairs):
    """After each `event` there is an `other`."""

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & OTHER:
            self._answer(event)
        if roles & EVENT and (held := self._held(event)) is not None:
            # An event that fits no `other` is held all the same: it stays without an answer.
            for key in self.terms.join.keys_of_event(event.payload) or (UNANSWERED,):
                self._put(held, key)

    def _answer(self, other: TraceEvent) -> None:
        keys = self._meet(other)
        while (first := self._first(keys)) is not None and first.ready_ns <= other.at_ns:
            first.over = True
            self.judged += 1
            if first.is_late(other.at_ns):
                self.blame(self._unpaired(first.event, other, before=False))
            elif self.terms.one_to_one:
                return

    def conclude(self, *, forgiven: bool) -> None:
        if forgiven:
            return
        left = {number: held for heap in self.heaps.values() for _, number, held in heap}
        waiting = [left[number].event for number in sorted(left) if not left[number].over]
        self.judged += len(waiting)
        for event in waiting if self.terms.rule.report == "every" else waiting[:1]:
            near = self._nearest(event)
            later = near if near is not None and near.seq > event.seq else None
            self.blame(self._unpaired(event, later, before=False))
