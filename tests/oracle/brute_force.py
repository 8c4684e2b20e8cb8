"""The ordering language, straight from its definitions: slow, and readable as the specification.

It shares no code with the evaluator: it cuts the trace into lives, each life into keys, each key
into stretches, and then quantifies over the events of each stretch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from faultclock.model.ordering import EventPattern, EventRef, Events, OrderingRule
from faultclock.model.trace import TraceEvent

__all__ = ["violated_keys"]

Trace = Sequence[TraceEvent]
NOTHING = "(nothing)"


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Events between two bounds; `forgiven` when its process was killed before it was over."""

    events: Trace
    closed: bool
    forgiven: bool = False


def violated_keys(rule: OrderingRule, events: Trace, names: Events) -> list[str]:
    """Return, sorted, the key of every stretch in which `rule` does not hold."""
    spec = _Spec(rule, names)
    if rule.when is not None and not any(spec.is_in(rule.when, event) for event in events):
        return []
    if rule.unless is not None and any(spec.is_in(rule.unless, event) for event in events):
        return []
    return sorted(
        key
        for life, killed in spec.lives(events)
        for key in spec.keys(life)
        for stretch in spec.stretches(key, life, killed)
        if spec.counts(stretch) and not spec.holds(stretch)
    )


class _Spec:
    def __init__(self, rule: OrderingRule, names: Events) -> None:
        self.rule, self.names = rule, names

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
        refs = (rule.event, rule.other, rule.among, *rule.steps)
        bounds = (rule.scope.after, rule.scope.before)
        return any(self.is_in(ref, event) for ref in (*refs, *bounds))

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
        found, index = [], 0
        while True:
            begin = self._begin(events, index)
            if begin is None:
                return found
            end = next(
                (i for i in range(begin, len(events)) if self._closes(events[i])), len(events)
            )
            inside = [event for event in events[begin:end] if not (later and is_rebirth(event))]
            closed = end < len(events)
            found.append(Stretch(events=inside, closed=closed, forgiven=killed and not closed))
            if not closed or self.rule.scope.after is None:
                return found
            # The event that closes one stretch may open the next.
            index = end

    def _begin(self, events: Trace, index: int) -> int | None:
        """Return where the first stretch at or after `index` begins, its opening bound excluded."""
        scope = self.rule.scope
        if scope.after is None:
            return index
        for opener in range(index, len(events)):
            if not self.is_in(scope.after, events[opener]):
                continue
            if scope.lives != "later":
                return opener + 1
            for later in range(opener + 1, len(events)):
                if is_rebirth(events[later]):
                    return later + 1
                if self._closes(events[later]):
                    break
        return None

    def _closes(self, event: TraceEvent) -> bool:
        return self.is_in(self.rule.scope.before, event)

    def counts(self, stretch: Stretch) -> bool:
        return stretch.closed or self.rule.scope.before is None or self.rule.scope.until_end

    # The patterns.

    def holds(self, stretch: Stretch) -> bool:
        rule, events, due = self.rule, stretch.events, not stretch.forgiven
        hits = [index for index, event in enumerate(events) if self.is_in(rule.event, event)]
        others = [index for index, event in enumerate(events) if self.is_in(rule.other, event)]
        among = [index for index, event in enumerate(events) if self.is_in(rule.among, event)]
        match rule.pattern:
            case "absence":
                return not hits
            case "existence":
                return bool(hits) or not due
            case "exactly_one":
                return len(hits) == 1 or (not hits and not due)
            case "universality":
                return all(index in hits for index in among)
            case "last":
                return not among or among[-1] in hits or not due
            case "precedence":
                return all(
                    any(o < i and self._apart(events[o], events[i]) for o in others) for i in hits
                )
            case "response":
                return all(self._answered(events, i, others, due) for i in hits)
            case "sequence":
                steps = [self._step(event) for event in events]
                taken = [step for step in steps if step is not None]
                return taken == sorted(taken)
            case "increasing":
                numbers = [field_of(events[index], str(rule.by)) for index in hits]
                if any(type(number) not in (int, float) for number in numbers):
                    return False
                rises = [later - earlier for earlier, later in pairwise(numbers)]
                return all(rise == 1 if rule.gap_free else rise > 0 for rise in rises)

    def _apart(self, earlier: TraceEvent, later: TraceEvent) -> bool:
        apart_ns = later.at_ns - earlier.at_ns
        at_least, at_most = self.rule.no_sooner, self.rule.within
        return (at_least is None or apart_ns >= at_least) and (
            at_most is None or apart_ns <= at_most
        )

    def _answered(self, events: Trace, index: int, others: list[int], due: bool) -> bool:
        after = [events[other] for other in others if other > index]
        if any(self._apart(events[index], other) for other in after):
            return True
        # What was killed might still have answered in time, unless an answer has come too late.
        at_most = self.rule.within
        late = at_most is not None and any(
            other.at_ns - events[index].at_ns > at_most for other in after
        )
        return not due and not late

    def _step(self, event: TraceEvent) -> int | None:
        places = [i for i, step in enumerate(self.rule.steps) if self.is_in(step, event)]
        return places[0] if places else None


def field_of(event: TraceEvent, path: str) -> Any:
    """Return what stands at a dotted path; a number picks from a list."""
    value: Any = event.payload
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else NOTHING
        else:
            value = value.get(part, NOTHING) if isinstance(value, dict) else NOTHING
    return value


def is_rebirth(event: TraceEvent) -> bool:
    """Return whether a life begins that is not the first."""
    return event.kind == "process.started" and event.payload["life"] != 1
