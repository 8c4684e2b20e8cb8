"""JSON: the Report itself, in one canonical spelling.

Canonical means: keys sorted, no white space, ASCII with escapes, no NaN, one newline at the
end. So two equal Reports are equal bytes, and a digest of the text is a digest of the facts.
`Report.model_validate_json` reads it back. The member `format` is the version of this shape:
it grows when a reader of the old shape would misread the new one, never for a new member that
may be ignored.
"""

from __future__ import annotations

import hashlib
import json

from harness.model.finding import Report

__all__ = ["json_digest", "json_report"]


def json_report(report: Report) -> str:
    """Return `report` as canonical JSON with a newline at the end."""
    value = report.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


def json_digest(report: Report) -> str:
    """Return the SHA-256 (hex) of exactly the bytes of `json_report`."""
    return hashlib.sha256(json_report(report).encode("ascii")).hexdigest()
