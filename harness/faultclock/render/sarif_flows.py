"""SARIF code flows: the events that prove a finding, in their order, with their virtual times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from faultclock.model.report.finding import EventMark, Finding, OrderStep, RunReport, SourcePlace
from faultclock.render.notices import Notice, Showing, uri_of
from faultclock.render.wording import clipped, exact_time, time_word, visible

#: Per code flow. GitHub shows 1,000 of a result's, and takes 10,000: three flows of two threads.
PLACES_MAX = 1_000
#: GitHub cuts descriptions there.
DESCRIPTION_MAX = 1_000


def message(text: str) -> dict[str, str]:
    """Return a message that says exactly `text`: no placeholder and no link is in it.

    SARIF 2.1.0 §3.11.5 writes braces twice; §3.11.6 makes a link of `[…](…)`.
    """
    plain = visible(text) or "-"
    return {"text": plain.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def physical(place: SourcePlace | None) -> dict[str, Any]:
    """Return the part of a location that is in a file; nothing without a place."""
    if place is None:
        return {}
    return {
        "physicalLocation": {
            # Relative, and to what is the reader's to know: a report names no absolute path.
            "artifactLocation": {"uri": uri_of(place), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": place.line},
        }
    }


def flows(notice: Notice, showing: Showing) -> Iterator[dict[str, Any]]:
    """Yield the events that prove a finding, in their order, and the order that was expected."""
    finding, run = showing.finding, showing.run
    if run is not None:
        marks = _around(finding, run)
        if marks:
            threads = [{"id": "events", "locations": _events(notice, marks, finding, run)}]
            yield {"message": message(_of_run(notice, run)), "threadFlows": threads}
    if finding.order:
        clock = time_word(run.time_base) if run is not None else "virtual"
        yield {
            "message": message("the order that was expected, and the one that was observed"),
            "threadFlows": [
                {"id": side, "locations": _steps(notice, finding.order, side, clock)}
                for side in ("expected", "observed")
            ],
        }


def _of_run(notice: Notice, run: RunReport) -> str:
    return f"{notice.subject}, seed {run.seed}: events in {time_word(run.time_base)} time"


def _around(finding: Finding, run: RunReport) -> list[EventMark]:
    """Return what happened from the first to the last event that proves a finding."""
    cited = set(finding.events)
    if not cited:
        return []
    first, last = min(cited), max(cited)
    within = [mark for mark in run.timeline if first <= mark.seq <= last]
    if len(within) <= PLACES_MAX:
        return within
    return [mark for mark in within if mark.seq in cited][:PLACES_MAX]


def _events(
    notice: Notice, marks: list[EventMark], finding: Finding, run: RunReport
) -> list[dict[str, Any]]:
    cited = set(finding.events)
    clock = time_word(run.time_base)
    return [
        {
            "location": {
                **physical(notice.place),
                "message": message(f"{exact_time(mark.at_ns)} {mark.lane}: {mark.text}"),
            },
            "executionOrder": order,
            "importance": "essential" if mark.seq in cited else "unimportant",
            "kinds": [visible(mark.lane)],
            "properties": {
                "event": mark.seq,
                "kind": visible(mark.kind),
                "at": exact_time(mark.at_ns),
                "atNs": mark.at_ns,
                "clock": clock,
            },
        }
        for order, mark in enumerate(marks, start=1)
    ]


def _steps(
    notice: Notice, steps: Iterable[OrderStep], side: str, clock: str
) -> list[dict[str, Any]]:
    told = []
    for order, step in enumerate(list(steps)[:PLACES_MAX], start=1):
        words = step.expected if side == "expected" else step.observed
        properties: dict[str, Any] = {"agrees": step.agrees, "clock": clock}
        when = ""
        if side == "observed" and step.at_ns is not None:
            properties |= {"at": exact_time(step.at_ns), "atNs": step.at_ns, "event": step.seq}
            when = f"{exact_time(step.at_ns)} "
        told.append(
            {
                "location": {
                    **physical(notice.place),
                    "message": message(f"{when}{clipped(words, DESCRIPTION_MAX)}" or "nothing"),
                },
                "executionOrder": order,
                "importance": "important" if step.agrees else "essential",
                "properties": properties,
            }
        )
    return told
