"""The answer as a whole."""

from __future__ import annotations

import pytest

from faultclock.check.checkup import checkup_of
from faultclock.check.running import Runs
from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.gate import Deviation, GateReport, KnownDeviation
from faultclock.model.report.taken_for import TakenFor
from faultclock.model.trace.notes import RunNotes, WaitingPlace
from tests.check.samples import FRAME, finding, report, run

TAKEN = TakenFor(target="client.py:ask", kind="a function", because="", otherwise="")


def _checkup(of: Report) -> CheckUp:
    return checkup_of(Runs(report=of), taken_for=TAKEN, left_out=(), streams=True)


def test_what_proves_nothing_is_one_line_for_each_reason() -> None:
    """Twenty situations with one reason are one thing to read."""
    unmet = finding("T-RETRY-01", verdict=Verdict.INCONCLUSIVE, reason="no request met it")
    hung = finding("T-RETRY-01", verdict=Verdict.INCONCLUSIVE, reason="it ended by force")
    found = _checkup(report(run("one", unmet), run("two", unmet), run("three", hung)))
    assert found.inconclusive == (
        "Situation one and 1 more: no request met it",
        "Situation three: it ended by force",
    )
    assert found.problems == ()


def test_runs_that_did_not_end_come_first_by_the_line_that_did_not() -> None:
    """Whatever their scenarios are: the line is what there is to mend."""
    unmet = finding("T-RETRY-01", verdict=Verdict.INCONCLUSIVE, reason="no request met it")
    hung = finding("T-RETRY-01", verdict=Verdict.INCONCLUSIVE, reason="no end after 3 s")
    wait = WaitingPlace(call=None, from_ns=0, until_ns=None, frames=(FRAME,), hangs=True)
    ended = {"ending": "watchdog", "notes": RunNotes(waits=(wait,))}
    found = _checkup(report(run("one", unmet), run("two", hung, **ended)))
    assert found.inconclusive == (
        f"Situation two: it did not end in real time, at client.py:14: {FRAME.code}",
        "Situation one: no request met it",
    )


def test_what_a_baseline_knows_is_marked() -> None:
    """The problem is still there, and changes no exit code."""
    told = finding("T-RETRY-01", "again")
    entry = Deviation(
        scenario="tests/one",
        check=told.check,
        reason="it is on the list",
        owner="me",
        expires="2999-01-01",  # type: ignore[arg-type]
    )
    gate = GateReport(
        baseline="known.yaml",
        today="2026-01-01",  # type: ignore[arg-type]
        known=(KnownDeviation(deviation=entry, findings=(told.id,)),),
    )
    (problem,) = _checkup(report(run("one", told)).model_copy(update={"gate": gate})).problems
    assert problem.known


def test_a_target_that_asks_no_model_has_nothing_inferred() -> None:
    """A tool has no retries that a provider could see."""
    assert _checkup(report(run("one"))).does == ()


def test_what_the_own_provider_has_written_is_the_first_source() -> None:
    """And what another one has, the last: it may demand other things."""
    given = ("OpenAI, Errors: https://a.example", "Bug: b/c#1", "Anthropic, Errors")
    found = report(run("one", finding("T-RETRY-01")))
    covered = tuple(item.model_copy(update={"sources": given}) for item in found.coverage)
    runs = Runs(report=found.model_copy(update={"coverage": covered}))
    first = {}
    for dialect in ("anthropic-messages", "gemini-generate-content", "azure-openai", ""):
        taken = TAKEN.model_copy(update={"dialect": dialect})
        found_ = checkup_of(runs, taken_for=taken, left_out=(), streams=True)
        first[dialect] = [source.partition(",")[0] for source in found_.problems[0].sources]
    assert first["anthropic-messages"] == ["Anthropic", "Bug: b/c#1", "OpenAI"]
    assert first["azure-openai"] == ["OpenAI", "Bug: b/c#1", "Anthropic"]
    assert first["gemini-generate-content"][0] == first[""][0] == "Bug: b/c#1"


@pytest.mark.parametrize(
    ("dialect", "first"), [("openai-chat", "Chat completions"), ("openai-responses", "Responses")]
)
def test_the_first_source_is_about_the_api_that_is_asked(dialect: str, first: str) -> None:
    """A finish reason is no part of the Responses API."""
    given = ("OpenAI, Chat completions: https://a.example", "OpenAI, Responses: https://b.example")
    found = report(run("one", finding("T-RETRY-01")))
    covered = tuple(item.model_copy(update={"sources": given}) for item in found.coverage)
    runs = Runs(report=found.model_copy(update={"coverage": covered}))
    taken = TAKEN.model_copy(update={"dialect": dialect})
    (problem,) = checkup_of(runs, taken_for=taken, left_out=(), streams=True).problems
    assert problem.sources[0].startswith(f"OpenAI, {first}")
