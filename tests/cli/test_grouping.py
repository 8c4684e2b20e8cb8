"""The rows of the table stand for scenarios, checks, exceptions or causes."""

from __future__ import annotations

import pytest

from faultclock.cli.grouping import table_by
from faultclock.cli.run_options import GROUPINGS
from faultclock.cli.tables import Row
from faultclock.model.report.finding import CallReport, Report, RequirementCoverage, Verdict
from faultclock.model.trace.notes import Frame, RaisedError, RunNotes
from tests.cli.reports import finding, run, small_report

FAIL, PASS, OPEN = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


def call(outcome: str) -> CallReport:
    """Return a call that came out so."""
    return CallReport(call="ask/1", task="ask", started_ns=0, ended_ns=1, outcome=outcome)


def raising(name: str, scenario: str) -> Report:
    """Return a report of one run whose call an exception left."""
    frame = Frame(file="client.py", line=31, function="ask", code="x")
    notes = RunNotes(raised=(RaisedError(call="ask/1", type=name, message="m", frames=(frame,)),))
    found = finding(FAIL, check="handler.crash", observed="it crashed", call="ask/1")
    failed = run(FAIL, found, scenario=scenario, calls=(call(f"raised {name}"),), notes=notes)
    return small_report(failed, run(PASS, scenario="mine/green"))


def rows(report: Report, grouping: str) -> dict[str, Row]:
    """Return the rows by their names."""
    return {row.name: row for row in table_by(report, grouping).rows}


def test_a_check_counts_the_runs_and_scenarios_that_its_verdict_is_about() -> None:
    """Its worst finding is shown, and a check that passed everywhere says nothing more."""
    failing = finding(FAIL, observed="1 s", expected="5 s")
    passing = finding(PASS, check="calls.end")
    report = small_report(
        run(PASS, finding(PASS), passing),
        run(FAIL, failing, passing, seed=1),
        run(FAIL, failing, scenario="mine/two"),
    )
    found = rows(report, "check")
    assert list(found) == ["backoff.wait", "calls.end"]
    assert found["backoff.wait"].cells[1:] == ("✗ fail", "2", "2", "1 s; expected 5 s")
    assert found["calls.end"].cells[1:] == ("✓ pass", "2", "1", "")


def test_an_exception_has_one_row_with_the_line_it_came_from() -> None:
    """Whatever else goes wrong without one stands together."""
    found = rows(raising("KeyError", "mine/one"), "exception")
    assert found["KeyError"].finding == "at client.py:31: handler.crash: it crashed"
    silent = small_report(run(FAIL, finding(FAIL, observed="short")))
    assert list(rows(silent, "exception")) == ["no exception"]


def test_one_cause_is_one_row_however_many_runs_show_it() -> None:
    """It is what `check` would say, and what proves nothing has a row of its own."""
    shown = finding(FAIL, requirement="R-1", level="MUST", observed="waited 1 s", expected="5 s")
    covered = RequirementCoverage(
        id="R-1", level="MUST", place="p", sentence="Wait.", status="failed"
    )
    report = small_report(
        run(FAIL, shown),
        run(FAIL, shown.model_copy(update={"observed": "waited 2 s"}), scenario="mine/two"),
        run(OPEN, finding(OPEN, reason="fault x was never met"), scenario="mine/three"),
    ).model_copy(update={"coverage": (covered,)})
    table = table_by(report, "cause")
    assert [row.verdict for row in table.rows] == [FAIL, OPEN]
    assert table.rows[0].figures[0] == "2"
    assert "expected 5 s" in table.rows[0].finding
    assert "fault x was never met" in table.rows[1].finding


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_no_grouping_loses_a_run_that_is_not_green(grouping: str) -> None:
    """Also one that no finding speaks of, such as a process that died."""
    dead = run(OPEN, scenario="mine/dead", ending="watchdog", ending_detail=("no end after 30 s",))
    report = small_report(run(PASS, finding(PASS)), dead)
    table = table_by(report, grouping)
    assert OPEN in [row.verdict for row in table.rows]


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_what_a_subject_wrote_is_not_obeyed(grouping: str) -> None:
    """An exception's name may hold anything."""
    report = raising("\x1b]0;owned\x07", "mine/one")
    assert "\x1b" not in "".join(
        cell for row in table_by(report, grouping).rows for cell in row.cells
    )
