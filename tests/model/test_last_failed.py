"""The record of what was not green changes with each run, and only by what was run."""

from __future__ import annotations

from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.last_failed import LastFailed
from tests.cli.reports import finding, run, small_report

FAIL, PASS, OPEN = Verdict.FAIL, Verdict.PASS, Verdict.INCONCLUSIVE


def after(record: LastFailed, report: Report, **changes: object) -> LastFailed:
    """Return the record after `report`."""
    return record.after(report, **({"subject": "client.py:ask", "files": {}} | changes))  # type: ignore[arg-type]


def seeds(record: LastFailed) -> dict[str, tuple[int, ...]]:
    """Return the recorded seeds of each scenario."""
    return {item.scenario: item.seeds for item in record.failed}


def test_what_failed_or_proved_nothing_is_recorded_with_its_seeds() -> None:
    """A warning is green enough, as it is for the exit code."""
    report = small_report(
        run(FAIL, seed=3),
        run(PASS, seed=4),
        run(OPEN, scenario="mine/two"),
        run(Verdict.WARN, scenario="mine/three"),
    )
    record = after(LastFailed(), report, files={"mine/two": "two.yaml"})
    assert seeds(record) == {"mine/one": (3,), "mine/two": (0,)}
    assert [item.file for item in record.failed] == [None, "two.yaml"]


def test_only_what_was_run_and_passed_is_taken_out() -> None:
    """A seed that nobody ran again is still one that failed."""
    record = after(LastFailed(), small_report(run(FAIL, seed=1), run(FAIL, seed=2)))
    record = after(record, small_report(run(PASS, seed=2), run(PASS, scenario="mine/other")))
    assert seeds(record) == {"mine/one": (1,)}
    assert after(record, small_report(run(PASS, seed=1))).failed == ()


def test_a_part_of_a_scenario_takes_nothing_out() -> None:
    """Without its crashes it may well pass."""
    record = after(LastFailed(), small_report(run(FAIL)))
    assert seeds(after(record, small_report(run(PASS)), forgets=False)) == {"mine/one": (0,)}


def test_a_verdict_on_all_seeds_is_one_on_each_of_them() -> None:
    """Jitter is missing in no single run."""
    flat = finding(FAIL, check="backoff.jitter", scenario="mine/one")
    report = small_report(
        run(PASS, seed=0), run(PASS, seed=1), verdict=FAIL, seeds_findings=(flat,)
    )
    assert seeds(after(LastFailed(), report)) == {"mine/one": (0, 1)}


def test_what_a_baseline_knows_is_not_recorded() -> None:
    """As an expected failure of pytest is none for --last-failed."""
    known = run(FAIL, finding(FAIL, id="F-1"))
    new = run(FAIL, finding(FAIL, id="F-1"), finding(FAIL, id="F-2"), scenario="mine/two")
    record = after(LastFailed(), small_report(known, new), known=frozenset({"F-1"}))
    assert seeds(record) == {"mine/two": (0,)}


def test_each_subject_and_model_has_its_own() -> None:
    """What one client mends says nothing of another."""
    record = after(LastFailed(), small_report(run(FAIL)))
    record = after(record, small_report(run(PASS)), subject="other.py:ask")
    assert list(record.of("client.py:ask", "stud-cli")) == [("mine/one", None)]
    assert record.of("client.py:ask", "common") == {}


def test_each_reading_has_its_own() -> None:
    """What is right under one reading says nothing of another."""
    record = after(LastFailed(), small_report(run(FAIL), readings={"jitter": "full"}))
    record = after(record, small_report(run(PASS)))
    assert record.of("client.py:ask", "stud-cli") == {}
    found = record.of("client.py:ask", "stud-cli", {"jitter": "full"})
    assert [item.seeds for item in found.values()] == [(0,)]


def test_a_verdict_on_all_seeds_is_not_taken_out_by_some_of_them() -> None:
    """Each seed passes by itself, so only all of them together prove anything."""
    flat = finding(FAIL, check="backoff.jitter", scenario="mine/one")
    both = (run(PASS, seed=0), run(PASS, seed=1))
    record = after(LastFailed(), small_report(*both, verdict=FAIL, seeds_findings=(flat,)))
    record = after(record, small_report(run(PASS, seed=0)))
    record = after(record, small_report(run(PASS, seed=1)))
    assert seeds(record) == {"mine/one": (0, 1)}
    assert seeds(after(record, small_report(*both))) == {}
