"""What a log writes down itself: its waits, classes and codes against the document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.foreign.log import foreign_trace
from faultclock.model.foreign_map import ForeignMap
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.judge import judge

MAP = ForeignMap.model_validate_json(
    json.dumps(
        {
            "id": "m",
            "title": "t",
            # A model in a file: any that is asked for.
            "model": "own.yaml",
            "source": "s",
            "name": "type",
            "events": {
                "retry": {
                    "error": {"class": "class", "code": "code"},
                    "retry": {"class": "class", "code": "code", "retry_number": "n", "delay": "ms"},
                },
                "end": {"call": "returned"},
            },
        }
    ),
    strict=True,
)
LIMITED = {"class": "ProviderTransient", "code": "RateLimited"}


def found(check: str, model: str = "stud-cli", **said: Any) -> Finding:
    """Return what a check says of one announced retry."""
    lines = [{"type": "retry", **said}, {"type": "end"}]
    content = "\n".join(map(json.dumps, lines)).encode()
    trace = foreign_trace(content, "log", MAP)
    findings = judge(load_error_model(model), trace).findings
    return next(item for item in findings if item.check == check)


@pytest.mark.parametrize(
    ("number", "delay_ms", "verdict", "requirement"),
    [
        (1, 5000, Verdict.PASS, "STUD-RATE-02"),
        (1, 4000, Verdict.PASS, "STUD-RATE-02"),
        ("1", "6000.0", Verdict.PASS, "STUD-RATE-02"),
        (1, 6100, Verdict.FAIL, "STUD-RATE-02"),
        (2, 5000, Verdict.FAIL, "STUD-RATE-02"),
        (6, 160_000, Verdict.FAIL, "STUD-RATE-03"),
    ],
)
def test_an_announced_wait_is_one_of_the_policy(
    number: object, delay_ms: object, verdict: Verdict, requirement: str
) -> None:
    """For that retry, with its jitter, and not one retry more than there may be."""
    finding = found("backoff.declared", **LIMITED, n=number, ms=delay_ms)
    assert finding.verdict is verdict
    assert finding.requirement == requirement


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({**LIMITED, "ms": 5}, "which retry it is"),
        ({**LIMITED, "n": 0.5, "ms": 5}, "which retry it is"),
        ({**LIMITED, "n": 1}, "how long it will wait"),
        ({"n": 1, "ms": 5}, "in the error model's words"),
        ({"class": "ProviderTransient", "n": 1, "ms": 5}, "in the error model's words"),
        ({"class": "Nope", "code": "X", "n": 1, "ms": 5}, "in the error model's words"),
        (
            {"class": "ToolTransient", "code": "ResourceBusy", "n": 1, "ms": 5},
            "the document has no retry policy for ToolTransient/ResourceBusy",
        ),
    ],
)
def test_what_a_log_leaves_out_is_not_judged(said: dict[str, Any], reason: str) -> None:
    """And the reason says what it is."""
    finding = found("backoff.declared", **said)
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert reason in finding.reason


def test_waits_that_a_node_declares_are_its_own() -> None:
    """The document gives no figure for them."""
    finding = found(
        "backoff.declared", "relavium", **{"class": "run"}, code="tool_failed", n=1, ms=1
    )
    assert finding.verdict is Verdict.NOT_APPLICABLE
    assert finding.reason == "how often and after what wait is the node's own affair"


def test_what_is_terminal_is_not_announced_again() -> None:
    """Whatever the wait."""
    finding = found(
        "backoff.declared", **{"class": "Validation"}, code="ShapeInvalid", n=1, ms=5000
    )
    assert finding.verdict is Verdict.FAIL
    assert finding.requirement == "STUD-CLASS-01"
    assert finding.expected == "no retry: Validation/ShapeInvalid is terminal"


@pytest.mark.parametrize(
    ("class_name", "code", "verdict", "requirement"),
    [
        ("ProviderTransient", "RateLimited", Verdict.PASS, "STUD-CLASS-02"),
        ("ProviderTransient", "Sad", Verdict.FAIL, "STUD-CLASS-02"),
        ("TypeError", "RateLimited", Verdict.FAIL, None),
        ("ProviderTransient", None, Verdict.NOT_APPLICABLE, None),
    ],
)
def test_a_class_and_a_code_are_ones_of_the_document(
    class_name: str, code: str | None, verdict: Verdict, requirement: str | None
) -> None:
    """An error that names no code is not judged here: the audience checks ask for one."""
    finding = found("classification.named", **{"class": class_name}, code=code, n=1, ms=5000)
    assert (finding.verdict, finding.requirement) == (verdict, requirement)


def test_a_log_that_has_no_announcements_says_so() -> None:
    """By its map it cannot have any."""
    silent = MAP.model_copy(update={"events": {"end": MAP.events["end"]}})
    trace = foreign_trace(b'{"type": "end"}', "log", silent)
    findings = {item.check: item for item in judge(load_error_model("stud-cli"), trace).findings}
    for check, kind in (
        ("backoff.declared", "declared.retry"),
        ("classification.named", "declared.error"),
    ):
        assert findings[check].verdict is Verdict.NOT_APPLICABLE
        assert findings[check].reason == (
            f"the log, as it is mapped, shows nothing of the kind {kind}"
        )
