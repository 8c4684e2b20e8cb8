"""Values of a foreign log in our terms: paths into a line, exact times, texts without secrets.

Times are integers of nanoseconds from the text of the log on: no float is ever in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from faultclock.model.paths import without_paths
from faultclock.model.secrets import without_secrets
from faultclock.model.trace.events import INT_END

#: What stands at a path that leads nowhere; null is there.
ABSENT: Any = object()

TEXT_MAX = 4_000
_LABEL_MAX = 120
_UNIT_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_EXACT = Context(prec=200)
#: Past the year 9999 a number is no time in the unit that was given for it.
_LATEST_NS = 253_402_300_800 * 1_000_000_000
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_ISO8601 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,30}))?"
    r"(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def at(line: Any, path: str) -> Any:
    """Return what stands at a dotted path; ABSENT where nothing does."""
    found = line
    for part in path.split("."):
        if isinstance(found, list):
            # No list is as long as this; int() refuses a text of thousands of digits.
            index = int(part) if part.isascii() and part.isdigit() and len(part) < 10 else -1
            found = found[index] if 0 <= index < len(found) else ABSENT
        else:
            found = found.get(part, ABSENT) if isinstance(found, dict) else ABSENT
    return found


def value(line: Mapping[str, Any], path: str | None) -> Any:
    """Return what stands at a path, or the text after a `=`; None where there is nothing."""
    if path is None:
        return None
    if path.startswith("="):
        return path[1:]
    found = at(line, path)
    return None if found is ABSENT else found


def number(said: Any) -> Decimal | None:
    """Return the number that is said, in digits or in a text of digits; None where none is."""
    if isinstance(said, str):
        return Decimal(said) if _NUMBER.fullmatch(said) else None
    if isinstance(said, bool) or not isinstance(said, int | Decimal):
        return None
    return Decimal(said)


def duration_ns(said: Any, unit: str) -> int | None:
    """Return a number of `unit` in whole nanoseconds, rounded down; None where none is said."""
    amount = number(said)
    if amount is None:
        return None
    exact = _EXACT.multiply(amount, Decimal(_UNIT_NS[unit]))
    return int(exact.to_integral_value(rounding=ROUND_FLOOR, context=_EXACT))


def instant_ns(stamp: Any, unit: str) -> int | None:
    """Return an instant in nanoseconds since 1970, or since whenever the log's clock began.

    None: it is no instant in that unit. One without a zone is none, as its time is unknown.
    """
    if unit != "iso8601":
        found = duration_ns(stamp, unit)
        return found if found is not None and abs(found) <= _LATEST_NS else None
    parts = _ISO8601.fullmatch(stamp.strip()) if isinstance(stamp, str) else None
    if parts is None:
        return None
    *whole, fraction, _, sign, hours, minutes = parts.groups()
    year, month, day, hour, minute, second = map(int, whole)
    try:
        # A leap second is the second after :59.
        moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=UTC)
    except ValueError:
        return None
    if second > 60 or int(hours or 0) > 23 or int(minutes or 0) > 59:
        return None
    offset_s = (int(hours or 0) * 60 + int(minutes or 0)) * 60 * (-1 if sign == "-" else 1)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86_400 + since.seconds + second - min(second, 59) - offset_s
    return seconds * 1_000_000_000 + int((fraction or "0")[:9].ljust(9, "0"))


def cleaned(said: Any) -> Any:
    """Return JSON data as it may stand in a trace: no secret, no absolute path, no half character.

    The marks of both stay, so that it can be judged which audience saw them. A fraction becomes its
    text, as in every trace, and so does an integer of more than 64 bits.
    """
    if isinstance(said, Mapping):
        return {cleaned(str(name)): cleaned(item) for name, item in said.items()}
    if isinstance(said, list):
        return [cleaned(item) for item in said]
    if isinstance(said, Decimal):
        whole = said == said.to_integral_value(context=_EXACT)
        return cleaned(int(said)) if whole else str(said)
    if isinstance(said, int) and not -INT_END <= said < INT_END:
        return str(said)
    if isinstance(said, str):
        text = without_secrets(without_paths(_SURROGATE.sub("\ufffd", said)))
        return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    return said


def label(said: Any) -> str:
    """Return a short text for an id or a name: cleaned, and without what a terminal would obey."""
    text = str(cleaned(said))
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return shown if len(shown) <= _LABEL_MAX else f"{shown[:_LABEL_MAX]}…"
