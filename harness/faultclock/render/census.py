"""A census as pages: pure, and equal bytes for equal censuses.

The census is one page. What each client does is a section of it, or a page of its own beside it:
then both link to each other.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from msgspec import Struct

from faultclock.model.report.census import Census, ClientCensus
from faultclock.render.census_legend import LEGEND
from faultclock.render.census_others import Compared, Others
from faultclock.render.census_view import (
    Detail,
    broken_rows,
    details_of,
    families_of,
    file_names,
    short_class,
    silent,
    troubles_of,
    wait_range,
)
from faultclock.render.json_text import canonical_digest
from faultclock.render.page import environment, frame
from faultclock.render.verdict_words import GLOSSARY

#: Name of the page that the pages of the clients link back to.
CENSUS_PAGE = "census.html"


def census_page(census: Census, *, client_files: bool = False) -> str:
    """Return `census` as one self-contained HTML document.

    Args:
        client_files: the pages of the clients lie beside it, so it links to them. Otherwise each
            client is a section of this page.
    """
    page = environment().get_template("census.html.j2")
    names = file_names(census)
    compared = Compared(census)
    return page.render(
        **_shared(census),
        families=families_of(census),
        broken=broken_rows(census),
        links={
            client: f"census-{name}.html" if client_files else f"#client-{name}"
            for client, name in names.items()
        },
        names=names,
        details=[]
        if client_files
        else [(client, _conduct(client, compared)) for client in census.clients],
        client_files=client_files,
        hindered=[(client, troubles_of(client)) for client in census.clients if _has_gaps(client)],
        silent={client.id: silent(client) for client in census.clients},
        silent_words=_silent_words(census),
        runs=sum(client.tally.runs for client in census.clients),
        wait_range=wait_range,
        short_class=short_class,
    )


def client_pages(census: Census) -> dict[str, str]:
    """Return the page of each client by the name of its file; they lie beside `CENSUS_PAGE`."""
    page = environment().get_template("census_client.html.j2")
    names = file_names(census)
    compared = Compared(census)
    shared = _shared(census)
    titles = {entry.id: entry.title for entry in census.scenarios}
    pages = {}
    for place, client in enumerate(census.clients):
        pages[f"census-{names[client.id]}.html"] = page.render(
            **shared,
            client=client,
            name=names[client.id],
            conduct=_conduct(client, compared),
            titles=titles,
            troubles=troubles_of(client),
            silent=silent(client),
            waits=wait_range(client.tally),
            verdicts=[verdict for verdict in GLOSSARY if verdict in client.tally.verdicts],
            before=census.clients[place - 1] if place else None,
            after=census.clients[place + 1] if place + 1 < len(census.clients) else None,
            names=names,
            census_page=CENSUS_PAGE,
        )
    return pages


def _shared(census: Census) -> dict[str, Any]:
    """Return what every page of a census is made with."""
    shared = {"census": census, "legend": LEGEND, "digest": canonical_digest(census)}
    return {**frame("census.css"), **shared}


class _ScenarioRows(Struct, frozen=True, kw_only=True):
    """What one client does in one scenario: a row for all calls that do the same."""

    scenario: str
    rows: tuple[Detail, ...]
    others: Others | None
    differs: bool
    """Whether another client does something else there."""


def _conduct(client: ClientCensus, compared: Compared) -> list[_ScenarioRows]:
    made = []
    for scenario, rows in groupby(details_of(client), key=lambda row: row.scenario):
        others = compared.others(client.id, scenario)
        differs = others is not None and bool(others.groups)
        made.append(
            _ScenarioRows(scenario=scenario, rows=tuple(rows), others=others, differs=differs)
        )
    return made


def _silent_words(census: Census) -> list[str]:
    """Return the ways in which some client changed an answer silently; at least the first."""
    found = [silent(client) for client in census.clients]
    words = list(found[0]) if found else []
    return [word for word in words if word == words[0] or any(item[word] for item in found)]


def _has_gaps(client: ClientCensus) -> bool:
    return bool(client.inexpressible or client.cannot or troubles_of(client))
