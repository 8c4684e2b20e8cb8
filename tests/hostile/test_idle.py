"""Idle subjects earn nothing: a share of the sweep, and the facts that make a run inconclusive."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.oracle.judge import judge
from faultclock.run.suite import run_one
from tests.hostile.idle import cells, earned, pairs
from tests.hostile.idle_subjects import IDLE

#: One pair of so many is run here; `python -m tests.hostile.idle` runs them all.
SHARE = 40


def findings(subject: str, scenario: str, model: str = "common") -> tuple[Finding, ...]:
    """Return what a model says of one idle subject in one shipped scenario."""
    binding = next(item for item in IDLE if item.id == subject)
    (played,) = find_scenarios((scenario,))[0].runnable
    trace = run_one(played, binding, played.seed, isolate=False)
    return judge(load_error_model(model), trace).findings


def shown(found: tuple[Finding, ...]) -> str:
    """Return what spoils the evidence of a run, in words."""
    assert verdict_of(found) is Verdict.INCONCLUSIVE
    return "\n".join(
        finding.observed
        for finding in found
        if finding.check == "evidence.exercised" and finding.verdict is Verdict.INCONCLUSIVE
    )


@pytest.mark.parametrize("part", range(4))
def test_no_idle_subject_passes_but_by_name(part: int) -> None:
    """Every scenario, every model: a pass is earned, or there is none."""
    drawn = list(pairs(SHARE * 4, seed=part))
    passes = {cell.key for cell in cells(drawn) if cell.verdict is Verdict.PASS}
    assert drawn
    assert passes - earned().keys() == set()


def test_the_table_names_what_there_is() -> None:
    """A name that is misspelt would earn nothing, and an entry has its reason."""
    subjects = {binding.id for binding in IDLE}
    scenarios = {item.scenario.id for item in find_scenarios(())}
    assert {subject for subject, _, _ in earned()} <= subjects
    assert {scenario.partition("#")[0] for _, scenario, _ in earned()} <= scenarios
    assert {model for _, _, model in earned()} <= set(model_ids())
    assert all(because.strip().endswith(".") for because in earned().values())


@pytest.mark.parametrize(
    "scenario",
    ["approvals/three-at-once-in-order", "tools/slow-and-paid-once", "tools/within-the-bound"],
)
def test_an_unknown_path_is_named(scenario: str) -> None:
    """A runtime that asks where no API is has shown nothing; the finding says where it asked."""
    found = findings("runtime-asks-a-wrong-path", scenario)
    assert "POST /v1/wrong is no path of openai-chat: it was answered with 404" in shown(found)


def test_a_tool_that_is_never_called_is_named() -> None:
    """A runtime that makes up the results of tools has shown nothing of what they are for."""
    found = findings("runtime-never-calls-tools", "tools/within-the-bound")
    assert "it never was, and the model was asked again as if it had been" in shown(found)
    assert any("the tool list_files is called" in finding.expected for finding in found)


def test_a_turn_that_ends_in_the_middle_is_named() -> None:
    """The model asked for a tool, and the turn was over although nothing kept it from going on."""
    found = findings("runtime-gives-up-at-the-first-answer", "tools/slow-and-paid-once")
    assert "it ended, and the model was never given a result of pay_invoice" in shown(found)


def test_a_good_answer_that_is_thrown_away_is_named() -> None:
    """A call that raises whatever comes proves nothing by raising."""
    found = findings("adapter-gives-up-at-the-first-answer", "provider-transient/slow-drip")
    assert "the provider's answer was good, and the call raised" in shown(found)


def test_an_answer_that_is_made_up_is_named() -> None:
    """A text that the provider never said shows that nobody read what it did say."""
    found = findings("adapter-asks-and-ignores", "provider-transient/slow-drip")
    assert "it returned a text in which nothing is the provider's" in shown(found)


def test_answers_that_are_never_served_are_counted() -> None:
    """A conversation that is begun anew with each turn never gets to its later answers."""
    found = findings("runtime-never-calls-tools", "resume-drift/closed-session-is-resumed")
    assert "answers of the conversation was never asked for: no request held the answers" in shown(
        found
    )


def test_nodes_that_are_never_begun_are_named() -> None:
    """A turn that ends before its workflow has shown nothing of the rest."""
    found = findings("runtime-never-calls-tools", "error-matrix/good-iteration", "error-matrix")
    assert "it ended, and never began them" in shown(found)


def test_a_store_that_nothing_reads_has_shown_nothing() -> None:
    """A store that keeps nothing would pass wherever it is only written to."""
    found = findings("store-does-nothing", "session-store-contract/journal-in-order", "stud-cli")
    assert "the store has no read_journal, so nothing that it keeps was ever seen" in shown(found)


def test_a_service_that_is_left_alone_shows_nothing() -> None:
    """A scenario about a slow service says nothing about a tool that asks none."""
    found = findings("tool-does-nothing", "tool-contract/slow-but-good")
    assert "it never was, so the situation never came about" in shown(found)


def test_an_extension_without_state_is_given_none() -> None:
    """A scenario about kept state is passed over by name, and proves nothing where it is run."""
    found = findings(
        "extension-does-nothing", "extension-contract/slot-of-this-version", "stud-cli"
    )
    assert "its contract declares no state_slot, so there was none" in shown(found)
    played = {(binding.id, scenario.id) for binding, scenario in pairs()}
    assert ("extension-does-nothing", "extension-contract/slot-of-this-version") not in played
