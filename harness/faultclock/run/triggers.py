"""Moments: says when a fact of the run is the one that a rule waits for.

Each trigger counts its own matches over all lives of the subject, in a plain dictionary that
goes from life to life. Nothing happens here: what a moment brings is up to `mishaps`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from faultclock.model.scenario.trigger import EventTrigger
from faultclock.sim.kernel.recorder import Fact

_MISSING = object()


class _Waiting(Struct, frozen=True):
    rule: str
    trigger: EventTrigger
    met: Callable[[], None]


class Watch:
    """The triggers of a life, ready to look at each fact.

    Args:
        seen: rule id to its matches so far; it is changed in place.
    """

    def __init__(self, seen: dict[str, int]) -> None:
        self._seen = seen
        self._by_kind: dict[str, list[_Waiting]] = {}
        self._by_number: dict[int, list[_Waiting]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_kind or self._by_number)

    def add(self, rule: str, trigger: EventTrigger, met: Callable[[], None]) -> None:
        """Have `met` called right after the fact that `trigger` is about.

        Of those that wait for the same fact, the one that was added first comes first.
        """
        waiting = _Waiting(rule, trigger, met)
        if trigger.seq is not None:
            self._by_number.setdefault(trigger.seq, []).append(waiting)
        else:
            assert trigger.kind is not None, "a trigger has a kind or a number"
            self._by_kind.setdefault(trigger.kind, []).append(waiting)

    def look(self, fact: Fact) -> None:
        """Look at one fact, and call the rules that waited for it."""
        number, _, _, kind, payload = fact
        met = list(self._by_number.get(number, ()))
        # All are counted before anybody is called: the first one may end the process.
        for waiting in self._by_kind.get(kind, ()):
            if not matches(waiting.trigger, payload):
                continue
            count = self._seen[waiting.rule] = self._seen.get(waiting.rule, 0) + 1
            if count == waiting.trigger.nth:
                met.append(waiting)
        for waiting in met:
            waiting.met()


def matches(trigger: EventTrigger, payload: Mapping[str, Any]) -> bool:
    """Return whether `payload` has all that the trigger asks for."""
    return all(_same(_field(payload, path), wanted) for path, wanted in trigger.where.items())


def _field(payload: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(payload, Mapping):
            payload = payload.get(part, _MISSING)
        elif isinstance(payload, list) and part.isascii() and part.isdigit():
            payload = payload[int(part)] if int(part) < len(payload) else _MISSING
        else:
            return _MISSING
    return payload


def _same(value: Any, wanted: str | int | bool) -> bool:
    # In Python, True equals 1; in the JSON of a trace, it does not.
    return bool(value == wanted) and isinstance(value, bool) is isinstance(wanted, bool)
