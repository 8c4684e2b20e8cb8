"""JUnit XML: parses back, and nothing unearned is green."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml, TestSuite
from junitparser.xunit2 import TestCase
from syrupy.assertion import SnapshotAssertion

from harness.model.finding import Report, RunReport, Verdict
from harness.render import junit_report
from tests.render import sample_report as sample


def cases(report: Report) -> Iterator[tuple[TestSuite, TestCase]]:
    """Parse the rendered report with junitparser."""
    for suite in JUnitXml.fromstring(junit_report(report).encode()):
        for case in suite:
            yield suite, TestCase.fromelem(case)


def only_case(run: RunReport) -> TestCase:
    """Return the one testcase of a report of one run."""
    ((_, case),) = cases(sample.report([run]))
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


def test_virtual_time_is_a_property_and_wall_time_is_zero() -> None:
    """JUnit's time means wall time, which a report must not hold."""
    case = only_case(sample.retry_after())
    properties = {item.name: item.value for item in case.properties()}
    assert case.time == 0
    assert properties["virtual_seconds"] == "7.240000000"
    assert properties["verdict"] == "PASS"
    assert len(properties["trace_digest"]) == 64


def test_verdicts_across_seeds_are_testcases_too() -> None:
    """A constant jitter fails the build although each run passes alone."""
    verdicts = [case for suite, case in cases(sample.sdk_report()) if suite.name == "seeds"]
    assert [case.is_failure for case in verdicts] == [True, False]


def test_a_report_of_nothing_is_an_error() -> None:
    """A build that ran nothing is not green."""
    ((_, case),) = cases(sample.empty_report())
    assert case.is_error


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
