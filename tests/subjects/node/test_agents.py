"""Agents of frameworks in Node, in the shipped scenarios: the same sentences hold for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import SECOND_NS
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from faultclock.run.doctor.trials import runtime_trials
from tests.node.modules import CLIENTS, folder_with, needs_packages
from tests.subjects.frameworks.agents import (
    ELSEWHERE,
    SENTENCES,
    SPEAKS,
    a_denied_call_is_not_made,
    agent,
    an_approved_call_is_made_after_the_yes,
    bytes_are_equal,
    its_session_is_resumed,
    kinds,
    played,
)

pytestmark = needs_packages

NAMES = ("openai-agents", "langchain", "langgraph", "langchain-deaf", "openai-behind")
#: LangChain asks the Responses API for a newer model.
RESPONSES = dict.fromkeys((*NAMES[:2], *NAMES[3:]), "@openai-responses")


@pytest.fixture(scope="module", autouse=True)
def _modules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have the agents of `tests/node` beside the npm packages."""
    texts = {name: (CLIENTS / f"{name}.mjs").read_text("utf-8") for name in NAMES}
    folder = folder_with(tmp_path_factory.mktemp("agents"), **texts)
    # One of Python has the same name.
    agent.cache_clear()
    played.cache_clear()
    ELSEWHERE.update({name: str(folder / f"{name}.mjs") for name in NAMES})
    SPEAKS.update(RESPONSES)
    yield
    # Each has a process that is started ahead.
    agent.cache_clear()
    played.cache_clear()


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("name", ["openai-agents", "langchain"])
def test_an_agent_is_taken_as_it_is(name: str, sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence(name)


def test_the_tools_of_a_graph_hang_on_its_nodes() -> None:
    """A graph that was put together by hand is observed and judged as well."""
    (tool,) = agent("langgraph").own_tools or ()
    assert (tool.name, tool.gated, sorted(tool.input_schema["properties"])) == (
        "write_note",
        False,
        ["path", "text"],
    )
    trace = played("langgraph", "rate-limits/limited-after-a-tool")
    assert kinds(trace, "tool.called", "tool.effect") == ["tool.called", "tool.effect"]
    assert trace.footer.ending == "completed"


@pytest.mark.parametrize("name", ["openai-agents", "langchain"])
def test_a_cancel_gives_up_the_turn_and_its_tool(name: str) -> None:
    """Its signal is aborted: the turn ends at once, and a tool that waits is stopped."""
    trace = played(name, "shared/cancelled-in-a-tool")
    assert kinds(trace, "tool.called", "tool.stopped")[:2] == ["tool.called", "tool.stopped"]
    (cancelled,) = trace.of_kind("cancel.requested")
    raised = next(trace.of_kind("call.raised"))
    assert 0 <= raised.at_ns - cancelled.at_ns < SECOND_NS, "only the session is still stored"
    assert trace.footer.ending == "completed"


def test_langgraph_drops_the_rest_of_a_cancelled_turn() -> None:
    """Only the next message is sent, and the tool is not called again."""
    trace = played("langchain", "shared/cancelled-in-a-tool")
    assert kinds(trace, "tool.called") == ["tool.called"]
    roles = [it["role"] for it in list(trace.of_kind("http.request"))[-1].payload["messages"]]
    assert [role for role in roles if role != "system"] == ["user", "assistant", "user"]


def test_what_an_sdk_says_of_a_failed_tool_by_default_is_no_fault_of_its_user() -> None:
    """It keeps the reason from the model on purpose."""
    # It makes a run for each of them, and none for what comes after it.
    trials = runtime_trials(agent("openai-agents"))
    assert next(it.state for it in trials if it.what == "a tool that fails") == "works"


def test_the_tools_behind_an_agent_as_a_tool_are_observed() -> None:
    """The agent is made by a function, and its model calls the other agent first."""
    assert agent("openai-behind").id == "openai-behind:makeAgent"
    tools = {tool.name: tool for tool in agent("openai-behind").own_tools or ()}
    assert {name: (it.gated, it.through) for name, it in tools.items()} == {
        "write_note": (False, ("ask_clerk",)),
        "send_mail": (True, ("ask_clerk",)),
    }
    for sentence in (a_denied_call_is_not_made, an_approved_call_is_made_after_the_yes):
        sentence("openai-behind")
    its_session_is_resumed("openai-behind")
    trace = played("openai-behind", "rate-limits/limited-after-a-tool")
    wanted = ("tool.called", "tool.effect", "tool.replied")
    assert kinds(trace, *wanted) == list(wanted)


def test_an_agent_that_a_function_makes_is_made_in_each_life() -> None:
    """In equal runs it is made equally."""
    bytes_are_equal("openai-behind", "approvals/crash-while-open", "shared/tool-fails")


def test_a_question_that_is_open_at_a_cancel_is_taken_back() -> None:
    """The person sees it no more, and the tool is not called."""
    trace = played("openai-agents", "approvals/cancel-while-open")
    wanted = ("interaction.shown", "interaction.dismissed", "tool.called")
    assert kinds(trace, *wanted)[:2] == ["interaction.shown", "interaction.dismissed"]
    assert trace.footer.ending == "completed"


@pytest.mark.parametrize("scenario", ["common/answer-refused", "common/answer-refused-in-a-stream"])
def test_a_refusal_is_read_where_langchain_keeps_it(scenario: str) -> None:
    """Its message has no text, and says beside it that the model refuses."""
    trace = played("langchain", scenario)
    assert list(trace.of_kind("call.returned"))[-1].payload["finish_reason"] == "refusal"


def test_two_tools_at_once_are_two_executions() -> None:
    """They are observed side by side, and each has its own end."""
    trace = played("openai-agents", "common/agents/one-of-two-acts-and-fails")
    assert kinds(trace, "tool.called").count("tool.called") >= 2
    assert trace.footer.ending == "completed"


def test_an_agent_that_does_not_hear_a_no_is_found() -> None:
    """Its tool acts after the no: no sentence of the model lets that pass."""
    trace = played("langchain-deaf", "shared/approval-denied")
    assert "tool.called" in kinds(trace, "tool.called")
    found = judge(load_error_model("common"), trace).findings
    broken = {item.requirement for item in found if item.verdict is Verdict.FAIL}
    assert broken
    heard = judge(load_error_model("common"), played("langchain", "shared/approval-denied"))
    assert not broken & {it.requirement for it in heard.findings if it.verdict is Verdict.FAIL}
