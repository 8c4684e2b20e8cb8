"""GitLab code quality: one entry for each deviation, with a severity and a place."""

from __future__ import annotations

import json
from typing import Any

from syrupy.assertion import SnapshotAssertion

from faultclock.model.report.finding import Report
from faultclock.render.gitlab_text import gitlab_report
from tests.render import sample_report as sample
from tests.render.ci_formats import code_quality_errors
from tests.render.sample_gate import gated_report


def entries(report: Report) -> list[dict[str, Any]]:
    """Return the entries of the file."""
    text = gitlab_report(report)
    assert code_quality_errors(text) == []
    return list(json.loads(text))


def test_severities_follow_the_verdicts() -> None:
    """What is known is information, and what proves nothing is worse than a warning."""
    found = {(item["check_name"], item["severity"]) for item in entries(gated_report())}
    assert found == {
        ("classification.disposition", "critical"),
        ("baseline.passing", "critical"),
        ("baseline.missing", "critical"),
        ("baseline.overdue", "critical"),
        ("evidence.faults-met", "major"),
        ("backoff.retry-after", "minor"),
        ("backoff.wait", "info"),
        ("backoff.attempts", "info"),
    }


def test_an_entry_stands_at_the_subject_or_under_the_name_of_its_scenario() -> None:
    """GitLab takes none without a path."""
    assert entries(gated_report())[0]["location"] == {
        "path": "adapters/my adapter.py",
        "lines": {"begin": 12},
    }
    assert entries(sample.sdk_report())[0]["location"]["path"] == "rate-limits/no-header"
    assert entries(sample.empty_report())[0]["location"]["path"] == "faultclock"


def test_a_description_is_one_line() -> None:
    """The widget shows one."""
    for item in entries(sample.hostile_report()):
        assert "\n" not in item["description"]


def test_a_green_report_is_an_empty_list() -> None:
    """GitLab then says that everything was mended."""
    assert entries(sample.reference_report()) == []


def test_the_text_is_as_recorded(snapshot: SnapshotAssertion) -> None:
    """A change of the format is seen before it is shipped."""
    assert gitlab_report(gated_report()) == snapshot
