"""A stage is tried again as its own policy says, and left as its state machine says."""

from __future__ import annotations

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import STAGE, STAGED
from tests.oracle.turn_builder import TurnBuilder

TWO = {"entry_stage": "a", "stages": [{**STAGE, "next": "b"}, {"id": "b"}]}


def failed(model: ErrorModel, built: TurnBuilder) -> dict[str, str]:
    """Return the checks that fail, with what they observed."""
    findings = judge(model, built.build()).findings
    return {item.check: item.observed for item in findings if item.verdict is Verdict.FAIL}


def attempt(built: TurnBuilder, number: int, decision: str) -> TurnBuilder:
    """Make one attempt of the stage a, from the same conversation each time."""
    built.staged("check_gate", "proceed", number).says()
    del built.messages[1:]
    return built.staged("assess", decision, number)


@pytest.mark.parametrize(
    ("decisions", "checks"),
    [
        (("ok",), set()),
        (("skip",), set()),
        (("retry", "ok"), set()),
        (("retry", "retry"), set()),
        (("fail",), set()),
        (("retry",), {"stages.attempts"}),
        (("ok", "ok"), {"stages.attempts"}),
        (("fail", "ok"), {"stages.attempts"}),
        (("retry", "retry", "ok"), {"stages.attempts"}),
    ],
)
def test_only_a_retry_is_tried_again(
    model: ErrorModel, decisions: tuple[str, ...], checks: set[str]
) -> None:
    """Twice in all, by the policy of this stage."""
    built = TurnBuilder(session=STAGED).turn()
    for number, decision in enumerate(decisions, 1):
        attempt(built, number, decision).after("3s" if number < len(decisions) else "0s")
    built.staged("next", "end", len(decisions)).ends()
    assert set(failed(model, built)) == checks


def test_a_closed_gate_is_a_decision_too(model: ErrorModel) -> None:
    """Act is left out, and the gate's word is the outcome."""
    built = TurnBuilder(session=STAGED).turn().staged("check_gate", "retry", 1).after("3s")
    attempt(built, 2, "ok").staged("next", "end", 2).ends()
    assert failed(model, built) == {}


@pytest.mark.parametrize(
    ("said", "entered", "chain", "observed"),
    [
        ("stage b", "b", (), None),
        ("stage b", None, (), "no stage came next"),
        ("stage b", "c", (), "c came next"),
        ("end", None, (), None),
        ("end", "b", (), "the stage b came next"),
        ("skip", None, (), None),
        ("abort-workflow", None, ("ExtensionHost/StageFailed",), None),
        ("abort-workflow", None, (), "it returned"),
        ("retry-later", None, (), "it returned"),
    ],
)
def test_where_to_go_is_what_the_state_machine_says(
    model: ErrorModel, said: str, entered: str | None, chain: tuple[str, ...], observed: str | None
) -> None:
    """The next stage, the end, or the end with an error."""
    built = attempt(TurnBuilder(session=TWO).turn(), 1, "ok").staged("next", said)
    if entered is not None:
        built.staged("check_gate", "skip", stage=entered).staged("next", "end", stage=entered)
    assert failed(model, built.ends(*chain)).get("stages.next") == observed


def test_a_stage_that_is_left_without_a_word_is_told(model: ErrorModel) -> None:
    """The state machine owns the next move."""
    built = attempt(TurnBuilder(session=STAGED).turn(), 1, "ok").ends()
    assert failed(model, built) == {"stages.next": "it was not asked"}
