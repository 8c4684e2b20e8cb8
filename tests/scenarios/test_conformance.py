"""The shipped scenarios judged: what conforms passes each of them, and an SDK fails where it must.

The command is run as a person runs it, in a process of its own: the simulation is not installed
into the process of the tests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model, model_ids
from tests.cli.process import process
from tests.warm.listing import all_scenarios

#: Subjects that conform: id, role, and the model by which they do.
REFERENCES = [
    ("reference-common", "provider_adapter", "common"),
    ("reference-common-passing-on", "provider_adapter", "common"),
    ("reference-runtime", "runtime", "common"),
    ("reference-tool", "tool", "common"),
    ("reference-extension", "extension", "common"),
    ("reference-store", "session_store", "common"),
    ("reference", "provider_adapter", "stud-cli"),
    ("reference-sync", "provider_adapter", "stud-cli"),
    ("reference-own-policy", "provider_adapter", "stud-cli"),
    ("openai-stud", "provider_adapter", "stud-cli"),
    ("reference-runtime", "runtime", "stud-cli"),
    ("reference-tool", "tool", "stud-cli"),
    ("reference-extension", "extension", "stud-cli"),
    ("reference-store", "session_store", "stud-cli"),
    ("reference-relavium", "runtime", "relavium"),
    ("reference-afk", "runtime", "afk"),
    ("reference-kode-sdk", "runtime", "kode-sdk"),
    ("reference-error-matrix", "runtime", "error-matrix"),
]

#: Right as well, and with an effect that could be repeated: it is for some scenarios only.
EXERCISING = [*REFERENCES, ("reference-acting-tool", "tool", "common")]

#: What a subject comes to in the scenarios that these words select.
Reports = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def report_of() -> Reports:
    """Return how a report is had: of each but one is made."""

    @cache
    def report_of(*words: str, subject: str) -> dict[str, Any]:
        # Its runs may share a process: what each leaves behind is another test's question.
        options = ("--subject", subject, "--json", "-", "--quiet", "--inline")
        done = process(Path.cwd(), "run", *words, *options)
        assert done.stdout, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    return report_of


@pytest.mark.parametrize(("subject", "role", "model"), REFERENCES)
def test_what_follows_the_document_passes_every_scenario_of_its_role(
    report_of: Reports, subject: str, role: str, model: str
) -> None:
    """No scenario asks for more than the document, and each fault of each of them is met."""
    report = report_of("--model", model, subject=subject)
    bad = {run["scenario"]: run["verdict"] for run in report["runs"] if run["verdict"] != "PASS"}
    assert bad == {}
    assert report["verdict"] == "PASS"
    wanted = {
        item.scenario.id
        for item in all_scenarios()
        if item.scenario.role == role and model in (item.scenario.models or (model,))
    }
    # What only other APIs can say is played by the clients of those.
    unsaid = {
        item["scenario"]
        for item in report["passed_over"]
        if item["because"].startswith("it is in the dialect anthropic-messages")
    }
    assert len(unsaid) <= 2
    # What is about tools of an MCP server is played by the agents of frameworks that have them.
    unsaid |= {id_ for id_ in wanted if id_.startswith("mcp/")}
    assert {run["scenario"] for run in report["runs"]} == wanted - unsaid


@pytest.mark.parametrize("model", model_ids())
def test_every_sentence_that_has_checks_is_exercised_by_a_scenario(
    report_of: Reports, model: str
) -> None:
    """A requirement that no shipped scenario reaches could be broken by everyone."""
    statuses: dict[str, set[str]] = {}
    for subject, _, own in EXERCISING:
        if own == model:
            report = report_of("--model", model, subject=subject)
            for item in report["coverage"]:
                statuses.setdefault(item["id"], set()).add(item["status"])
    wanted = {item.id for item in load_error_model(model).requirements if item.checks}
    assert sorted(id_ for id_ in wanted if "tested" not in statuses[id_]) == []


@pytest.mark.parametrize("subject", ["openai-async", "openai-sync"])
def test_the_sdk_as_it_is_fails_and_is_never_inconclusive(report_of: Reports, subject: str) -> None:
    """Each run says something about it: that it is right, or where it differs."""
    words = ("rate-limits", "provider-transient/healthy-call", "--model", "stud-cli")
    report = report_of(*words, subject=subject)
    verdicts = Counter(run["verdict"] for run in report["runs"])
    assert set(verdicts) == {"PASS", "FAIL"}
    passed = {run["scenario"] for run in report["runs"] if run["verdict"] == "PASS"}
    assert {"provider-transient/healthy-call", "rate-limits/retry-after-integer"} <= passed
    failed = {run["scenario"] for run in report["runs"] if run["verdict"] == "FAIL"}
    assert {"rate-limits/retry-after-huge", "rate-limits/six-failures-then-terminal"} <= failed
    checks = {
        finding["check"]
        for run in report["runs"]
        for finding in run["findings"]
        if finding["verdict"] == "FAIL"
    }
    assert {"backoff.wait", "backoff.attempts", "classification.declared"} <= checks
