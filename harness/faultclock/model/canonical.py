"""The one spelling of a value as JSON, so that equal values are equal bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from faultclock.model._base import Value


def canonical_text(value: Value) -> str:
    """Return `value` as JSON: keys sorted, no white space, ASCII with escapes, no NaN, one line."""
    return canonical_value(value.model_dump(mode="json"))


#: One encoder for all: `json.dumps` would build one for each. What it is given are trees, so
#: looking for circles would only cost time.
_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False
)


def canonical_value(plain: Any) -> str:
    """Return JSON-able data in that spelling."""
    return _ENCODER.encode(plain)


def digest_of(plain: Any) -> str:
    """Return the SHA-256 (hex) of JSON-able data in that spelling; NaN, as subjects say it, too."""
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
