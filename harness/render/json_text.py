"""JSON: a Report and all else that we write for programs, in one canonical spelling.

Canonical means: keys sorted, no white space, ASCII with escapes, no NaN, one newline at the
end. So two equal values are equal bytes, and a digest of the text is a digest of the facts.
`Report.model_validate_json` reads a Report back. The member `format` is the version of this shape:
it grows when a reader of the old shape would misread the new one, never for a new member that
may be ignored.
"""

from __future__ import annotations

import hashlib
import json

from harness.model._base import Value
from harness.model.finding import Report

__all__ = ["canonical_json", "json_digest", "json_report"]


def canonical_json(value: Value) -> str:
    """Return `value` as canonical JSON with a newline at the end."""
    plain = value.model_dump(mode="json")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def json_report(report: Report) -> str:
    """Return `report` as canonical JSON with a newline at the end."""
    return canonical_json(report)


def json_digest(report: Report) -> str:
    """Return the SHA-256 (hex) of exactly the bytes of `json_report`."""
    return hashlib.sha256(json_report(report).encode("ascii")).hexdigest()
