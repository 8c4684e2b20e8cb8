"""The ordering language, straight from its definitions: slow, and readable as the specification.

It shares no code with the evaluator: it cuts the trace into lives, each life into keys, each key
into stretches, and then quantifies over the events of each stretch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from faultclock.model.duration import parse_duration
from faultclock.model.error_model.event_sets import EventPattern, EventRef, Events
from faultclock.model.error_model.lookup import CountLookup, TimeLookup
from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.trace.trace import TraceEvent
from tests.oracle.event_values import NOTHING, field_of, is_rebirth, values_of

Trace = Sequence[TraceEvent]


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Events between two bounds; `forgiven` when its process was killed before it was over."""

    opener: TraceEvent | None
    events: Trace
    closed: bool
    forgiven: bool = False


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong in a stretch: an event, or a state in which an automaton must not end."""

    key: str
    event: TraceEvent | None = None
    state: str | None = None


def violated_keys(
    rule: OrderingRule, events: Trace, names: Events, settings: Mapping[str, Any] | None = None
) -> list[str]:
    """Return, sorted, the key of every violation of `rule` that is a finding."""
    return sorted(fault.key for fault in faults(rule, events, names, settings))


def faults(
    rule: OrderingRule, events: Trace, names: Events, settings: Mapping[str, Any] | None = None
) -> list[Fault]:
    """Return the violations of `rule` that are findings: the first of each stretch, or every."""
    spec = _Spec(rule, names, settings or {})
    if rule.when is not None and not any(spec.is_in(rule.when, event) for event in events):
        return []
    if rule.unless is not None and any(spec.is_in(rule.unless, event) for event in events):
        return []
    if spec.misses_a_bound():
        return []
    found: list[Fault] = []
    for life, killed in spec.lives(events):
        for key in spec.keys(life):
            for stretch in spec.stretches(key, life, killed):
                wrong = list(spec.wrong(key, stretch)) if spec.counts(stretch) else []
                found += wrong if rule.report == "every" else wrong[:1]
    return found


class _Spec:
    def __init__(self, rule: OrderingRule, names: Events, settings: Mapping[str, Any]) -> None:
        self.rule, self.names, self.settings = rule, names, settings

    # Which events.

    def is_in(self, ref: EventRef | None, event: TraceEvent) -> bool:
        """A list is a union; a name is what it stands for; what stands beside a name narrows it."""
        if ref is None:
            return False
        if isinstance(ref, str):
            return self.is_in(self.names[ref], event)
        if isinstance(ref, tuple):
            return any(self.is_in(item, event) for item in ref)
        if ref.event is not None:
            return self.is_in(ref.event, event) and self._fits(ref, event)
        return event.kind in ref.kinds and self._fits(ref, event)

    def _fits(self, pattern: EventPattern, event: TraceEvent) -> bool:
        def is_one(path: str, wanted: Any) -> bool:
            value = field_of(event, path)
            options = wanted if isinstance(wanted, tuple) else (wanted,)
            return any(type(value) is type(item) and value == item for item in options)

        return (
            all(is_one(path, wanted) for path, wanted in pattern.where.items())
            and all(
                fnmatchcase(str(field_of(event, path)), text) for path, text in pattern.like.items()
            )
            and all(field_of(event, path) not in (None, NOTHING) for path in pattern.has)
        )

    def is_spoken_of(self, event: TraceEvent) -> bool:
        rule = self.rule
        refs = (rule.event, rule.other, rule.among, *rule.steps, *(m.event for m in rule.moves))
        bounds = (rule.scope.after, rule.scope.before)
        return any(self.is_in(ref, event) for ref in (*refs, *bounds))

    def misses_a_bound(self) -> bool:
        """A bound that is the same for all events may be missing: then nothing is judged."""
        bounds = (self.rule.within, self.rule.no_sooner, self.rule.limit)
        return any(
            isinstance(bound, TimeLookup | CountLookup)
            and bound.of.split(".")[0] in ("scenario", "network")
            and "{" not in bound.of
            and self._figure(bound, TraceEvent(0, 0, "x", "x", {})) is None
            for bound in bounds
        )

    # Lives, keys, stretches.

    def lives(self, events: Trace) -> list[tuple[Trace, bool]]:
        """Return each life that is looked at by itself, and whether it ended by being killed."""
        if self.rule.scope.lives != "each":
            return [(events, False)]
        found: list[tuple[Trace, bool]] = []
        life: list[TraceEvent] | None = []
        for event in events:
            if is_rebirth(event):
                if life is not None:
                    found.append((life, False))
                life = []
            if life is not None:
                life.append(event)
            if event.kind == "process.crashed" and life is not None:
                found.append((life, True))
                life = None
        return found if life is None else [*found, (life, False)]

    def key_of(self, event: TraceEvent) -> str | None:
        if self.rule.per is None:
            return ""
        values = [field_of(event, path) for path in self.rule.keys]
        return next((str(value) for value in values if value not in (None, NOTHING)), None)

    def keys(self, life: Trace) -> set[str]:
        if self.rule.per is None:
            return {""}
        found = {self.key_of(event) for event in life if self.is_spoken_of(event)}
        return {key for key in found if key is not None}

    def stretches(self, key: str, life: Trace, killed: bool) -> list[Stretch]:
        later = self.rule.scope.lives == "later"
        events = [
            event
            for event in life
            if (self.is_spoken_of(event) and self.key_of(event) == key)
            or (later and is_rebirth(event))
        ]
        found: list[Stretch] = []
        index = 0
        while True:
            began = self._begin(events, index)
            if began is None:
                return found
            opener, begin = began
            end = next(
                (i for i in range(begin, len(events)) if self._closes(events[i])), len(events)
            )
            inside = [event for event in events[begin:end] if not (later and is_rebirth(event))]
            closed = end < len(events)
            forgiven = killed and not closed
            found.append(Stretch(opener=opener, events=inside, closed=closed, forgiven=forgiven))
            if not closed or self.rule.scope.after is None:
                return found
            # The event that closes one stretch may open the next.
            index = end

    def _begin(self, events: Trace, index: int) -> tuple[TraceEvent | None, int] | None:
        """Return what opens the first stretch at or after `index`, and where that begins."""
        scope = self.rule.scope
        if scope.after is None:
            return None, index
        for opener in range(index, len(events)):
            if not self.is_in(scope.after, events[opener]):
                continue
            if scope.lives != "later":
                return events[opener], opener + 1
            for later in range(opener + 1, len(events)):
                if is_rebirth(events[later]):
                    return events[opener], later + 1
                if self._closes(events[later]):
                    break
        return None

    def _closes(self, event: TraceEvent) -> bool:
        return self.is_in(self.rule.scope.before, event)

    def counts(self, stretch: Stretch) -> bool:
        return stretch.closed or self.rule.scope.before is None or self.rule.scope.until_end

    # The patterns.

    def wrong(self, key: str, stretch: Stretch) -> Iterator[Fault]:
        """Yield what is wrong in a stretch, in any order but for an automaton."""
        rule, events, due = self.rule, stretch.events, not stretch.forgiven
        hits = [index for index, event in enumerate(events) if self.is_in(rule.event, event)]
        among = [index for index, event in enumerate(events) if self.is_in(rule.among, event)]
        at: list[int | None] = []
        match rule.pattern:
            case "absence":
                at += hits
            case "existence":
                at += [None] * (not hits and due)
            case "exactly_one":
                at += [None] * (len(hits) > 1 or (not hits and due))
            case "universality":
                at += [index for index in among if index not in hits]
            case "last":
                at += [None] * (bool(among) and among[-1] not in hits and due)
            case "precedence":
                at += self._unprepared(events, hits)
            case "response":
                at += self._unanswered(events, hits, due)
            case "sequence":
                at += self._out_of_order(events)
            case "increasing":
                at += self._not_rising(events, hits)
            case "at_most":
                at += self._too_many(stretch, hits)
            case "automaton":
                yield from self._stuck(key, stretch)
        yield from (Fault(key=key, event=None if i is None else events[i]) for i in at)

    # Two sets of events.

    def _others(self, events: Trace) -> list[int]:
        return [index for index, event in enumerate(events) if self.is_in(self.rule.other, event)]

    def _unprepared(self, events: Trace, hits: list[int]) -> Iterator[int]:
        used: set[int] = set()
        for hit in hits:
            before = [
                other
                for other in self._others(events)
                if other < hit and self._joined(events[hit], events[other])
            ]
            fitting = [
                other
                for other in before
                if other not in used and self._apart(events[other], events[other], events[hit])
            ]
            if fitting:
                if self.rule.one_to_one:
                    used.add(min(fitting, key=lambda other: (self._ready_ns(events[other]), other)))
            elif all(self._window(events[other]) is not None for other in before):
                yield hit

    def _unanswered(self, events: Trace, hits: list[int], due: bool) -> Iterator[int]:
        waiting = [hit for hit in hits if self._window(events[hit]) is not None]
        waiting.sort(key=lambda hit: (self._ready_ns(events[hit]), hit))
        for other in self._others(events):
            at_ns = events[other].at_ns
            for hit in list(waiting):
                if hit >= other or not self._joined(events[hit], events[other]):
                    continue
                if self._ready_ns(events[hit]) > at_ns:
                    continue
                waiting.remove(hit)
                if not self._apart(events[hit], events[hit], events[other]):
                    yield hit
                elif self.rule.one_to_one:
                    break
        if due:
            yield from waiting

    def _joined(self, event: TraceEvent, other: TraceEvent) -> bool:
        """Every field has a value that both have, or is one that may be missing, and is."""
        same = self.rule.same
        pairs = same.items() if isinstance(same, dict) else [(name, name) for name in same]
        for of_other, of_event in pairs:
            theirs = values_of(field_of(other, of_other))
            ours = values_of(field_of(event, of_event))
            optional = self.rule.optional
            free = (of_other in optional and not theirs) or (of_event in optional and not ours)
            if not free and not any(
                type(one) is type(another) and one == another for one in theirs for another in ours
            ):
                return False
        return True

    def _window(self, first: TraceEvent) -> tuple[int, int | None] | None:
        """Return the bounds that the first of two events sets; None where one is not known."""
        rule = self.rule
        soonest = 0 if rule.no_sooner is None else self._figure(rule.no_sooner, first)
        latest = None if rule.within is None else self._figure(rule.within, first)
        if soonest is None or (latest is None and rule.within is not None):
            return None
        return soonest, latest

    def _ready_ns(self, first: TraceEvent) -> int:
        window = self._window(first)
        return first.at_ns + (0 if window is None else window[0])

    def _apart(self, first: TraceEvent, earlier: TraceEvent, later: TraceEvent) -> bool:
        window = self._window(first)
        apart_ns = later.at_ns - earlier.at_ns
        return window is not None and (
            apart_ns >= window[0] and (window[1] is None or apart_ns <= window[1])
        )

    def _figure(self, written: int | TimeLookup | CountLookup, event: TraceEvent) -> int | None:
        """Return a bound: as it is written, or what stands at its path, or its default."""
        if isinstance(written, int):
            return written
        first, *rest = written.of.split(".")
        if first in ("scenario", "network"):
            value: Any = self.settings.get(first)
            for part in rest:
                name = str(field_of(event, part[1:-1])) if part[0] == "{" else part
                if isinstance(value, tuple):
                    own = [item for item in value if item.name == name]
                    value = own[0] if own else None
                elif isinstance(value, dict):
                    value = value.get(name)
                else:
                    value = getattr(value, name, None)
        else:
            value = field_of(event, written.of)
        if isinstance(value, str) and value.endswith("ns"):
            value = parse_duration(value)
        found = value if type(value) is int else written.default
        return None if found is None else max(0, found + written.plus)

    # One set, or a course of events.

    def _group(self, event: TraceEvent) -> tuple[object, ...] | None:
        """Return the values of `same`, each with its type; None where one is missing."""
        values = [field_of(event, name) for name in self.rule.same]
        if any(value in (None, NOTHING) for value in values):
            return None
        return tuple((type(value), repr(value)) for value in values)

    def _too_many(self, stretch: Stretch, hits: list[int]) -> Iterator[int]:
        events, limit = stretch.events, self.rule.limit
        assert limit is not None
        nothing = TraceEvent(0, 0, "x", "x", {})
        most = self._figure(limit, stretch.opener or nothing)
        for index, hit in enumerate(hits):
            group = self._group(events[hit])
            before = [earlier for earlier in hits[:index] if self._group(events[earlier]) == group]
            if most is not None and group is not None and len(before) >= most:
                yield hit

    def _out_of_order(self, events: Trace) -> Iterator[int]:
        for index, event in enumerate(events):
            step, group = self._step(event), self._group(event)
            before = [
                self._step(earlier) for earlier in events[:index] if self._group(earlier) == group
            ]
            taken = [earlier for earlier in before if earlier is not None]
            if step is not None and group is not None and taken and step < max(taken):
                yield index

    def _not_rising(self, events: Trace, hits: list[int]) -> Iterator[int]:
        numbers = [field_of(events[index], str(self.rule.by)) for index in hits]
        known = [type(number) in (int, float) for number in numbers]
        yield from (index for index, is_known in zip(hits, known, strict=True) if not is_known)
        for place, (earlier, later) in enumerate(pairwise(numbers), start=1):
            if known[place - 1] and known[place]:
                rise = later - earlier
                if rise <= 0 or (self.rule.gap_free and rise != 1):
                    yield hits[place]

    def _stuck(self, key: str, stretch: Stretch) -> Iterator[Fault]:
        state, stuck = str(self.rule.start), False
        for event in stretch.events:
            rows = [move for move in self.rule.moves if self.is_in(move.event, event)]
            fitting = [move for move in rows if state in move.states]
            if rows and not fitting:
                stuck = True
                yield Fault(key=key, event=event)
            elif fitting and fitting[0].to is not None:
                state = fitting[0].to
        due = bool(self.rule.ends) and not stuck and not stretch.forgiven
        if due and state not in self.rule.ends:
            yield Fault(key=key, state=state)

    def _step(self, event: TraceEvent) -> int | None:
        places = [i for i, step in enumerate(self.rule.steps) if self.is_in(step, event)]
        return places[0] if places else None
