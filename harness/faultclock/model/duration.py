"""Durations: text such as `1.5s` in a file, an integer number of nanoseconds in memory.

Nothing below the loader holds a float second: 0.1 + 0.2 must be 0.3 in a backoff schedule.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

MICROSECOND_NS = 1_000
MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000

_UNITS_NS = {
    "ns": 1,
    "us": MICROSECOND_NS,
    "ms": MILLISECOND_NS,
    "s": SECOND_NS,
    "m": 60 * SECOND_NS,
    "h": 3_600 * SECOND_NS,
    "d": 86_400 * SECOND_NS,
}
#: From which duration on people want no finer steps than these.
_STEPS_NS = (
    (60 * SECOND_NS, 100 * MILLISECOND_NS),
    (SECOND_NS, 10 * MILLISECOND_NS),
    (MILLISECOND_NS, MILLISECOND_NS),
)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d)", re.ASCII)
_PATTERN = r"(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h|d))+"
_WHOLE = re.compile(_PATTERN, re.ASCII)
#: More digits than 292 years of nanoseconds have, and within the precision of a Decimal.
_LENGTH_MAX = 28
#: Virtual time ends long before a 64-bit count of nanoseconds does (292 years).
_LONGEST_NS = 2**63 - 1


def parse_duration(text: object, *, signed: bool = False) -> int:
    """Return the nanoseconds that `text` names, such as `250ms`, `1.5s` or `1m30s`.

    Args:
        text: number and unit (ns, us, ms, s, m, h, d), parts in any order. An `int` is refused:
            a bare number has no unit.
        signed: whether a leading `+` or `-` is allowed.

    Raises:
        ValueError: it is not such a text, is finer than a nanosecond, or is over 292 years.
    """
    hint = "write a number and a unit, such as 250ms, 1.5s or 2m"
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is not a duration: {hint}")
    body, sign = text, 1
    if signed and text[:1] in {"+", "-"}:
        body, sign = text[1:], -1 if text[0] == "-" else 1
    if len(body) > _LENGTH_MAX:
        raise ValueError(f"{text[:_LENGTH_MAX]!r}… is too long for a duration")
    if not _WHOLE.fullmatch(body):
        raise ValueError(f"{text!r} is not a duration: {hint}")
    total = sum(Decimal(number) * _UNITS_NS[unit] for number, unit in _PART.findall(body))
    if total != int(total):
        raise ValueError(f"{text!r} is finer than one nanosecond")
    if total > _LONGEST_NS:
        raise ValueError(f"{text!r} is longer than 292 years")
    return sign * int(total)


def format_roughly(duration_ns: int) -> str:
    """Return a duration as people want it, and never longer than it is: `3m36.5s`, `140ms`."""
    step_ns = next((step for least, step in _STEPS_NS if duration_ns >= least), 1)
    return format_duration(duration_ns // step_ns * step_ns)


def format_duration(duration_ns: int) -> str:
    """Return `duration_ns` as a short text in its natural unit: `30s`, `1.5s`, `250ms`, `2m5s`."""
    sign, left_ns = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if left_ns == 0:
        return "0s"
    for unit in ("ns", "us", "ms"):
        if left_ns < _UNITS_NS[unit] * 1_000 and left_ns < SECOND_NS:
            return f"{sign}{_decimal(left_ns, _UNITS_NS[unit])}{unit}"
    parts = []
    for unit in ("d", "h", "m"):
        count, left_ns = divmod(left_ns, _UNITS_NS[unit])
        if count:
            parts.append(f"{count}{unit}")
    if left_ns:
        parts.append(f"{_decimal(left_ns, SECOND_NS)}s")
    return sign + "".join(parts)


def _decimal(count_ns: int, unit_ns: int) -> str:
    whole, rest = divmod(count_ns, unit_ns)
    if not rest:
        return str(whole)
    digits = str(rest).rjust(len(str(unit_ns)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"


def _from_file(value: object) -> int:
    return parse_duration(value)


def _signed_from_file(value: object) -> int:
    return parse_duration(value, signed=True)


#: A field that is a text such as `1.5s` in a file and an int of nanoseconds (>= 0) in memory.
DurationNs = Annotated[
    int,
    BeforeValidator(_from_file),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": f"^{_PATTERN}$", "examples": ["250ms", "1.5s"]}),
]
#: The same, with an optional sign: an offset from now.
SignedDurationNs = Annotated[
    int,
    BeforeValidator(_signed_from_file),
    PlainSerializer(format_duration, return_type=str),
    WithJsonSchema({"type": "string", "pattern": f"^[+-]?{_PATTERN}$", "examples": ["+30s"]}),
]
