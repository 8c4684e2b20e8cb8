"""What a subject does about a table of vectors, for a terminal: pure."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.report.vector_report import RowResult, RowVerdict, VectorReport
from faultclock.render.census_text import wrapped
from faultclock.render.wording import count

_WIDTH = 80
#: Characters of the commit that are shown.
_COMMIT = 12
_VERDICTS: dict[RowVerdict, str] = {
    "not reproduced": "not reproduced",
    "no result": "no result: the run proves nothing",
    "not reached": "not reached: the call ended before the wait",
    "inexpressible": "inexpressible",
}


def vectors_lines(report: VectorReport, width: int = _WIDTH) -> Iterator[str]:
    """Yield what a terminal shows, the worst first, in lines of at most `width` columns."""
    source = report.source
    rows = count(report.expressible, "row")
    yield from wrapped(
        f"{report.subject} reproduces {report.count('reproduced')} of {rows} that can be expressed",
        width,
        "",
    )
    yield from wrapped(f"table: {report.title}", width)
    where = f"{source.repository} at {source.commit[:_COMMIT]}, {source.path} ({source.licence})"
    yield from wrapped(f"from: {where}", width)
    libraries = ", ".join(f"{name} {it}" for name, it in report.distributions.items())
    if libraries:
        yield from wrapped(f"with: {libraries}", width)
    for verdict, title in _VERDICTS.items():
        found = [row for row in report.rows if row.verdict == verdict]
        if found:
            yield ""
            yield f"{title} ({len(found)})"
        if verdict == "not reproduced":
            for row in found:
                yield from _wrong(row, width)
            continue
        reasons: dict[str, list[str]] = {}
        for row in found:
            reasons.setdefault(row.reason or row.observed, []).append(row.id)
        for reason, ids in reasons.items():
            yield from wrapped(f"{reason}: {', '.join(ids)}", width)


def _wrong(row: RowResult, width: int) -> Iterator[str]:
    yield from wrapped(f"{row.id}: {', then '.join(row.answers)}", width)
    yield from wrapped(f"expected {row.expected}", width, "    ")
    yield from wrapped(f"observed {row.observed}", width, "    ")
    yield from wrapped(f"source {row.cites}", width, "    ")
