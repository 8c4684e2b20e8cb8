"""What is not green, once each: nothing is left out, and the same is the same tomorrow."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.report.finding import Report, SourcePlace, Verdict
from faultclock.model.report.gate import KnownDeviation
from faultclock.render.notices import Gravity, gravities, notices, uri_of
from tests.render import sample_report as sample
from tests.render.sample_gate import SOURCE, deviation, gated_report


def keys(report: Report) -> list[tuple[str, str]]:
    """Return scenario and rule of each notice."""
    return [(notice.subject, notice.rule) for notice in notices(report)]


def test_one_deviation_in_many_seeds_is_one_notice() -> None:
    """It says in how many runs; its findings are all there."""
    (wait, attempts) = notices(sample.report([sample.sdk_schedule(seed) for seed in range(5)]))
    assert (wait.rule, attempts.rule) == ("backoff.wait", "backoff.attempts")
    assert wait.summary.endswith("(in 5 runs)")
    assert len(wait.showings) == 10


def test_cells_of_a_matrix_are_told_apart_and_crash_points_are_not() -> None:
    """A cell is a behaviour of its own; a sweep shows one behaviour a hundred times."""
    run = sample.quota_retried()
    variants = ("a=1", "a=2", "a=2, crash after event 4", "crash after event 9", None)
    runs = [run.model_copy(update={"variant": name}) for name in variants]
    assert [name for name, _ in keys(sample.report(runs))] == [
        f"{run.scenario} [a=1]",
        f"{run.scenario} [a=2]",
        run.scenario,
    ]


def test_a_fingerprint_knows_neither_seed_nor_line_nor_words() -> None:
    """So that an alert that was looked at stays the same alert."""

    def prints(report: Report) -> set[str]:
        return {notice.fingerprint for notice in notices(report)}

    first = sample.report([sample.sdk_schedule(0)], source=SOURCE)
    moved = SourcePlace(file="elsewhere.py", line=99)
    assert prints(first) == prints(sample.report([sample.sdk_schedule(7)], source=moved))
    assert len(prints(first)) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"subject": sample.reference_report().subject},
        {"runs": (sample.sdk_schedule().model_copy(update={"scenario": "a/b"}),)},
        {"runs": (sample.sdk_schedule().model_copy(update={"variant": "a=1"}),)},
    ],
)
def test_a_fingerprint_tells_models_subjects_scenarios_and_cells_apart(
    change: dict[str, Any],
) -> None:
    """Reports of several subjects are shown together."""
    report = sample.report([sample.sdk_schedule()])
    before = {notice.fingerprint for notice in notices(report)}
    after = {notice.fingerprint for notice in notices(report.model_copy(update=change))}
    assert not before & after


def test_fingerprints_are_unique_within_a_report() -> None:
    """GitLab shows only the first entry of each."""
    for report in (sample.sdk_report(), sample.hostile_report(), gated_report()):
        prints = [notice.fingerprint for notice in notices(report)]
        assert len(set(prints)) == len(prints)


def test_what_the_baseline_knows_is_known_and_the_rest_is_new() -> None:
    """Nothing that fails is left out because it is known."""
    found = {(item.scenario, item.rule): item for item in notices(gated_report())}
    known = found["rate-limits/no-header", "backoff.wait"]
    assert known.gravity is Gravity.KNOWN
    assert known.known is not None
    assert known.known.owner == "platform team"
    new = found["rate-limits/quota-is-not-a-rate-limit", "classification.disposition"]
    assert (new.gravity, new.is_new) == (Gravity.FAILS, True)
    assert gravities(found.values()) == {
        Gravity.FAILS: 4,
        Gravity.OPEN: 1,
        Gravity.WARNS: 1,
        Gravity.KNOWN: 2,
    }


def test_a_deviation_that_is_known_in_some_runs_only_is_not_known() -> None:
    """The worst is told: one crash point that nobody decided about is new."""
    run = sample.quota_retried()
    points = ("crash after event 4", "crash after event 9")
    runs = tuple(run.model_copy(update={"variant": name}) for name in points)
    report = gated_report()
    assert report.gate is not None
    entry = deviation(run.scenario, "classification.disposition", variant=points[0])
    known = (KnownDeviation(deviation=entry, findings=()),)
    gate = report.gate.model_copy(update={"known": known})
    (notice, *_) = notices(report.model_copy(update={"runs": runs, "gate": gate}))
    assert (notice.rule, notice.gravity) == ("classification.disposition", Gravity.FAILS)
    assert [item.run.variant for item in notice.showings if item.run] == [points[1]]


def test_a_finding_without_an_id_can_be_known() -> None:
    """What was recorded in real time has none."""
    report = gated_report()
    runs = (sample.sdk_schedule(),)
    assert not any(item.id for item in runs[0].findings)
    found = notices(report.model_copy(update={"runs": runs}))
    known = {notice.rule for notice in found if notice.gravity is Gravity.KNOWN}
    assert known == {"backoff.wait", "backoff.attempts"}


def test_an_entry_of_the_baseline_that_is_not_so_stands_at_its_file() -> None:
    """That is where it is mended, also where two entries are alike."""
    report = gated_report()
    assert report.gate is not None
    twice = (deviation("a/b", "c"), deviation("a/b", "c"))
    gate = report.gate.model_copy(update={"missing": twice})
    found = [
        notice
        for notice in notices(report.model_copy(update={"gate": gate}))
        if notice.rule.startswith("baseline.")
    ]
    assert [notice.rule for notice in found] == [
        "baseline.passing",
        "baseline.missing",
        "baseline.missing",
        "baseline.overdue",
    ]
    assert {notice.place.file for notice in found if notice.place} == {"faultclock-baseline.yaml"}
    assert len({notice.fingerprint for notice in found}) == 4
    assert "was to be over by 2026-10-01" in found[-1].summary


@pytest.mark.parametrize("file", ["/etc/b.yaml", "../b.yaml", "~/b.yaml", "C:\\b.yaml", ""])
def test_a_file_outside_of_the_working_folder_is_no_place(file: str) -> None:
    """A report names no absolute path, and servers know no other folder."""
    report = sample.report([sample.sdk_schedule()], scenario_files={"rate-limits/no-header": file})
    assert {notice.place for notice in notices(report)} == {None}


def test_without_a_file_of_the_subject_the_scenarios_own_is_the_place() -> None:
    """A shipped subject in a person's scenario is shown at that scenario."""
    files = {"rate-limits/no-header": "scenarios/mine.yaml"}
    report = sample.report([sample.sdk_schedule()], scenario_files=files)
    assert {notice.place for notice in notices(report)} == {
        SourcePlace(file="scenarios/mine.yaml", line=1)
    }


def test_a_report_that_is_not_green_has_a_notice() -> None:
    """Nothing was run, nothing was judged, or a run ended without a finding that says so."""
    (empty,) = notices(sample.empty_report())
    assert (empty.rule, empty.gravity) == ("report.empty", Gravity.OPEN)
    unjudged = sample.report([sample.nothing_applicable()])
    assert unjudged.verdict is Verdict.INCONCLUSIVE
    assert [notice.summary for notice in notices(unjudged)] == [
        "nothing was judged, so nothing is proved"
    ]
    hung = sample.hung().model_copy(update={"findings": ()})
    (silent,) = notices(sample.report([hung, hung]))
    assert (silent.rule, silent.gravity) == ("report.run", Gravity.OPEN)
    assert "ended by deadlock" in silent.summary


def test_a_green_report_has_none() -> None:
    """A warning is one, a pass is not."""
    assert notices(sample.reference_report()) == ()
    (warning,) = notices(sample.report([sample.late_date()]))
    assert warning.gravity is Gravity.WARNS


def test_a_place_is_a_relative_uri() -> None:
    """Spaces, percent signs and other scripts are written as URIs write them."""
    place = SourcePlace(file="my folder/100%/é#?.py", line=1)
    assert uri_of(place) == "my%20folder/100%25/%C3%A9%23%3F.py"
