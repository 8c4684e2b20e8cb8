"""A gate is told with what stands against it first, and never makes a failure look green."""

from __future__ import annotations

from faultclock.model.report.finding import Verdict
from faultclock.render.gate import deviation_words, gate_lines, make_gate
from faultclock.render.html_text import html_report
from tests.history.drawn import SCENARIOS, TODAY, deviation, finding, report_of, run
from tests.render.sample_gate import gated_report

FAIL, PASS = Verdict.FAIL, Verdict.PASS


def test_a_report_without_a_baseline_says_nothing_of_a_gate() -> None:
    """It is as it was before there were gates."""
    report = report_of([run(SCENARIOS[0], finding(PASS))])
    assert make_gate(report) is None
    assert list(gate_lines(report)) == []
    assert 'id="gate"' not in html_report(report)


def test_what_shuts_a_gate_comes_before_what_is_known() -> None:
    """Regressions first of all."""
    view = make_gate(gated_report())
    assert view is not None
    assert [item.key for item in view.lists] == [
        "regressions",
        "passing",
        "overdue",
        "missing",
        "known",
    ]
    assert view.verdict is FAIL
    assert view.headline.startswith("shut, because something fails that is not known, ")


def test_an_entry_is_told_with_its_reason_owner_and_last_day() -> None:
    """Whoever reads it knows whom to ask."""
    lines = list(gate_lines(gated_report()))
    assert lines[0].startswith("gate faultclock-baseline.yaml on 2026-11-22: shut")
    assert (
        "    rate-limits/no-header: backoff.wait; the SDK has a schedule of its own"
        " (platform team, until 2027-03-31)"
    ) in lines
    assert not any("no-header" in line for line in gate_lines(gated_report(), known=False))


def test_the_page_shows_the_gate_and_stays_a_failure() -> None:
    """Its headline is that of the verdict, whatever is known."""
    page = html_report(gated_report())
    assert '<section id="gate"' in page
    assert "does not conform to" in page
    assert "<td>platform team</td><td>2027-03-31</td>" in page
    assert "no date but the one that the gate was given" in page


def test_an_entry_names_variant_and_sentence() -> None:
    """In the words of the file."""
    entry = deviation(variant="x=1", requirement="R-1", expires=TODAY)
    assert deviation_words(entry) == "f/one (x=1): backoff.wait (R-1)"
