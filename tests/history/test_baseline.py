"""A baseline excuses what it names and nothing else, and tells what is stale of itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings

from faultclock.errors import InputError
from faultclock.history.gate.baseline import gated
from faultclock.model.report.beside_baseline import standing
from faultclock.model.report.finding import PassedOver, Report, Verdict
from faultclock.model.report.gate import Baseline, Deviation, GateReport
from tests.history.drawn import (
    CHECKS,
    KNOWN,
    SCENARIOS,
    TODAY,
    baselines,
    deviation,
    finding,
    report_of,
    reports,
    run,
)

FAIL, PASS, WARN = Verdict.FAIL, Verdict.PASS, Verdict.WARN
INCONCLUSIVE, NOTHING = Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE
ONE, TWO, THREE = SCENARIOS
WAIT, JITTER, IDENTITY = CHECKS


def gate_of(report: Report, *entries: Deviation) -> GateReport:
    """Return what a report comes to beside these entries."""
    return held(report, Baseline(subject="s", model="stud-cli", deviations=entries))


def held(report: Report, baseline: Baseline) -> GateReport:
    """Return what a report comes to beside a baseline."""
    gate = gated(report, baseline, file="b.yaml", today=TODAY, known_scenarios=KNOWN).gate
    assert gate is not None
    return gate


def test_a_failure_that_is_named_is_known_whichever_seed_it_has() -> None:
    """Its findings are listed by their ids, and the report stays a failure."""
    runs = [run(ONE, finding(FAIL), finding(PASS, JITTER), seed=seed) for seed in (3, 4)]
    report = report_of(runs)
    gate = gate_of(report, deviation())
    assert gate.is_open
    assert gate.known[0].findings == (runs[0].findings[0].id, runs[1].findings[0].id)
    assert gate.known_ids == set(gate.known[0].findings)
    assert report.verdict is FAIL


def test_runs_that_stopped_at_a_known_failure_open_no_gate() -> None:
    """What would have come after it is not known; a failure that is new shuts the gate anyway."""
    cut = PassedOver(scenario="f/two", because="the run stopped", stopped=True)
    report = report_of([run(ONE, finding(FAIL))]).model_copy(update={"passed_over": (cut,)})
    with pytest.raises(InputError, match=r"is not complete: .* before f/two"):
        gate_of(report, deviation())
    assert not gate_of(report).is_open
    left_out = cut.model_copy(update={"stopped": False})
    whole = report.model_copy(update={"passed_over": (left_out,)})
    assert gate_of(whole, deviation()).is_open


def test_any_other_failure_is_a_regression() -> None:
    """Another check, scenario, sentence or variant is another thing."""
    report = report_of(
        [
            run(ONE, finding(FAIL, requirement="R-1"), variant="x=1", seed=7),
            run(TWO, finding(FAIL, JITTER)),
        ]
    )
    entries = (
        deviation(ONE, JITTER),
        deviation(TWO, WAIT),
        deviation(requirement="R-2"),
        deviation(variant="x=2"),
    )
    gate = gate_of(report, *entries)
    assert [(item.scenario, item.variant, item.seed) for item in gate.regressions] == [
        (ONE, "x=1", 7),
        (TWO, None, 0),
    ]
    assert gate.regressions[0].finding == report.runs[0].findings[0].id
    assert not gate.is_open


def test_a_verdict_over_seeds_can_be_known() -> None:
    """It names its scenario, and has an id like any finding."""
    over = finding(FAIL, JITTER, scenario=ONE)
    report = report_of([run(ONE, finding(PASS))], [over])
    assert gate_of(report).regressions[0].seed is None
    gate = gate_of(report, deviation(ONE, JITTER))
    assert gate.is_open
    assert gate.known_ids == {report.seeds_findings[0].id}


def test_an_entry_for_a_cell_covers_the_crash_points_of_its_sweep() -> None:
    """Events move; nobody could keep their numbers up to date."""
    report = report_of([run(ONE, finding(FAIL), variant="x=1, crash after event 3")])
    assert gate_of(report, deviation(variant="x=1")).is_open
    assert gate_of(report, deviation(variant="x=1, crash after event 3")).is_open
    assert gate_of(report, deviation(variant="x=1, crash after event 4")).missing


@pytest.mark.parametrize("verdict", [PASS, WARN])
def test_an_entry_whose_check_does_not_fail_any_more_shuts_the_gate(verdict: Verdict) -> None:
    """What is mended is to be taken from the list, or it could break again unseen."""
    gate = gate_of(report_of([run(ONE, finding(verdict))]), deviation())
    assert gate.passing == (deviation(),)
    assert not gate.is_open


@pytest.mark.parametrize("findings", [(), (NOTHING,), (INCONCLUSIVE,), (INCONCLUSIVE, PASS)])
def test_what_was_not_judged_is_not_passing(findings: tuple[Verdict, ...]) -> None:
    """Nothing is known of such an entry: it neither fails nor is it mended."""
    report = report_of([run(ONE, *map(finding, findings), finding(PASS, JITTER))])
    gate = gate_of(report, deviation())
    assert (gate.passing, gate.not_run) == ((), (deviation(),))
    assert gate.is_open


def test_what_is_inconclusive_is_never_known() -> None:
    """An entry for it changes nothing: the gate is open and the report still proves nothing."""
    report = report_of([run(ONE, finding(INCONCLUSIVE)), run(TWO, finding(FAIL))])
    gate = gated(
        report,
        Baseline(subject="s", model="stud-cli", deviations=(deviation(), deviation(TWO))),
        file="b.yaml",
        today=TODAY,
        known_scenarios=KNOWN,
    )
    assert gate.gate is not None
    assert gate.gate.is_open
    assert standing(gate) is INCONCLUSIVE


@pytest.mark.parametrize(
    "entry",
    [
        deviation("f/gone"),
        deviation(check="no.such-check"),
        deviation(requirement="R-9"),
        deviation(variant="x=9"),
        deviation(variant="x=9, crash after event 3"),
    ],
)
def test_an_entry_that_names_nothing_shuts_the_gate(entry: Deviation) -> None:
    """Whatever part of it does not exist."""
    assert gate_of(report_of([run(ONE, finding(PASS))]), entry).missing == (entry,)


@pytest.mark.parametrize(
    "entry", [deviation(THREE), deviation(THREE, variant="x=2"), deviation(THREE, JITTER)]
)
def test_an_entry_that_was_not_run_does_not_shut_the_gate(entry: Deviation) -> None:
    """A part of the scenarios is often run by itself."""
    gate = gate_of(report_of([run(ONE, finding(PASS))]), entry)
    assert gate.not_run == (entry,)
    assert gate.is_open


def test_an_entry_counts_on_its_last_day_and_not_after() -> None:
    """Then it covers nothing, and is told as overdue."""
    report = report_of([run(ONE, finding(FAIL))])
    last, late = deviation(expires=TODAY), deviation(expires=TODAY - timedelta(days=1))
    assert gate_of(report, last).is_open
    gate = gate_of(report, late)
    assert gate.overdue == (late,)
    assert gate.known_ids == frozenset()
    assert len(gate.regressions) == 1


@pytest.mark.parametrize(("field", "value"), [("subject", "other"), ("model", "afk")])
def test_a_baseline_of_something_else_is_refused(field: str, value: str) -> None:
    """It would excuse what nobody looked at."""
    baseline = Baseline(**({"subject": "s", "model": "stud-cli"} | {field: value}))
    with pytest.raises(InputError, match=f"b.yaml: this baseline is about .* {value}"):
        held(report_of([run(ONE, finding(PASS))]), baseline)


def test_an_entry_that_says_nothing_new_is_refused() -> None:
    """Of two entries for one thing, one would be forgotten."""
    entries = (deviation(requirement="R-1"), deviation())
    with pytest.raises(InputError, match="entry 1 repeats entry 2"):
        gate_of(report_of([run(ONE, finding(PASS))]), *entries)


@settings(max_examples=50)
@given(reports(), baselines())
def test_each_entry_is_in_one_list_and_each_failure_in_another(
    report: Report, baseline: Baseline
) -> None:
    """Nothing is lost between the lists, and nothing is told twice."""
    gate = held(report, baseline)
    lists = (gate.passing, gate.missing, gate.overdue, gate.not_run)
    entries = [*(item.deviation for item in gate.known), *(item for each in lists for item in each)]
    key = Deviation.model_dump_json
    assert sorted(entries, key=key) == sorted(baseline.deviations, key=key)
    failing = {
        item.id
        for item in (*(i for each in report.runs for i in each.findings), *report.seeds_findings)
        if item.verdict is FAIL
    }
    regressions = {item.finding for item in gate.regressions}
    assert regressions | gate.known_ids == failing
    assert not regressions & gate.known_ids


@settings(max_examples=50)
@given(reports())
def test_without_entries_the_gate_is_the_verdict(report: Report) -> None:
    """A gate takes something away only for an entry."""
    empty = Baseline(subject="s", model="stud-cli")
    made = gated(report, empty, file="b.yaml", today=TODAY, known_scenarios=KNOWN)
    assert standing(made) is standing(report) is report.verdict
