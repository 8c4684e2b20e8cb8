"""A turn uses no more than it may, and one that has to stop says so."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import ANY_PAIR
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from tests.oracle.turn_builder import TurnBuilder, value

BOUND = "ExtensionHost/LoopBoundExceeded"


def failed(model: ErrorModel, built: TurnBuilder) -> list[str]:
    """Return what the check finds wrong."""
    own = (item for item in judge(model, built.build()).findings if item.check == "budgets.kept")
    return [item.observed for item in own if item.verdict is Verdict.FAIL]


def turn(**budgets: Any) -> TurnBuilder:
    """Return a turn with limits."""
    return TurnBuilder(session={"budgets": budgets}).turn()


def round_(built: TurnBuilder, number: int, tokens: int | None = None) -> TurnBuilder:
    """Let the model ask for a tool, and run it."""
    id_ = f"c{number}"
    return built.wants(f"{id_} ls", tokens=tokens).runs(id_).tells(id_, value())


def test_answers_of_the_provider_are_counted(model: ErrorModel) -> None:
    """The last one may be the last that is allowed, when it is a text."""
    built = round_(turn(steps_max=2), 1)
    assert failed(model, built.says().ends()) == []
    built = round_(turn(steps_max=1), 1)
    assert failed(model, built.says().ends()) == ["it went on beyond it: net.connect"]


@pytest.mark.parametrize(
    ("chain", "observed"),
    [
        ((BOUND,), []),
        (("Session/StoreUnavailable",), ["it ended failed with Session/StoreUnavailable"]),
        ((), ["it ended completed"]),
    ],
)
def test_a_limit_is_told_by_name(
    model: ErrorModel, chain: tuple[str, ...], observed: list[str]
) -> None:
    """Never in silence."""
    assert failed(model, round_(turn(steps_max=1), 1).ends(*chain)) == observed


def test_executions_are_counted_with_their_retries(model: ErrorModel) -> None:
    """The world counts them, whatever the runtime thinks."""
    built = turn(tool_calls_max=1).wants("c1 ls", "c2 ls").runs("c1").runs("c2")
    built.tells("c1", value()).tells("c2", value())
    assert failed(model, built.says().ends()) == ["it went on beyond it: tool.called"]


def test_a_call_that_does_not_fit_into_the_limit_ends_the_turn(model: ErrorModel) -> None:
    """What the model wanted more was never done, and somebody says so."""
    for chain, observed in (((BOUND,), []), ((), ["it ended completed"])):
        built = turn(tool_calls_max=1).wants("c1 ls", "c2 ls").runs("c1")
        assert failed(model, built.ends(*chain)) == observed


def test_tokens_are_counted_as_the_provider_counts_them(model: ErrorModel) -> None:
    """A request after the last token is one too many."""
    built = round_(turn(tokens_max=100), 1, tokens=100)
    assert failed(model, built.ends(BOUND)) == []
    built = round_(turn(tokens_max=100), 1, tokens=100)
    assert failed(model, built.says().ends()) == ["it went on beyond it: net.connect"]


@pytest.mark.parametrize(
    ("after", "observed"),
    [("10s", []), ("10.5s", []), ("12s", ["it went on beyond it: call.raised"])],
)
def test_the_time_of_a_turn_ends_it(model: ErrorModel, after: str, observed: list[str]) -> None:
    """Within a second; from its start, whoever was waited for."""
    built = turn(wall_time="10s")
    built.after(after)
    assert failed(model, built.ends("Cancellation/TurnCancelled")) == observed


def test_a_stage_has_a_cap_of_its_own(model: ErrorModel) -> None:
    """It is a normal end of Act, so no error is due; one more answer is too many."""
    session = {"entry_stage": "a", "stages": [{"id": "a", "turn_cap": 1}]}
    beyond = "the provider was asked for one answer more"
    for more, observed in ((False, []), (True, [beyond])):
        built = TurnBuilder(session=session).turn().staged("check_gate", "proceed")
        round_(built, 1)
        if more:
            built.says()
        built.staged("assess", "ok").staged("next", "end").ends()
        assert failed(model, built) == observed


def test_budgets_are_rules_for_limits(model: ErrorModel) -> None:
    """A limit with no error of its own asks for any class and code; one that is cited by nothing
    has no rule."""
    rules = {rule.limit: rule for rule in model.budget_limits}
    assert rules["steps"].carries == (BOUND,)
    assert rules["tokens"].carries == (ANY_PAIR,)
    assert rules["tokens"].requirement == "STUD-RULE-04"
    fewer = {name: id_ for name, id_ in model.rules.items() if name != "budgets.kept.tokens"}
    without = model.model_copy(update={"rules": fewer})
    assert "tokens" not in {rule.limit for rule in without.budget_limits}


def test_what_went_beyond_a_limit_before_a_cancel_is_too_much(model: ErrorModel) -> None:
    """A cancel excuses the end of a turn, and not what the turn did before it."""
    built = round_(round_(turn(steps_max=1), 1), 2).cancels("turn")
    observed = failed(model, built.ends("Cancellation/TurnCancelled"))
    assert observed == ["it went on beyond it: net.connect"]


def test_the_error_of_a_tool_is_no_end_for_a_limit(model: ErrorModel) -> None:
    """A document that has no consequences lets no tool end a turn."""
    built = turn(steps_max=1).wants("c1 ls").runs("c1", "ToolTerminal/NotFound")
    observed = failed(model, built.ends("ToolTerminal/NotFound"))
    assert observed == ["it ended failed with ToolTerminal/NotFound"]


def test_a_turn_that_needed_no_more_than_its_limits_goes_on_to_its_end(model: ErrorModel) -> None:
    """A limit that ended nothing is no excuse for a turn that fails after it."""
    for chain, verdict in (((), Verdict.PASS), (("Session/Lost",), Verdict.FAIL)):
        built = round_(turn(steps_max=2, tool_calls_max=1), 1).says().ends(*chain)
        own = [item for item in judge(model, built.build()).findings if item.check == "turns.go-on"]
        ended = [item.verdict for item in own if item.requirement == "STUD-TURN-08"]
        assert ended == [verdict]
