"""Which events a pattern means, compiled once, so that an event asks only what could be true of it.

An index leads from an event's kind, and from its name where a pattern wants one, to the roles that
the event may play in a rule. It knows no rule and no order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from faultclock.model.error_model.event_paths import PLACE_DIGITS_MAX
from faultclock.model.error_model.event_sets import EventPattern
from faultclock.model.trace.trace import TraceEvent

_MISSING = object()

Test = Callable[[Mapping[str, Any]], bool]
OwnerT = TypeVar("OwnerT")


def matches(pattern: EventPattern, event: TraceEvent) -> bool:
    """Return whether `event` is in the set that `pattern`, which has kinds, names."""
    return event.kind in pattern.kinds and all(test(event.payload) for test in _tests(pattern))


def field_of(payload: Mapping[str, Any], path: str) -> object:
    """Return the value at the dotted `path`; see `is_absent` for one that is not there."""
    return _walk(payload, path.split("."))


def value_at(said: object, path: str) -> Any:
    """Return the value at the dotted `path` of any JSON; None where there is none."""
    value = _walk(said, path.split("."))
    return None if value is _MISSING else value


def is_absent(value: object) -> bool:
    """Return whether a field is not there, or null."""
    return value is None or value is _MISSING


def described(event: TraceEvent) -> str:
    """Return what to call an event: what the subject calls it, else its kind."""
    name = event.name
    return str(name) if event.kind.startswith("declared.") and name else event.kind


class EventIndex(Generic[OwnerT]):
    """Leads from an event to the owners (rules) that speak of it, with the roles that it plays.

    A role is one bit. What an event costs is the number of owners that speak of its kind and name,
    not the number of owners.
    """

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind[OwnerT]] = {}

    def add(self, owner: OwnerT, bit: int, pattern: EventPattern) -> None:
        """Let an event of `pattern` play the role `bit` for `owner`."""
        name = pattern.where.get("name")
        single = name if isinstance(name, str) else None
        tests = _tests(pattern, without_name=single is not None)
        for kind in dict.fromkeys(pattern.kinds):
            self._kinds.setdefault(kind, _Kind()).add(single, owner, bit, tests)

    def roles(self, event: TraceEvent) -> Iterable[tuple[OwnerT, int]]:
        """Yield each owner that `event` plays a role for, with all its roles."""
        kind = self._kinds.get(event.kind)
        if kind is None:
            return
        payload = event.payload
        for owner, cases in kind.entries(payload.get("name")):
            bits = 0
            for bit, tests in cases:
                if not bits & bit and all(test(payload) for test in tests):
                    bits |= bit
            if bits:
                yield owner, bits


_Cases = list[tuple[int, tuple[Test, ...]]]


class _Kind(Generic[OwnerT]):
    """The patterns of one kind: those that want a certain `name`, and those that want none."""

    def __init__(self) -> None:
        self._patterns: list[tuple[str | None, OwnerT, int, tuple[Test, ...]]] = []
        self._names: frozenset[str | None] = frozenset()
        self._entries: dict[str | None, list[tuple[OwnerT, _Cases]]] = {}

    def add(self, name: str | None, owner: OwnerT, bit: int, tests: tuple[Test, ...]) -> None:
        self._patterns.append((name, owner, bit, tests))
        self._names |= {name}
        self._entries.clear()

    def entries(self, name: object) -> Sequence[tuple[OwnerT, _Cases]]:
        key = name if isinstance(name, str) and name in self._names else None
        found = self._entries.get(key)
        if found is None:
            found = self._entries[key] = self._of(key)
        return found

    def _of(self, name: str | None) -> list[tuple[OwnerT, _Cases]]:
        merged: dict[int, tuple[OwnerT, _Cases]] = {}
        for wanted, owner, bit, tests in self._patterns:
            if wanted is None or wanted == name:
                merged.setdefault(id(owner), (owner, []))[1].append((bit, tests))
        return list(merged.values())


def _tests(pattern: EventPattern, *, without_name: bool = False) -> tuple[Test, ...]:
    tests = [
        _equals(path, wanted if isinstance(wanted, tuple) else (wanted,))
        for path, wanted in pattern.where.items()
        if not (without_name and path == "name")
    ]
    tests += [_like(path, text) for path, text in pattern.like.items()]
    return (*tests, *map(_has, pattern.has))


def _equals(path: str, allowed: tuple[object, ...]) -> Test:
    parts = path.split(".")
    # True equals 1 in Python; in a trace they are different facts.
    typed = frozenset((type(value), value) for value in allowed)

    def test(payload: Mapping[str, Any]) -> bool:
        value = _walk(payload, parts)
        return isinstance(value, str | int | None) and (type(value), value) in typed

    return test


def _like(path: str, text: str) -> Test:
    parts = path.split(".")
    shape = re.compile(".*".join(re.escape(part) for part in text.split("*")), re.DOTALL)

    def test(payload: Mapping[str, Any]) -> bool:
        value = _walk(payload, parts)
        return isinstance(value, str) and shape.fullmatch(value) is not None

    return test


def _has(path: str) -> Test:
    parts = path.split(".")
    return lambda payload: _walk(payload, parts) not in (None, _MISSING, "")


def _walk(value: object, parts: Sequence[str]) -> object:
    for part in parts:
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, list | tuple) and part.isdecimal() and len(part) <= PLACE_DIGITS_MAX:
            place = int(part)
            value = value[place] if place < len(value) else _MISSING
        else:
            return _MISSING
    return value
