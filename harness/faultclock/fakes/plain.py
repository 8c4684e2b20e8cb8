"""Plain values: what a subject hands over, as JSON data that may stand in a trace.

A subject can hand over anything. What has no JSON form gets a mark with its type's name, so
that equal runs give equal bytes; nothing of an object's own text, which may hold an address.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from faultclock.model.secrets import without_secrets

#: Deeper structures, longer lists and longer texts are cut: a trace is no memory dump.
_DEPTH_MAX = 8
_ITEMS_MAX = 1_000
_TEXT_MAX = 4_000
#: JSON readers keep no larger integers exact, and Python writes none of over 4,300 digits.
_INT_END = 1 << 63


def plain(value: object, clean: Callable[[str], str] = without_secrets, depth: int = 0) -> Any:
    """Return a copy of `value` as JSON data, with floats as texts.

    Args:
        clean: takes out of each text what may stand in no trace.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        whole = int.__int__(value)
        return whole if abs(whole) < _INT_END else f"<an integer of {whole.bit_length()} bits>"
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, str):
        return _text(value, clean)
    if depth < _DEPTH_MAX:
        if isinstance(value, Mapping):
            items = islice(value.items(), _ITEMS_MAX)
            return {
                str(plain(key, clean, depth + 1)): plain(item, clean, depth + 1)
                for key, item in items
            }
        if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
            return [plain(item, clean, depth + 1) for item in islice(value, _ITEMS_MAX)]
    return f"<{type(value).__name__}>"


def canonical(value: object) -> str:
    """Return JSON with sorted keys and no spaces: equal values, equal texts.

    What has no JSON form is replaced as `plain` does it; nothing else is changed.

    Example:
        >>> canonical({"b": 1, "a": [True, None]})
        '{"a":[true,null],"b":1}'
    """
    try:
        return _dumped(value)
    except (TypeError, ValueError, RecursionError):
        return _dumped(plain(value))


def digest(value: object) -> str:
    """Return the SHA-256 (hex) of the canonical JSON of `value`."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


#: `json.dumps` would make one for each value.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def _dumped(value: object) -> str:
    return _ENCODER.encode(value)


def _text(value: str, clean: Callable[[str], str]) -> str:
    whole = str.__str__(value)
    text = clean(whole[:_TEXT_MAX])
    return text if len(whole) <= _TEXT_MAX else f"{text}…"
