"""What makes two events of two runs the same one: their facts, apart from when and from names.

An event is taken apart into four things that are compared each in its own way:

- its **shape**: actor, kind and payload without the other three. The same one, or another.
- names that **count** (`x3`, `c2`, `t1`): equal where two runs are the same so far. Behind their
  first difference they are out of step, and it only matters that a name means one thing.
- names and digests that are **drawn** (`call_9126…`, a UUID, a SHA-256): of one seed they are
  compared as they are; of two seeds they never are equal, so they need only be used alike.
- **times**: when it was, how long something is to take, the headers that a server computes from a
  clock, and how often one was read. They are the last thing in which two runs may differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from faultclock.model.trace.trace import TraceEvent

#: Members whose values are numbered as things come up.
_COUNTED = frozenset(
    {
        "connection",
        "exchange",
        "execution",
        "id",
        "op",
        "request",
        "run",
        "tool_call",
        "tool_call_id",
        "turn",
    }
)
_NUMBERED = re.compile(r"[A-Za-z_.-]*\d+")
#: What is drawn at random or computed from what is: identifiers of providers, UUIDs, digests. A
#: number that such an identifier ends with counts, and belongs to it.
_DRAWN = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?:call|chatcmpl|fc|gen|msg|req|resp|toolu)[_-][0-9A-Za-z]{8,}"
    r"|(?=[a-f]*[0-9])[0-9a-f]{8,}(?:-\d+)?"
)
_BLANK = "\N{MIDDLE DOT}"
#: Response headers that a server computes from a clock.
_CLOCK_HEADERS = re.compile(r"date|.*processing-ms|.*ratelimit.*reset.*")

#: Facts about the whole run, at its end: how often a clock was read and the like. A
#: difference before shows in them, and says nothing more.
_COUNTS = frozenset({"world.touched"})

_dump = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False).encode


class Facts(Struct, frozen=True):
    """One event, taken apart."""

    shape: str
    counted: tuple[str, ...]
    drawn: tuple[str, ...]
    at_ns: int
    times: tuple[object, ...]
    """Those of the payload."""


class Names(Struct):
    """Which name of one run stands for which of the other: one for one."""

    there: dict[str, str] = field(default_factory=dict)
    back: dict[str, str] = field(default_factory=dict)

    def agree(self, here: Sequence[str], there: Sequence[str]) -> bool:
        """Return whether these names go together so far; from now on they do."""
        known = True
        for one, other in zip(here, there, strict=True):
            met = self.there.setdefault(one, other) == other
            known = (self.back.setdefault(other, one) == one) and met and known
            # A name that has come to mean something else is one difference, not one an event.
            self.there[one], self.back[other] = other, one
        return known


def facts_of(event: TraceEvent) -> Facts:
    """Return what an event says, taken apart."""
    counted: list[str] = []
    drawn: list[str] = []
    times: list[object] = []

    def plain(value: Any, name: str) -> Any:
        if isinstance(value, str):
            if found := _DRAWN.findall(value):
                drawn.extend(found)
                return _DRAWN.sub(_BLANK, value)
            if name in _COUNTED and _NUMBERED.fullmatch(value):
                counted.append(value)
                return _BLANK
            return value
        if isinstance(value, Mapping):
            kept = {}
            for key in sorted(value):
                if key.endswith("_ns") or (name == "headers" and _CLOCK_HEADERS.fullmatch(key)):
                    times.append(value[key])
                else:
                    kept[key] = plain(value[key], key)
            return kept
        if isinstance(value, (list, tuple)):
            return [plain(item, name) for item in value]
        return value

    if event.kind in _COUNTS:
        return Facts(
            _dump([event.actor, event.kind]),
            (),
            (),
            event.at_ns,
            (_dump(plain(event.payload, "")),),
        )
    shape = _dump([event.actor, event.kind, plain(event.payload, "")])
    return Facts(shape, tuple(counted), tuple(drawn), event.at_ns, tuple(times))


def first_difference(
    here: Mapping[str, Any], there: Mapping[str, Any], path: str = ""
) -> tuple[str, object, object] | None:
    """Return the first member in which two payloads differ: its path and both values."""
    for key in sorted({*here, *there}):
        one, other = here.get(key), there.get(key)
        if one == other:
            continue
        below = f"{path}.{key}".lstrip(".")
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            return first_difference(one, other, below)
        return below, one, other
    return None
