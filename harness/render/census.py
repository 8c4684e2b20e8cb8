"""A census as a page, as JSON and as a table of text: pure, and equal bytes for equal censuses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from harness.model.census import Census, ClientCensus
from harness.model.finding import Verdict
from harness.render.census_view import (
    AS_IF_WHOLE,
    broken_rows,
    details_of,
    families_of,
    short_class,
    troubles_of,
)
from harness.render.json_text import canonical_json
from harness.render.page import asset, environment, policy
from harness.render.verdict_words import GLOSSARY, LOOKS
from harness.render.wording import count, visible

__all__ = ["census_json", "census_page", "census_table", "not_run"]

_HEADINGS = (
    "client",
    "runs",
    "answered",
    AS_IF_WHOLE,
    "raised",
    "no end",
    "most attempts",
    "Retry-After kept",
    "verdicts",
)
#: In the order of attention, as short as a column wants them.
_SHORT = {
    Verdict.FAIL: "fail",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.WARN: "warn",
    Verdict.PASS: "pass",
    Verdict.NOT_APPLICABLE: "n/a",
}


def census_json(census: Census) -> str:
    """Return `census` as canonical JSON: sorted keys, ASCII, one line with its end."""
    return canonical_json(census)


def census_page(census: Census) -> str:
    """Return `census` as one self-contained HTML document."""
    style, script = asset("report.css", "census.css"), asset("report.js")
    page = environment().get_template("census.html.j2")
    return page.render(
        census=census,
        families=families_of(census),
        broken=broken_rows(census),
        details=[(client, details_of(client)) for client in census.clients],
        hindered=[
            (client, troubles_of(client))
            for client in census.clients
            if client.inexpressible or client.cannot or troubles_of(client)
        ],
        verdicts=[verdict for verdict in GLOSSARY if _counted(census, verdict)],
        runs=sum(client.tally.runs for client in census.clients),
        short_class=short_class,
        style=style,
        script=script,
        policy=policy(style, script),
        glossary=[(verdict, LOOKS[verdict]) for verdict in GLOSSARY],
        digest=hashlib.sha256(census_json(census).encode("ascii")).hexdigest(),
    )


def census_table(census: Census) -> Iterator[str]:
    """Yield the lines of the table of clients, and below it what broken streams became."""
    yield from _columns([_HEADINGS, *map(_cells, census.clients)])
    streams = [row for row in broken_rows(census) if row.kind == "stream"]
    if streams:
        yield ""
        yield "What became of streams that broke:"
    for row in streams:
        yield f"  {row.scenario}"
        for group in row.groups:
            yield f"    {visible(group.words)}: {', '.join(group.clients)}"


def not_run(census: Census) -> Iterator[str]:
    """Yield, by name, every client and every scenario that was not run, and why."""
    for absent in census.absent:
        yield f"{absent.id}: {visible(absent.reason)}"
    for client in census.clients:
        for scenario, reason in troubles_of(client):
            yield f"{client.id}, {scenario}: {visible(reason)}"
        for sentence in client.cannot:
            yield f"{client.id}, in the simulation: {visible(sentence)}"
        for hindrance in client.inexpressible:
            yield f"{client.id}, {hindrance.what}: {visible(hindrance.reason)}"


def _cells(client: ClientCensus) -> tuple[str, ...]:
    tally = client.tally
    kept = f"{tally.waited_as_asked} of {tally.asked_to_wait}" if tally.asked_to_wait else "-"
    verdicts = [
        f"{tally.verdicts[verdict]} {_SHORT[verdict]}"
        for verdict in GLOSSARY
        if verdict in tally.verdicts
    ]
    return (
        client.id,
        str(tally.runs),
        f"{tally.answered} of {count(tally.calls, 'call')}",
        str(tally.wrongly_answered),
        str(tally.raised),
        str(tally.never_ended),
        str(tally.attempts_max),
        kept,
        ", ".join(verdicts),
    )


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*padded, row[-1]]).rstrip()


def _counted(census: Census, verdict: Verdict) -> bool:
    return any(verdict in client.tally.verdicts for client in census.clients)
