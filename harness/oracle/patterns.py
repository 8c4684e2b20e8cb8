"""Property patterns over events: one linear pass, and the smallest set of events that proves it.

A rule is judged per correlation key and per stretch (see `Scope`). A stretch that is cut open by
the end of the trace counts where the scope says so: without a `before`, or with `until_end`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harness.model.error_model import EventPattern, OrderingRule
from harness.model.trace import TraceEvent

__all__ = ["PatternResult", "Witness", "evaluate", "matches"]

_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """One violation: the key, what went wrong in words, and the events that prove it."""

    key: str
    observed: str
    events: tuple[TraceEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternResult:
    """How many things were judged (stretches, or events within them), and what was violated."""

    judged: int
    witnesses: tuple[Witness, ...]


@dataclass(slots=True, kw_only=True)
class _Stretch:
    opened_by: TraceEvent | None = None
    judged: int = 0
    found: list[TraceEvent] = field(default_factory=list)
    others: int = 0
    pending: list[TraceEvent] = field(default_factory=list)
    fault: tuple[str, tuple[TraceEvent, ...]] | None = None


@dataclass(slots=True, kw_only=True)
class _Key:
    stretch: _Stretch | None = None
    over: bool = False


def evaluate(rule: OrderingRule, events: Iterable[TraceEvent]) -> PatternResult:
    """Return what `rule` comes to over `events`, which are in the order of their time."""
    keys: dict[str, _Key] = {}
    judged, witnesses = 0, []

    def close(key: str, stretch: _Stretch, end: TraceEvent | None) -> None:
        nonlocal judged
        fault = _conclude(rule, stretch, end)
        judged += stretch.judged
        if fault is not None:
            witnesses.append(Witness(key=key, observed=fault[0], events=fault[1]))

    for event in events:
        key = _key(rule, event)
        if key is None:
            continue
        state = keys.get(key)
        if state is None:
            state = keys[key] = _Key(stretch=None if rule.scope.after else _Stretch())
        bounded = False
        if state.stretch is not None and _is(rule.scope.before, event):
            close(key, state.stretch, event)
            state.stretch, state.over, bounded = None, rule.scope.after is None, True
        if state.stretch is None and not state.over and _is(rule.scope.after, event):
            state.stretch, bounded = _Stretch(opened_by=event), True
        if state.stretch is not None and not bounded:
            _take(rule, state.stretch, event)
    if rule.scope.before is None or rule.scope.until_end:
        for key, state in keys.items():
            if state.stretch is not None:
                close(key, state.stretch, None)
    return PatternResult(judged=judged, witnesses=tuple(witnesses))


def matches(pattern: EventPattern, event: TraceEvent) -> bool:
    """Return whether `event` is in the set that `pattern` names."""
    if event.kind not in pattern.kinds:
        return False
    for path, wanted in pattern.where.items():
        value = _field(event.payload, path)
        # True equals 1 in Python; in a trace they are different facts.
        if type(value) is not type(wanted) or value != wanted:
            return False
    return all(_field(event.payload, path) not in (None, _MISSING) for path in pattern.has)


def _is(pattern: EventPattern | None, event: TraceEvent) -> bool:
    return pattern is not None and matches(pattern, event)


def _field(payload: Mapping[str, Any], path: str) -> object:
    value: object = payload
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return _MISSING
        value = value[part]
    return value


def _key(rule: OrderingRule, event: TraceEvent) -> str | None:
    if rule.per is None:
        return ""
    value = _field(event.payload, rule.per)
    return None if value is None or value is _MISSING else str(value)


def _take(rule: OrderingRule, stretch: _Stretch, event: TraceEvent) -> None:
    """Let one event of the stretch count."""
    is_event, is_other = matches(rule.event, event), _is(rule.other, event)
    match rule.pattern:
        case "absence" | "existence" | "exactly_one":
            if is_event and len(stretch.found) < 2:
                stretch.found.append(event)
        case "universality":
            if _is(rule.among, event):
                stretch.judged += 1
                if not is_event:
                    _blame(stretch, f"{event.kind} is not as the rule says", event)
        case "precedence":
            if is_event:
                stretch.judged += 1
                if not stretch.others:
                    _blame(stretch, f"nothing of that kind came before {event.kind}", event)
            stretch.others += is_other
        case "response":
            if is_other:
                _answer(rule, stretch, event)
            if is_event:
                stretch.judged += 1
                stretch.pending.append(event)
        case "last":
            if _is(rule.among, event):
                stretch.judged = 1
                stretch.pending = [event]
                if is_event:
                    stretch.found = [event]


def _answer(rule: OrderingRule, stretch: _Stretch, event: TraceEvent) -> None:
    if rule.within is not None:
        for waiting in stretch.pending:
            if event.at_ns - waiting.at_ns > rule.within:
                _blame(stretch, f"{event.kind} came too late after {waiting.kind}", waiting, event)
                break
    stretch.pending.clear()


def _blame(stretch: _Stretch, observed: str, *events: TraceEvent) -> None:
    if stretch.fault is None:
        stretch.fault = (observed, events)


def _conclude(
    rule: OrderingRule, stretch: _Stretch, end: TraceEvent | None
) -> tuple[str, tuple[TraceEvent, ...]] | None:
    """Return the fault of a stretch that is over, with the events that prove it."""
    bounds = tuple(event for event in (stretch.opened_by, end) if event is not None)
    kinds = " or ".join(rule.event.kinds)
    match rule.pattern:
        case "absence":
            stretch.judged = 1
            if stretch.found:
                first = stretch.found[0]
                opened = bounds[:1] if stretch.opened_by is not None else ()
                return f"there was {first.kind}", (*opened, first)
        case "existence" | "exactly_one":
            stretch.judged = 1
            if not stretch.found:
                return f"there was no {kinds}", bounds
            if rule.pattern == "exactly_one" and len(stretch.found) > 1:
                return f"there was more than one {kinds}", tuple(stretch.found)
        case "response":
            if stretch.pending and stretch.fault is None:
                first = stretch.pending[0]
                return f"nothing answered {first.kind}", (first,)
        case "last":
            if stretch.pending and stretch.pending != stretch.found:
                last = stretch.pending[0]
                return f"the last one was {last.kind}", (*stretch.found, last)
    return stretch.fault
