"""The one spelling of a value as JSON, so that equal values are equal bytes."""

from __future__ import annotations

import json
from typing import Any

from faultclock.model._base import Value


def canonical_text(value: Value) -> str:
    """Return `value` as JSON: keys sorted, no white space, ASCII with escapes, no NaN, one line."""
    return canonical_value(value.model_dump(mode="json"))


def canonical_value(plain: Any) -> str:
    """Return JSON-able data in that spelling."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
