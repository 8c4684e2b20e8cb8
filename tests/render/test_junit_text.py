"""JUnit XML: parses back, and nothing unearned is green."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml, TestSuite
from junitparser.xunit2 import TestCase
from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.render.junit_text import junit_report
from tests.render import sample_report as sample
from tests.render.sample_gate import gated_report


def cases(report: Report) -> Iterator[tuple[TestSuite, TestCase]]:
    """Parse the rendered report with junitparser."""
    for suite in JUnitXml.fromstring(junit_report(report).encode()):
        for case in suite:
            yield suite, TestCase.fromelem(case)


def only_case(run: RunReport) -> TestCase:
    """Return the testcase of a run: the first, where its report has another for the whole."""
    (_, case), *_ = cases(sample.report([run]))
    return case


def test_one_testcase_per_run_with_family_and_seed() -> None:
    """A build server shows the family as the class, the id and the seed as the name."""
    found = list(cases(sample.sdk_report()))
    assert len(found) == 10 + 2
    suite, case = found[0]
    assert (suite.name, case.classname) == ("rate-limits", "rate-limits")
    assert case.name == "rate-limits/no-header seed 0"


def test_a_failure_holds_what_is_needed_to_act() -> None:
    """Expected, observed, place and the replay command are in the text."""
    case = only_case(sample.sdk_schedule())
    (failure,) = case.result
    assert case.is_failure
    for words in ("expected: retry 1", "observed: it started", "place: Error Model", "replay: fau"):
        assert words in failure.text
    assert failure.message.endswith("(and 2 more)")


def test_an_inconclusive_run_is_an_error_with_its_waits() -> None:
    """A deadlock is never a pass, and says what everybody waits for."""
    case = only_case(sample.hung())
    assert case.is_error
    assert "deadlock" in case.result[0].text
    assert "my_adapter.py:41" in case.result[0].text


def test_a_run_that_does_not_apply_is_skipped() -> None:
    """Nothing was judged, so nothing is green; the reasons are given."""
    case = only_case(sample.nothing_applicable())
    assert case.is_skipped
    assert "no attempt failed" in case.result[0].text


def test_a_warning_passes_and_says_so() -> None:
    """A SHOULD is no MUST, but it is told."""
    case = only_case(sample.late_date())
    assert case.is_passed
    assert "WARN backoff.retry-after" in case.system_out
    assert "NOT_APPLICABLE wrapping.identity" in case.system_out


def test_virtual_time_is_told_and_wall_time_is_zero() -> None:
    """JUnit's time means wall time, which a report must not hold."""
    case = only_case(sample.retry_after())
    lines = case.system_out.splitlines()
    assert case.time == 0
    assert "virtual seconds: 7.240000000" in lines
    assert "verdict: PASS" in lines
    assert f"trace digest: {sample.retry_after().trace_digest}" in lines


def test_a_known_deviation_is_skipped_with_its_reason() -> None:
    """It does not fail the build, and it is not green: it says who decided what until when."""
    found = {case.name: case for _, case in cases(gated_report())}
    known = found["rate-limits/no-header seed 0"]
    assert known.is_skipped
    assert "known until 2027-03-31: the SDK has a schedule of its own" in known.result[0].message
    assert "FAIL backoff.wait" in known.system_out
    assert found["rate-limits/quota-is-not-a-rate-limit seed 0"].is_failure
    assert found["rate-limits/lost-wakeup seed 0"].is_error


def test_what_is_not_known_fails_beside_what_is() -> None:
    """The failure tells of what is new; what is known stands on the standard output."""
    report = gated_report()
    assert report.gate is not None
    gate = report.gate.model_copy(update={"known": report.gate.known[:1]})
    found = {case.name: case for _, case in cases(report.model_copy(update={"gate": gate}))}
    case = found["rate-limits/no-header seed 0"]
    assert case.is_failure
    assert case.result[0].message.startswith("backoff.attempts: 3 attempts")
    assert "backoff.wait" not in case.result[0].text
    assert "FAIL backoff.wait" in case.system_out


def test_an_inconclusive_finding_is_not_hidden_by_a_known_one() -> None:
    """A deviation that was decided must not make a run green that proves nothing."""
    report = gated_report()
    assert report.gate is not None
    run = report.runs[0]
    (lost,) = (item for item in report.runs[3].findings if item.verdict is Verdict.INCONCLUSIVE)
    mixed = run.model_copy(update={"findings": (*run.findings, lost)})
    (_, case), *_ = cases(report.model_copy(update={"runs": (mixed,)}))
    assert case.is_error


def test_an_entry_of_the_baseline_that_is_not_so_fails() -> None:
    """What passes, does not exist or is overdue keeps the gate shut, so the build shows it."""
    found = [case for suite, case in cases(gated_report()) if suite.name == "baseline"]
    assert [case.name.split()[0] for case in found] == [
        "baseline.passing",
        "baseline.missing",
        "baseline.overdue",
    ]
    assert all(case.is_failure for case in found)


def test_what_xml_cannot_hold_is_replaced() -> None:
    """Two code points are no characters of XML, and no escape of it names them."""
    run = sample.retry_after().model_copy(update={"variant": "a\ufffeb\uffffc"})
    ((_, case),) = cases(sample.report([run]))
    assert "[a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c]" in case.name


def test_no_two_runs_of_a_matrix_have_one_name() -> None:
    """Servers follow a test by its name."""
    run = sample.retry_after()
    variants = [run.model_copy(update={"variant": name}) for name in ("a=1", "a=2")]
    names = [case.name for _, case in cases(sample.report(variants))]
    assert names == [f"{run.scenario} [{name}] seed 0" for name in ("a=1", "a=2")]


def test_verdicts_across_seeds_are_testcases_too() -> None:
    """A constant jitter fails the build although each run passes alone."""
    verdicts = [case for suite, case in cases(sample.sdk_report()) if suite.name == "seeds"]
    assert [case.is_failure for case in verdicts] == [True, False]


def test_a_report_of_nothing_is_an_error() -> None:
    """A build that ran nothing is not green."""
    ((_, case),) = cases(sample.empty_report())
    assert case.is_error


def test_a_report_in_which_nothing_was_judged_is_an_error() -> None:
    """Every run of it is skipped, and servers show skipped cases as green."""
    run = sample.retry_after().model_copy(
        update={"verdict": Verdict.NOT_APPLICABLE, "findings": ()}
    )
    changes = {"runs": (run,), "seeds_findings": (), "verdict": Verdict.INCONCLUSIVE}
    skipped, error = (case for _, case in cases(sample.sdk_report().model_copy(update=changes)))
    assert skipped.is_skipped
    assert error.is_error


@pytest.mark.parametrize("report", [sample.hostile_report(), sample.large_report(12)])
def test_the_file_is_well_formed_xml(report: Report) -> None:
    """No text of a subject can break the file, whatever characters it holds."""
    text = junit_report(report)
    ElementTree.fromstring(text.encode())
    assert "\x1b" not in text


def test_totals_agree_with_the_cases() -> None:
    """The counters that a server shows first are those of the cases below them."""
    for suite in JUnitXml.fromstring(junit_report(sample.sdk_report()).encode()):
        found = [TestCase.fromelem(case) for case in suite]
        assert suite.tests == len(found)
        assert suite.failures == sum(case.is_failure for case in found)
        assert suite.errors == sum(case.is_error for case in found)


def test_no_verdict_but_pass_and_warn_is_green() -> None:
    """The mapping as a whole: only what was earned passes."""
    run = sample.retry_after()
    green = {
        verdict
        for verdict in Verdict
        if only_case(run.model_copy(update={"verdict": verdict})).is_passed
    }
    assert green == {Verdict.PASS, Verdict.WARN}


def test_the_text_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of the format is seen before it is shipped."""
    report = sample.report([sample.sdk_schedule(), sample.retry_after(), sample.hung()])
    assert junit_report(report) == snapshot
