"""A history as JSON: the same facts as the text, all of them."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from msgspec import to_builtins

from faultclock.history.findings import FlakySubject, History
from faultclock.model._base import Value
from faultclock.model.report.token import token_of

_FORMAT = 1


def history_json(history: History) -> str:
    """Return the JSON text, newline included."""
    content = {
        "format": _FORMAT,
        "sessions": [to_builtins(item) for item in history.sessions],
        "determinism_bugs": [to_builtins(item) for item in history.bugs],
        "flaky": [_flaky(item) for item in history.flaky],
        "flips": [to_builtins(item) for item in history.flips],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _flaky(item: FlakySubject) -> dict[str, Any]:
    fields = to_builtins(item, enc_hook=partial(Value.model_dump, mode="json"))
    coordinates, current = fields.pop("coordinates"), fields.pop("is_current")
    return {
        **fields,
        "current": current,
        "coordinates": coordinates,
        "token": token_of(item.coordinates),
    }
