"""JSON: a Report and all else that we write for programs, in one canonical spelling.

Canonical means: keys sorted, no white space, ASCII with escapes, no NaN, one newline at the
end. So two equal values are equal bytes, and a digest of the text is a digest of the facts.
`Report.model_validate_json` reads a Report back. The member `format` is the version of this shape:
it grows when a reader of the old shape would misread the new one, never for a new member that
may be ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from faultclock.model._base import Value
from faultclock.model.canonical import canonical_text, canonical_value
from faultclock.model.report.finding import Report


def canonical_json(value: Value) -> str:
    """Return `value` as canonical JSON with a newline at the end."""
    return canonical_text(value) + "\n"


def canonical_digest(value: Value) -> str:
    """Return the SHA-256 (hex) of exactly the bytes of `canonical_json`."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def json_report(report: Report) -> str:
    """Return `report` as canonical JSON with a newline at the end."""
    return "".join(json_pieces(report))


def json_pieces(report: Report) -> Iterator[str]:
    """Yield `report` as canonical JSON, run by run: there may be more than memory holds."""
    plain = report.model_copy(update={"runs": ()}).model_dump(mode="json")
    before = "{"
    for name, value in sorted(plain.items()):
        yield f"{before}{canonical_value(name)}:"
        before = ","
        if name != "runs":
            yield canonical_value(value)
            continue
        yield "["
        for number, run in enumerate(report.runs):
            yield f",{run.canonical()}" if number else run.canonical()
        yield "]"
    yield "}\n"


def json_digest(report: Report) -> str:
    """Return the SHA-256 (hex) of exactly the bytes of `json_report`."""
    digest = hashlib.sha256()
    for piece in json_pieces(report):
        digest.update(piece.encode("ascii"))
    return digest.hexdigest()
