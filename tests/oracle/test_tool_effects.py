"""What a tool did to the world is not done again, whatever its reply said."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from tests.oracle.planted_turns import BUSY, FORBIDDEN, RETRYING, TURNS
from tests.oracle.turn_builder import TOOLS, TurnBuilder, value


def failed(model: ErrorModel, trace: Trace) -> dict[str, str]:
    """Return the checks that fail, with what they observed."""
    findings = judge(model, trace).findings
    return {item.check: item.observed for item in findings if item.verdict is Verdict.FAIL}


def twice(pair: str | None, *, late: bool = False, retrying: bool = False) -> Trace:
    """Return a turn in which a call has its effect, replies, and is executed once more."""
    built = TurnBuilder(tools=RETRYING if retrying else TOOLS).turn().wants("c1 ls")
    first = built.calls("c1")
    if not late:
        built.happens(first, "c1")
    built.replies(first, "c1", pair)
    built.after("500ms")
    if late:
        built.happens(first, "c1")
    built.after("500ms")
    second = built.calls("c1")
    built.happens(second, "c1")
    built.replies(second, "c1")
    return built.tells("c1", value()).says().ends().build()


@pytest.mark.parametrize(
    ("pair", "late", "words"),
    [
        (FORBIDDEN, False, "the first time, it failed after it had had its effect"),
        (FORBIDDEN, True, "the first time, it failed, and had its effect after that"),
        (None, False, "the first time, the reply was good"),
    ],
)
def test_a_repeated_effect_is_told_with_what_came_first(
    model: ErrorModel, pair: str | None, late: bool, words: str
) -> None:
    """The reply that said failed, or the effect; and it is told once, as an effect."""
    found = failed(model, twice(pair, late=late))
    assert set(found) == {"tools.effects"}
    assert words in found["tools.effects"]


@pytest.mark.parametrize(
    ("pair", "why", "is_success"),
    [(FORBIDDEN, "its contract has no retry policy", False), (None, "was a success", True)],
)
def test_what_is_expected_says_why_once_is_enough(
    model: ErrorModel, pair: str | None, why: str, is_success: bool
) -> None:
    """No word of a failure stands beside a first time that was good."""
    (finding,) = [
        item
        for item in judge(model, twice(pair, late=False)).findings
        if item.check == "tools.effects" and item.expected
    ]
    assert (finding.expected or "").endswith(why)
    assert ("failed may come after" in (finding.hint or "")) != is_success


@pytest.mark.parametrize("late", [False, True])
def test_the_contract_may_allow_it(model: ErrorModel, late: bool) -> None:
    """A tool that asks for a retry after ResourceBusy knows its own cost."""
    assert failed(model, twice(BUSY, late=late, retrying=True)) == {}


def test_a_model_may_ask_for_the_same_twice(model: ErrorModel) -> None:
    """Two tool calls with the same arguments are two effects."""
    built = TurnBuilder().turn().wants("c1 ls", "c2 ls")
    for tool_call in ("c1", "c2"):
        execution = built.calls(tool_call)
        built.happens(execution, tool_call)
        built.replies(execution, tool_call)
    built.tells("c1", value()).tells("c2", value())
    assert failed(model, built.says().ends().build()) == {}


def test_a_forgotten_turn_may_be_left_unjudged() -> None:
    """Under the other reading a turn that was cut off is dropped, effects and all."""
    lenient = load_error_model("stud-cli", {"effects-after-crash": "not-judged"})
    assert failed(lenient, TURNS["tools.effects"][0]()) == {}
