"""An update opens the gate for what fails today, and puts nothing off by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.errors import InputError
from faultclock.history.gate.baseline import gated
from faultclock.history.gate.update import Update, Words, updated
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.gate import Baseline, Deviation, included_twice
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

WORDS = Words(reason="found today", owner="team", expires=TODAY + timedelta(days=60))
FAIL, PASS = Verdict.FAIL, Verdict.PASS
LATE = TODAY - timedelta(days=1)


def held(report: Report, baseline: Baseline) -> Report:
    """Return the report beside a baseline."""
    return gated(report, baseline, file="b.yaml", today=TODAY, known_scenarios=KNOWN)


def update_of(report: Report, *entries: Deviation, words: Words | None = WORDS) -> Update:
    """Return what an update of these entries comes to."""
    baseline = Baseline(subject="s", model="stud-cli", deviations=entries)
    return updated(held(report, baseline), baseline, words)


def applied(baseline: Baseline, update: Update, words: Words) -> Baseline:
    """Return the baseline that the update leads to."""
    gone = {item.index for item in update.removed}
    renewed = {index for index, _ in update.renewed}
    kept = [
        item.model_copy(update={"expires": words.expires}) if index in renewed else item
        for index, item in enumerate(baseline.deviations)
        if index not in gone
    ]
    return baseline.model_copy(update={"deviations": (*kept, *update.added)})


def test_new_failures_become_one_entry_for_all_seeds_and_crash_points() -> None:
    """With the words that a person said of them, in the order of the scenarios."""
    report = report_of(
        [
            *(run(SCENARIOS[1], finding(FAIL), seed=seed) for seed in range(3)),
            run(SCENARIOS[0], finding(FAIL), variant="x=1, crash after event 3"),
            run(SCENARIOS[0], finding(FAIL), variant="x=1"),
        ]
    )
    first, second = update_of(report).added
    assert (first.scenario, first.variant) == (SCENARIOS[0], "x=1")
    assert (second.scenario, second.variant) == (SCENARIOS[1], None)
    assert (first.reason, first.owner, first.expires) == ("found today", "team", WORDS.expires)


def test_the_widest_of_new_entries_is_the_only_one() -> None:
    """A failure without a sentence is about the check, and so covers those with one."""
    report = report_of([run(SCENARIOS[0], finding(FAIL), finding(FAIL, requirement="R-1"))])
    (entry,) = update_of(report).added
    assert entry.requirement is None


def test_what_passes_or_names_nothing_goes() -> None:
    """Each with its reason; what was not run stays."""
    entries = (deviation(), deviation("f/gone"), deviation(SCENARIOS[2]))
    update = update_of(report_of([run(SCENARIOS[0], finding(PASS))]), *entries, words=None)
    assert [(item.index, item.because) for item in update.removed] == [
        (0, "passes now"),
        (1, "does not exist"),
    ]


def test_an_overdue_entry_is_put_off_only_by_name() -> None:
    """Otherwise it is told, and the gate stays shut."""
    report = report_of([run(SCENARIOS[0], finding(FAIL))])
    late = deviation(expires=LATE)
    update = update_of(report, late)
    assert update.is_empty
    assert update.overdue == (late,)
    baseline = Baseline(subject="s", model="stud-cli", deviations=(late,))
    only_a_day = Words(reason="", owner="", expires=WORDS.expires)
    renewed = updated(held(report, baseline), baseline, only_a_day, renew=True)
    assert renewed.renewed == ((0, late),)
    assert renewed.overdue == ()


def test_an_overdue_entry_that_was_not_run_is_not_put_off() -> None:
    """Nobody knows whether it still fails."""
    late = deviation(SCENARIOS[2], expires=LATE)
    baseline = Baseline(subject="s", model="stud-cli", deviations=(late,))
    report = report_of([run(SCENARIOS[0], finding(PASS))])
    update = updated(held(report, baseline), baseline, WORDS, renew=True)
    assert (update.renewed, update.overdue) == ((), (late,))


def test_new_entries_need_words() -> None:
    """A deviation without a reason and somebody who answers for it is a secret."""
    report = report_of([run(SCENARIOS[0], finding(FAIL), finding(FAIL, CHECKS[1]))])
    with pytest.raises(InputError, match="2 new entries, without a reason"):
        update_of(report, words=None)


def test_a_last_day_that_is_over_is_refused() -> None:
    """The gate would be shut by the new entry itself."""
    words = Words(reason="r", owner="o", expires=LATE)
    with pytest.raises(InputError, match="is over: today is"):
        update_of(report_of([run(SCENARIOS[0], finding(FAIL))]), words=words)
    today = Words(reason="r", owner="o", expires=TODAY)
    assert update_of(report_of([run(SCENARIOS[0], finding(FAIL))]), words=today).added


def test_a_report_that_does_not_name_scenarios_of_seeds_is_refused() -> None:
    """An entry has to name one."""
    report = report_of([run(SCENARIOS[0], finding(PASS))], [finding(FAIL)])
    with pytest.raises(InputError, match="make the report again"):
        update_of(report)


@settings(max_examples=50)
@given(reports(), baselines(), st.booleans())
def test_after_an_update_only_what_is_overdue_shuts_the_gate(
    report: Report, baseline: Baseline, renew: bool
) -> None:
    """Nothing is said twice, and a second update has nothing to do."""
    update = updated(held(report, baseline), baseline, WORDS, renew=renew)
    new = applied(baseline, update, WORDS)
    assert included_twice(new.deviations) == ()
    gate = held(report, new).gate
    assert gate is not None
    assert (gate.passing, gate.missing) == ((), ())
    assert gate.overdue == update.overdue
    assert gate.is_open or update.overdue
    assert updated(held(report, new), new, None).is_empty


@settings(max_examples=50)
@given(reports(), baselines())
def test_no_last_day_moves_without_being_asked(report: Report, baseline: Baseline) -> None:
    """What stays is as it was."""
    update = updated(held(report, baseline), baseline, WORDS)
    assert update.renewed == ()
    kept = {item.model_dump_json() for item in applied(baseline, update, WORDS).deviations}
    gone = {item.entry.model_dump_json() for item in update.removed}
    assert all(item.model_dump_json() in kept | gone for item in baseline.deviations)
