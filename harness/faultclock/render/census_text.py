"""A census for a terminal: what the clients return, how they retry, and what was not run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from faultclock.model.report.census import Census, ClientCensus
from faultclock.model.report.finding import Verdict
from faultclock.render.census_view import (
    broken_rows,
    families_of,
    silent,
    troubles_of,
    wait_range,
)
from faultclock.render.wording import count, short_time, visible

_WIDTH = 80
_LAST_MIN = 16
#: Cells of clients and scenarios that a terminal shows one by one; the page has all of them.
_CELLS_MAX = 60
#: Two lines each, so that a table fits into 80 columns.
_CLIENT, _ANSWERED = ("", "client"), ("answered", "in full")
_RAISED, _NEVER, _FAILED = ("", "raised"), ("never", "returned"), ("runs that", "fail")
_RETRIES = (
    ("", "client"),
    ("most", "attempts"),
    ("waits", "shortest to longest"),
    ("", "median"),
    ("Retry-After", "obeyed"),
)


def census_table(census: Census, width: int = _WIDTH) -> Iterator[str]:
    """Yield what a terminal shows of `census`, in lines of at most `width` columns.

    Names of clients and scenarios are never broken.
    """
    yield "What each client returns, in calls"
    yield from _returns(census, width)
    if any(number for client in census.clients for number in silent(client).values()):
        yield "  Silently: the client hands this to its caller and raises no error."
    yield ""
    yield "How each client retries"
    yield from _table(_RETRIES, list(map(_retried, census.clients)), width)
    streams = [row for row in broken_rows(census) if row.kind == "stream"]
    if streams and len(streams) * len(census.clients) <= _CELLS_MAX:
        yield ""
        yield "What each client does when a stream breaks off"
        for row in streams:
            yield f"  {row.scenario}"
            for group in row.groups:
                yield from wrapped(f"{group.words}: {', '.join(group.clients)}", width, "    ")
    if census.clients and census.scenarios:
        yield ""
        yield from _scenarios(census, width)
    if any(client.environment for client in census.clients):
        yield ""
        yield "What is installed in each environment"
        for client in census.clients:
            installed = ", ".join(f"{name} {it}" for name, it in client.versions.items())
            yield from wrapped(f"{client.id}: {installed}", width)


def not_run(census: Census) -> Iterator[str]:
    """Yield, by name, every client and every scenario that was not run, and why."""
    for absent in census.absent:
        yield f"{absent.id}: {absent.reason}"
    for client in census.clients:
        for scenario, reason in troubles_of(client):
            yield f"{client.id}, {scenario}: {reason}"
        for sentence in client.cannot:
            yield f"{client.id}, in the simulation: {sentence}"
        for hindrance in client.inexpressible:
            yield f"{client.id}, {hindrance.what}: {hindrance.reason}"


def _returns(census: Census, width: int) -> Iterator[str]:
    """Yield the table of what comes out; a column without any call is left out."""
    changed = {client.id: silent(client) for client in census.clients}
    words = [
        word
        for word in next(iter(changed.values()), {"silently truncated": 0})
        if word.endswith("truncated") or any(item[word] for item in changed.values())
    ]
    never = any(client.tally.never_ended for client in census.clients)
    pairs = [(first, last) for first, _, last in (word.partition(" ") for word in words)]
    headings = [_CLIENT, _ANSWERED, *pairs, _RAISED, *([_NEVER] if never else ()), _FAILED]
    rows = []
    for client in census.clients:
        tally = client.tally
        failed = tally.verdicts.get(Verdict.FAIL.value, 0)
        rows.append(
            (
                client.id,
                f"{tally.answered} of {tally.calls}",
                *(str(changed[client.id][word]) for word in words),
                str(tally.raised),
                *([str(tally.never_ended)] if never else ()),
                f"{failed} of {tally.runs}",
            )
        )
    yield from _table(headings, rows, width)


def _retried(client: ClientCensus) -> tuple[str, ...]:
    tally = client.tally
    median = "-" if tally.wait_median_ns is None else short_time(tally.wait_median_ns)
    obeyed = f"{tally.waited_as_asked} of {tally.asked_to_wait}" if tally.asked_to_wait else "-"
    waits = wait_range(tally) or "never retries"
    return (client.id, str(tally.attempts_max), waits, median, obeyed)


def _scenarios(census: Census, width: int) -> Iterator[str]:
    """Yield what each client does in each scenario, with its waits; of a large census, where."""
    if len(census.clients) * len(census.scenarios) > _CELLS_MAX:
        yield from wrapped(
            f"What each client does in each of the {count(len(census.scenarios), 'scenario')}, and "
            "how long it waits there, is on the pages: -o DIR",
            width,
            "",
        )
        return
    yield "What each client does, scenario by scenario"
    for family in families_of(census):
        for row in family.rows:
            yield f"  {row.scenario}"
            groups: dict[str, list[str]] = {}
            for client, cell in zip(census.clients, row.cells, strict=True):
                waits = f"waits {cell.waits}" if cell.waits else ""
                words = ", ".join(part for part in (cell.word, cell.attempts, waits) if part)
                groups.setdefault(words, []).append(client.id)
            for words, clients in groups.items():
                yield from wrapped(f"{words}: {', '.join(clients)}", width, "    ")


def _table(
    headings: Sequence[tuple[str, str]], rows: Sequence[tuple[str, ...]], width: int
) -> Iterator[str]:
    """Yield a table with two lines of headings; its last column folds where there is no room."""
    top, bottom = ([heading[line] for heading in headings] for line in (0, 1))
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in (top, bottom, *cells)) for at in range(len(headings) - 1)]
    yield _line(top, widths)
    yield _line(bottom, widths)
    room = max(width - sum(widths) - 2 * len(widths), _LAST_MIN)
    for row in cells:
        folded = textwrap.wrap(row[-1], room, break_long_words=False) or [""]
        for line in zip_longest(*([cell] for cell in row[:-1]), folded, fillvalue=""):
            yield _line(line, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(size) for cell, size in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]).rstrip()


def wrapped(text: str, width: int, indent: str = "  ") -> list[str]:
    """Return `text` in lines of at most `width` columns, without breaking a name."""
    return textwrap.wrap(
        visible(text),
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
