"""The shipped scenarios judged: what conforms passes each of them, and an SDK fails where it must.

The command is run as a person runs it, in a process of its own: the simulation is not installed
into the process of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from harness.load.scenario import find_scenarios


def _report(subject: str, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "harness.cli", "run", *words, "--subject", subject]
    done = subprocess.run(
        [*command, "--json", "-", "--quiet", "--jobs", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    ("subject", "role"),
    [
        ("reference", "provider_adapter"),
        ("reference-runtime", "runtime"),
        ("reference-tool", "tool"),
        ("reference-extension", "extension"),
    ],
)
def test_what_follows_the_document_passes_every_scenario_of_its_role(
    subject: str, role: str
) -> None:
    """No scenario asks for more than the document, and each fault of each of them is met."""
    report = _report(subject, "--no-crash-everywhere")
    bad = {run["scenario"]: run["verdict"] for run in report["runs"] if run["verdict"] != "PASS"}
    assert bad == {}
    assert report["verdict"] == "PASS"
    of_the_role = {item.scenario.id for item in find_scenarios() if item.scenario.role == role}
    assert {run["scenario"] for run in report["runs"]} == of_the_role


@pytest.mark.parametrize("subject", ["openai-async", "openai-sync"])
def test_the_sdk_as_it_is_fails_and_is_never_inconclusive(subject: str) -> None:
    """Each run says something about it: that it is right, or where it differs."""
    report = _report(subject)
    verdicts = Counter(run["verdict"] for run in report["runs"])
    assert set(verdicts) == {"PASS", "FAIL"}
    passed = {run["scenario"] for run in report["runs"] if run["verdict"] == "PASS"}
    assert {"provider-transient/healthy-call", "rate-limits/retry-after-integer"} <= passed
    failed = {run["scenario"] for run in report["runs"] if run["verdict"] == "FAIL"}
    assert {"rate-limits/retry-after-huge", "rate-limits/six-failures-then-terminal"} <= failed
