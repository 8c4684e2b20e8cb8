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

from faultclock.model.duration import format_duration
from faultclock.model.finding import OrderStep
from faultclock.model.trace import TraceEvent
from faultclock.oracle.rules.joins import Key
from faultclock.oracle.rules.match import described
from faultclock.oracle.rules.stretch import (
    EVENT,
    OTHER,
    Fault,
    Stretch,
    agrees,
    differs,
)

#: The key of an event that no `other` can be joined with.
UNANSWERED: Key = (None,)


@dataclass(slots=True, kw_only=True)
class _Held:
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

    def _nearest(self, event: TraceEvent) -> tuple[TraceEvent | None, bool]:
        """Return the last `other` that is joined with `event`, else the last one of all.

        The flag says whether it is joined.
        """
        join = self.terms.join
        if not join.pairs:
            return self.last, True
        latest, keys = self.latest or {}, join.keys_of_event(event.payload)
        own = [latest[key] for key in keys if key in latest]
        return (max(own, key=lambda item: item.seq), True) if own else (self.last, False)

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
            self.blame(self._fault(event))

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

    def _fault(self, event: TraceEvent) -> Fault:
        wanted, seen = self._wanted(), described(event)
        near, joined = self._nearest(event)
        missing = OrderStep(expected=wanted, agrees=False)
        observed = f"no {wanted} came before {seen}"
        if near is not None:
            broken, bound = self._bound(near, event)
            apart = format_duration(event.at_ns - near.at_ns)
            missing = differs(f"{wanted} {bound} before" if bound else wanted, near)
            if not joined:
                missing = differs(wanted, near)
                lacks = self.terms.join.differences(event.payload, near.payload)
                observed += f": {described(near)} has {lacks}"
            elif not broken:
                observed += f" that is not used up: {described(near)} is"
            else:
                when = "only" if broken == "soon" else "as long as"
                observed = f"{described(near)} came {when} {apart} before {seen}"
        return Fault(
            observed=observed,
            proof=(event,),
            near=() if near is None else (near,),
            order=(missing, agrees(self.terms.words.event, event)),
        )


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
                self.blame(self._fault(first.event, other))
            elif self.terms.one_to_one:
                return

    def conclude(self, *, forgiven: bool) -> None:
        if forgiven:
            return
        left = {number: held for heap in self.heaps.values() for _, number, held in heap}
        waiting = [left[number].event for number in sorted(left) if not left[number].over]
        self.judged += len(waiting)
        for event in waiting if self.terms.rule.report == "every" else waiting[:1]:
            near, _ = self._nearest(event)
            later = near is not None and near.seq > event.seq
            self.blame(self._fault(event, near if later else None))

    def _fault(self, event: TraceEvent, near: TraceEvent | None) -> Fault:
        wanted, seen = self._wanted(), described(event)
        missing = OrderStep(expected=wanted, agrees=False)
        observed = f"no {wanted} followed {seen}"
        if near is not None:
            broken, bound = self._bound(event, near)
            apart = format_duration(near.at_ns - event.at_ns)
            missing = differs(f"{wanted} {bound} later" if bound else wanted, near)
            if lacks := self.terms.join.differences(event.payload, near.payload):
                missing = differs(wanted, near)
                observed += f": {described(near)} has {lacks}"
            elif not broken:
                observed += f" that is not used up: {described(near)} is"
            else:
                when = "already" if broken == "soon" else "only"
                observed = f"{described(near)} came {when} {apart} after {seen}"
        return Fault(
            observed=observed,
            proof=(event,),
            near=() if near is None else (near,),
            order=(agrees(self.terms.words.event, event), missing),
        )
