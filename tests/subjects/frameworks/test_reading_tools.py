"""Tools that only read or compute: who says so, and what is judged of them then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import SubjectError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.oracle.judge import judge
from faultclock.run.bind_scenario import agent_lacks
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.adopt import adopt
from faultclock.subjects.binding import Binding
from faultclock.subjects.frameworks.own_tools import seems_to_read
from tests.run.conftest import shipped_scenario

_LANGGRAPH = """
from langchain.agents import create_agent


def roll_dice() -> int:
    "Roll a die."
    return 4


def divide(a: float, b: float) -> float:
    "Divide two numbers."
    return a / b


agent = create_agent("openai:gpt-5.2", tools=[roll_dice, divide])
"""
_PYDANTIC_AI = """
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


@agent.tool_plain
def scale(number: float, times: float, factor: float = 0.5) -> float:
    return number * times * factor


@agent.tool_plain(requires_approval=True)
def send_mail(to: str) -> str:
    return "sent"
"""
_AFTER_A_CRASH = "resume-drift/effect-is-not-repeated"
_REPEATED = "COMMON-EFFECT-02"


def _prepared(folder: Path, text: str, words: str = "") -> Binding:
    (folder / "mine.py").write_text(text)
    return prepare(f"{folder / 'mine.py'}:agent{words}")


def _broken(binding: Binding, scenario: str) -> set[str | None]:
    trace = run_one(shipped_scenario(scenario), binding, 0, isolate=True)
    found = judge(load_error_model("common"), trace).findings
    return {it.requirement for it in found if it.verdict in (Verdict.FAIL, Verdict.WARN)}


def test_a_tool_that_is_said_to_read_has_no_effect(tmp_path: Path) -> None:
    """Not said, a repetition is found; said of one tool, the other stands in its place."""
    assert _REPEATED in _broken(_prepared(tmp_path, _LANGGRAPH), _AFTER_A_CRASH)
    said = _prepared(tmp_path, _LANGGRAPH, "@reads=roll_dice")
    assert [tool.reads for tool in said.own_tools or ()] == [True, True]


def test_a_turn_that_is_lost_whole_is_said_to_be_and_is_no_pass(tmp_path: Path) -> None:
    """The history of Pydantic AI is that of runs that ended, so a crash leaves nothing."""
    binding = _prepared(tmp_path, _PYDANTIC_AI)
    trace = run_one(shipped_scenario(_AFTER_A_CRASH), binding, 0, isolate=True)
    findings = judge(load_error_model("common"), trace).findings
    assert verdict_of(findings) is Verdict.INCONCLUSIVE
    (lost,) = (item for item in findings if item.verdict is Verdict.INCONCLUSIVE)
    assert lost.requirement == _REPEATED
    assert lost.observed.startswith("the crash loses the whole turn")


def test_what_needs_an_effect_is_left_out_by_name(tmp_path: Path) -> None:
    """Never passed: nothing of it was met."""
    text = _LANGGRAPH.replace("divide", "letter_counter")
    one = _prepared(tmp_path, text, "@reads=roll_dice")
    scenario = shipped_scenario(_AFTER_A_CRASH)
    assert agent_lacks(scenario, one) is None
    assert _REPEATED in _broken(one, _AFTER_A_CRASH)
    both = _prepared(tmp_path, text, "@reads=roll_dice,reads=letter_counter")
    assert agent_lacks(scenario, both) == "a tool that has effects and needs no approval"


def test_its_other_faults_are_judged(tmp_path: Path) -> None:
    """An error and a hang are those of any tool."""
    text = _PYDANTIC_AI
    binding = _prepared(tmp_path, text, "@reads=scale")
    assert "COMMON-RESULT-05" in _broken(binding, "shared/tool-fails")
    assert "COMMON-END-03" in _broken(binding, "tools/hangs-for-ever")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("@reads=devide", "'devide'"),
        ("@reads=roll_dice,reads=nothing", "'nothing'"),
    ],
)
def test_a_name_of_no_tool_is_refused_with_those_that_it_has(
    words: str, said: str, tmp_path: Path
) -> None:
    """One message: what, and what would be right."""
    with pytest.raises(SubjectError, match=f"has no tool {said}") as caught:
        _prepared(tmp_path, _LANGGRAPH, words)
    assert caught.value.hint == "its tools are roll_dice, divide"


def test_a_target_without_tools_of_its_own_is_refused() -> None:
    """A client is handed what it offers."""
    with pytest.raises(SubjectError, match="brings no tools of its own") as caught:
        prepare("openai-sync@reads=divide")
    assert caught.value.hint == "leave out --reads"


def test_a_problem_asks_about_the_tools_that_are_not_known(tmp_path: Path) -> None:
    """Not about one that needs a yes, nor about one whose name says that it reads."""
    asked = _prepared(tmp_path, _LANGGRAPH).remedies[_REPEATED]
    assert asked.endswith(" If roll_dice only reads or computes, say so: --reads roll_dice.")
    asked = _prepared(tmp_path, _PYDANTIC_AI).remedies[_REPEATED]
    assert asked.endswith(" If scale only reads or computes, say so: --reads scale.")
    known = _prepared(tmp_path, _PYDANTIC_AI, "@reads=scale").remedies[_REPEATED]
    assert "--reads" not in known


def test_a_problem_of_a_resumed_session_says_who_has_given_it(tmp_path: Path) -> None:
    """An agent of which nothing is kept cannot repeat anything after a crash."""
    asked = _prepared(tmp_path, _LANGGRAPH).remedies[_REPEATED]
    said = "Your agent has no store of its own: the check gave it a checkpointer."
    assert asked.startswith(said)


def test_a_number_that_a_framework_has_read_is_the_models(tmp_path: Path) -> None:
    """1.0 is 1 in JSON, and a fraction that is a default was not asked for: no rule is broken."""
    broken = _broken(_prepared(tmp_path, _PYDANTIC_AI), "shared/tool-fails")
    assert broken == {"COMMON-RESULT-05"}


def test_a_remedy_about_mcp_servers_is_for_agents_that_have_one(tmp_path: Path) -> None:
    """Others do not know what is meant."""
    assert "session_kwargs" not in _prepared(tmp_path, _LANGGRAPH).remedies["COMMON-END-01"]


_NUMBERS = {"properties": {"a": {"type": "integer"}, "b": {"type": "number"}}}
_ITEM = {"properties": {"item": {"type": "string"}}}


@pytest.mark.parametrize(
    ("name", "description", "schema", "reads"),
    [
        ("get_weather", "Return the weather.", _ITEM, True),
        ("listFiles", "", _ITEM, True),
        ("multiply", "Multiply two numbers.", _NUMBERS, True),
        ("add", "Adds a and b.", _NUMBERS, True),
        ("add", "Add an item to the cart.", _ITEM, False),
        ("check_out", "Return the receipt.", _ITEM, False),
        ("get_refund", "Refunds the last order.", _ITEM, False),
        ("list_item", "Puts an item up for sale.", _ITEM, False),
        ("buy", "Return the receipt.", _ITEM, False),
        ("get_updates", "Return what was updated.", _ITEM, True),
    ],
)
def test_what_is_written_of_a_tool_says_whether_it_seems_to_read(
    name: str, description: str, schema: dict[str, Any], reads: bool
) -> None:
    """By the first word of its name, unless its description begins with what it does."""
    assert seems_to_read(name, description, schema) is reads


def test_a_tool_whose_name_misleads_is_said_to_act(tmp_path: Path) -> None:
    """What it repeats after a crash is found then, and the page says how to say it."""
    text = _LANGGRAPH.replace("divide", "get_price").replace("roll_dice", "count_dice")
    assert agent_lacks(shipped_scenario(_AFTER_A_CRASH), _prepared(tmp_path, text)) is not None
    acts = _prepared(tmp_path, text, "@reads=count_dice=no")
    assert [tool.reads for tool in acts.own_tools or ()] == [False, True]
    assert _REPEATED in _broken(acts, _AFTER_A_CRASH)
    because = adopt(f"{tmp_path / 'mine.py'}:agent").taken_for.because
    assert because.endswith("get_price (only reads); if one acts, say --reads TOOL=no")
