"""JSON: canonical, whole, and readable again."""

from __future__ import annotations

import json

import pytest

from faultclock.model.report.finding import Report
from faultclock.render.json_text import json_digest, json_report
from tests.render import sample_report as sample


@pytest.mark.parametrize(
    "report",
    [
        sample.sdk_report(),
        sample.reference_report(),
        sample.empty_report(),
        sample.hostile_report(),
    ],
    ids=["sdk", "reference", "empty", "hostile"],
)
def test_a_report_survives_the_round_trip(report: Report) -> None:
    """What is written is read back as an equal value, whatever its texts hold."""
    text = json_report(report)
    assert Report.model_validate_json(text) == report
    assert json_report(Report.model_validate_json(text)) == text


def test_the_text_is_canonical() -> None:
    """Sorted keys, ASCII, no white space, one newline, and its format is named."""
    text = json_report(sample.hostile_report())
    value = json.loads(text)
    assert value["format"] == 1
    assert text.isascii()
    assert text == json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def test_equal_facts_have_equal_digests() -> None:
    """A digest of the text is a digest of the facts."""
    assert json_digest(sample.sdk_report()) == json_digest(sample.sdk_report())
    assert json_digest(sample.sdk_report()) != json_digest(sample.empty_report())
