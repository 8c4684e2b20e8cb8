"""What a failed run is remembered by, as compressed JSON: its tape, its findings, its unsteadiness.

The rest of a run is columns, so that SQL can count it.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from faultclock.model.report.exploration import Tried

#: What is left out where it is empty, but for the variant, which has a column.
_FIELDS = set(Tried.SPARSE) - {"variant"}


def packed(tried: Tried) -> bytes | None:
    """Return what is in no column; None where there is nothing such, as for most runs."""
    content = tried.model_dump(mode="json", include=_FIELDS)
    if not content:
        return None
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode())


def unpacked(blob: bytes | None) -> dict[str, Any]:
    """Return the fields of a `Tried` that `packed` was given."""
    if blob is None:
        return {}
    fields: dict[str, Any] = json.loads(zlib.decompress(blob))
    return fields
