"""What a report says does not depend on where its runs are: in memory, or on disk."""

from __future__ import annotations

import io
from datetime import date

import pytest

from faultclock.cli.exits import exit_code_of
from faultclock.cli.report_options import FORMATS
from faultclock.cli.summary import write_summary
from faultclock.history.gate.baseline import gated
from faultclock.history.gate.merge import merged
from faultclock.load.run_log import RunLog
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.gate import Baseline, Deviation
from faultclock.model.report.last_failed import made_of
from faultclock.model.report.problems import problems_in
from faultclock.model.report.unproved import unproved_in
from faultclock.render.html_text import html_report
from tests.render import sample_report as sample

SAMPLES = ("sdk_report", "reference_report", "empty_report", "large_report", "hostile_report")


def pair(name: str) -> tuple[Report, Report]:
    """Return a sample with all its runs in memory, and with none."""
    held: Report = getattr(sample, name)()
    log = RunLog(held_max=0)
    for run in held.runs:
        log.add(run)
    return held, held.model_copy(update={"runs": log.runs()})


def text_of(report: Report, option: str) -> str:
    """Return what a format makes of a report."""
    made = next(item for item in FORMATS if item.option == option).function()(report)
    return made if isinstance(made, str) else "".join(made)


def summary(report: Report, grouping: str) -> str:
    """Return what a run says at its end."""
    out = io.StringIO()
    write_summary(report, written=(), wall_s=0, quiet=False, out=out, group_by=grouping)
    return out.getvalue()


def known(report: Report) -> Report:
    """Return a report beside a baseline that knows the first scenario that fails."""
    failing = [
        (run.scenario, finding.check)
        for run in report.runs
        for finding in run.findings
        if finding.verdict is Verdict.FAIL
    ]
    entries = tuple(
        Deviation(scenario=scenario, check=check, reason="r", owner="o", expires=date(2027, 1, 1))
        for scenario, check in dict.fromkeys(failing[:3])
    )
    baseline = Baseline(subject=report.subject.id, model=report.model, deviations=entries)
    return gated(report, baseline, file="known.yaml", today=date(2026, 1, 1), known_scenarios={})


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("option", [item.option for item in FORMATS])
def test_every_format_is_the_same_byte_for_byte(name: str, option: str) -> None:
    """Also the digest of the facts that a page holds."""
    held, stored = pair(name)
    assert text_of(stored, option) == text_of(held, option)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("grouping", ["scenario", "check", "exception", "cause"])
def test_every_table_is_the_same(name: str, grouping: str) -> None:
    """So are the exit code, the problems and what was not green."""
    held, stored = pair(name)
    assert summary(stored, grouping) == summary(held, grouping)
    assert exit_code_of(stored) == exit_code_of(held)
    assert problems_in(stored) == problems_in(held)
    assert unproved_in(stored) == unproved_in(held)
    assert made_of(stored) == made_of(held)


@pytest.mark.parametrize("name", ["sdk_report", "hostile_report"])
def test_a_gate_is_the_same(name: str) -> None:
    """With what it knows, and in a format that shows it."""
    held, stored = map(known, pair(name))
    assert stored.gate == held.gate
    assert held.gate is not None
    assert held.gate.known
    for option in ("junit", "sarif", "html"):
        assert text_of(stored, option) == text_of(held, option)


def test_a_merge_is_the_same() -> None:
    """Of parts on disk."""
    held, stored = pair("reference_report")
    assert merged({"a": stored}).model_dump_json() == merged({"a": held}).model_dump_json()


def test_a_page_lists_no_more_runs_than_anybody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst of them, and how many more there are."""
    monkeypatch.setattr("faultclock.render.sections._LISTED_MAX", 3)
    report = sample.sdk_report()
    run = report.runs[0]
    passed = run.model_copy(update={"verdict": Verdict.PASS, "findings": ()})
    runs = (*(passed.model_copy(update={"seed": seed}) for seed in range(9)), run)
    page = html_report(report.model_copy(update={"runs": runs}))
    assert "and 7 more: they are in the JSON report" in page
    listed = page.partition("All 10 ")[2].partition("</ul>")[0].split("<li>")[1:]
    assert len(listed) == 4
    assert "v-fail" in listed[0]
