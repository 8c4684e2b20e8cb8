"""What a problem says of a framework: the option that it names really mends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from faultclock.subjects.adopt_agents import agent_target
from tests.subjects.frameworks.agents import an_option_mends, broken_by, kinds, trace_of

#: What the frameworks themselves call is deprecated here and there.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

_PYDANTIC_AI = """
from pydantic_ai import Agent
MODEL
agent = Agent("openai-responses:gpt-5.2"AGENT)


@agent.tool_plain
def write_note(path: str) -> str:
    return "written"
AFTER
"""
_LANGGRAPH = """
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware, ToolErrorMiddleware
from langchain.chat_models import init_chat_model


def write_note(path: str) -> str:
    "Write a note."
    return "written"


def list_notes(path: str) -> str:
    "List the notes."
    return "none"


model = init_chat_model("openai:gpt-5.2"MODEL)
agent = create_agent(model, tools=[write_note, list_notes]AGENT)
AFTER
"""
_HOOKED = """
from pydantic_ai import ToolFailed
from pydantic_ai.capabilities import Hooks

hooks = Hooks()


@hooks.on.tool_execute_error
async def told(ctx, *, call, tool_def, args, error):
    raise ToolFailed(type(error).__name__)
"""
_LOOKED_AT = """
@agent.output_validator
def whole(ctx, output: str) -> str:
    if not ctx.partial_output and ctx.messages[-1].finish_reason is None:
        raise ValueError("the answer is not whole")
    return output
"""
#: A hook that adds what is missing after a cancel.
_ANSWERED = """
from langchain.agents.middleware import before_agent
from langchain.messages import RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES


@before_agent
def answered(state, runtime):
    results = {it.tool_call_id for it in state["messages"] if it.type == "tool"}
    kept = [RemoveMessage(REMOVE_ALL_MESSAGES)]
    for message in state["messages"]:
        calls = message.tool_calls if message.type == "ai" else []
        missing = [call["id"] for call in calls if call["id"] not in results]
        kept += [message, *(ToolMessage("Cancelled.", tool_call_id=id_) for id_ in missing)]
    return {"messages": kept}


agent = create_agent(model, tools=[write_note, list_notes], middleware=[answered])
"""
#: A graph of its own, whose tool asks a person.
_GRAPH = """
from langchain.chat_models import init_chat_model
from langchain_core.tools import tool
from langchain.messages import ToolMessage
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Send, interrupt


@tool
async def send_mail(to: str) -> str:
    "Send a mail."
    ASKS
    return "sent"


model = init_chat_model("openai:gpt-5.2").bind_tools([send_mail])


def answered(messages):
    results = {it.tool_call_id for it in messages if it.type == "tool"}
    for message in messages:
        yield message
        if message.type == "ai":
            for call in [*message.tool_calls, *message.invalid_tool_calls]:
                if call["id"] not in results:
                    yield ToolMessage("It was not made.", tool_call_id=call["id"])


async def ask(state: MessagesState):
    return {"messages": [await model.ainvoke(MESSAGES)]}


def apart(state: MessagesState):
    return [Send("tools", [call]) for call in state["messages"][-1].tool_calls] or END


builder = StateGraph(MessagesState)
builder.add_node("ask", ask)
builder.add_node("tools", ToolNode([send_mail]NODE))
builder.set_entry_point("ask")
builder.add_conditional_edges("ask", ROUTE)
builder.add_edge("tools", "ask")
agent = builder.compile()
"""
_AS_IT_IS = {"ASKS": "", "MESSAGES": "state['messages']", "NODE": "", "ROUTE": "tools_condition"}
_ASKS = {"ASKS": "if interrupt({'to': to}) != 'yes': return 'not sent'"}
#: A hook around each call of a tool.
_IN_TIME = """
import asyncio

from langchain.messages import ToolMessage


async def in_time(request, execute):
    try:
        return await asyncio.wait_for(execute(request), 30)
    except TimeoutError:
        return ToolMessage("It timed out.", tool_call_id=request.tool_call["id"])
"""
_IN_TIME_AGENT = f"""{_IN_TIME}

from langchain.agents.middleware import wrap_tool_call

agent = create_agent(model, [write_note, list_notes], middleware=[wrap_tool_call(in_time)])
"""
_RETRIES = """
from langchain.agents.middleware import ModelRetryMiddleware


def can_be_retried(error):
    return getattr(error, "is_retryable", False) and error.code != "insufficient_quota"


retries = ModelRetryMiddleware(retry_on=can_be_retried, on_failure="error")
model = init_chat_model("openai:gpt-5.2", max_retries=0)
agent = create_agent(model, [write_note, list_notes], middleware=[retries])
"""
_ADK = """
from google.adk.agents import Agent
from google.adk.models import Gemini
from google.genai.types import HttpOptions, HttpRetryOptions


def write_note(path: str) -> str:
    "Write a note."
    return "written"


agent = Agent(name="it", tools=[write_note], model=Gemini(MODEL)AGENT)
"""
_SMOLAGENTS = """
from smolagents import OpenAIModel, ToolCallingAgent, tool


@tool
def write_note(path: str) -> str:
    '''Write a note.

    Args:
        path: where.
    '''
    return "written"


agent = ToolCallingAgent(tools=[write_note], model=OpenAIModel(model_id="gpt-5.2"MODEL))
"""
_STRANDS = """
from functools import partial

from strands import Agent, ModelRetryStrategy, tool
from strands.models.openai import OpenAIModel


@tool
def write_note(path: str) -> str:
    "Write a note."
    return "written"


agent = Agent(model=OpenAIModel(model_id="gpt-5.2"MODEL), tools=[write_note]AGENT)
AFTER
"""
_CREWAI = """
from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool


@tool
def write_note(path: str) -> str:
    "Write a note."
    return "written"


llm = LLM("openai/gpt-5.2"MODEL)
it = Agent(role="it", goal="help", backstory="none", llm=llm, tools=[write_note]AGENT)
task = Task(description="{question}", expected_output="An answer", agent=it)
agent = Crew(agents=[it], tasks=[task])
"""
_TEXTS = {
    "CrewAI": ("crewai", _CREWAI),
    "Pydantic AI": ("pydantic_ai", _PYDANTIC_AI),
    "LangGraph": ("langgraph", _LANGGRAPH),
    "Google ADK": ("google.adk", _ADK),
    "smolagents": ("smolagents", _SMOLAGENTS),
    "Strands": ("strands", _STRANDS),
}
_ONE_LAYER = {"AGENT": ", retry_strategy=ModelRetryStrategy(max_attempts=1)"}
_ONE_TRY = {"MODEL": ", max_retries=0", "AGENT": ", max_retry_limit=0"}
_TWO = "approvals/one-approval-approves-one-call"
_CUT = "common/agents/arguments-are-no-json"
#: Framework, what is broken, where, and for each option what is written in which place of the file.
_MENDED = [
    ("Pydantic AI", "COMMON-END-03", "tools/hangs-for-ever", [{"AGENT": ", tool_timeout=30"}]),
    (
        "LangGraph",
        "COMMON-END-01",
        "provider-transient/silent-for-ever",
        [{"MODEL": ", timeout=60"}],
    ),
    (
        "Pydantic AI",
        "COMMON-RESULT-05",
        "shared/tool-fails",
        [{"MODEL": _HOOKED, "AGENT": ", capabilities=[hooks]"}],
    ),
    (
        "Pydantic AI",
        "COMMON-ANSWER-01",
        "provider-transient/stream-ends-without-finish",
        [{"AFTER": _LOOKED_AT}],
    ),
    (
        "LangGraph",
        "COMMON-END-03",
        "tools/hangs-for-ever",
        [{"AFTER": _IN_TIME_AGENT}, {"AFTER": "agent.step_timeout = 60"}],
    ),
    (
        "LangGraph",
        "COMMON-END-04",
        "tools/loop-bound",
        [
            {"AGENT": ", middleware=[ModelCallLimitMiddleware(run_limit=25)]"},
            {"AFTER": 'agent = agent.with_config({"recursion_limit": 25})'},
        ],
    ),
    ("LangGraph", "COMMON-RESULT-01", "shared/cancelled-in-a-tool", [{"AFTER": _ANSWERED}]),
    (
        "LangGraph",
        "COMMON-RESULT-05",
        "shared/tool-fails",
        [
            {
                "AGENT": ", middleware=[ToolErrorMiddleware("
                "lambda error, request: type(error).__name__)]"
            }
        ],
    ),
    (
        "Google ADK",
        "COMMON-END-01",
        "provider-transient/silent-for-ever",
        [{"MODEL": "client_kwargs={'http_options': HttpOptions(timeout=60_000)}"}],
    ),
    (
        "Google ADK",
        "COMMON-RETRY-02",
        "common/refused-for-ever",
        [{"MODEL": "retry_options=HttpRetryOptions(attempts=3)"}],
    ),
    (
        "Google ADK",
        "COMMON-RESULT-05",
        "shared/tool-fails",
        [{"AGENT": ", on_tool_error_callback=lambda **given: {'error': 'failed'}"}],
    ),
    ("smolagents", "COMMON-HINT-01", "rate-limits/retry-after-huge", [{"MODEL": ", retry=False"}]),
    (
        "smolagents",
        "COMMON-RETRY-01",
        "rate-limits/quota-as-429",
        [{"MODEL": ', retry=False, client_kwargs={"max_retries": 0}'}],
    ),
    ("Strands", "COMMON-HINT-01", "rate-limits/retry-after-huge", [_ONE_LAYER]),
    (
        "Strands",
        "COMMON-RETRY-01",
        "rate-limits/quota-as-429",
        [{"MODEL": ', client_args={"max_retries": 0}', **_ONE_LAYER}],
    ),
    (
        "LangGraph",
        "COMMON-RETRY-01",
        "rate-limits/quota-as-429",
        [{"MODEL": ", max_retries=0"}, {"AFTER": _RETRIES}],
    ),
    ("CrewAI", "COMMON-RETRY-01", "provider-transient/bad-key", [_ONE_TRY]),
    ("CrewAI", "COMMON-LAYER-01", "rate-limits/jitter-over-seeds", [_ONE_TRY]),
    (
        "smolagents",
        "COMMON-LAYER-01",
        "rate-limits/window-without-hint",
        [{"MODEL": ", retry=False"}],
    ),
    ("Strands", "COMMON-LAYER-01", "rate-limits/retry-after-grows", [_ONE_LAYER]),
    (
        "Strands",
        "COMMON-END-04",
        "tools/loop-bound",
        [{"AFTER": "agent.invoke_async = partial(agent.invoke_async, limits={'turns': 25})"}],
    ),
]


@pytest.mark.parametrize(("framework", "requirement", "scenario", "options"), _MENDED)
def test_the_options_that_a_problem_names_mend_it(
    framework: str,
    requirement: str,
    scenario: str,
    options: list[Mapping[str, str]],
    tmp_path: Path,
) -> None:
    """Without them, the same agent breaks the requirement."""
    package, text = _TEXTS[framework]
    pytest.importorskip(package, reason=f"{framework} is not installed")
    texts = (_written(text, {}), *(_written(text, option) for option in options))
    an_option_mends(framework, requirement, scenario, texts, tmp_path)


@pytest.mark.parametrize(
    ("requirement", "scenario", "bare", "option"),
    [
        ("COMMON-EFFECT-01", _TWO, _ASKS, {"ROUTE": "apart"}),
        ("COMMON-RESULT-01", _CUT, {}, {"MESSAGES": "[*answered(state['messages'])]"}),
        ("COMMON-END-03", "tools/hangs-for-ever", {}, {"NODE": ", awrap_tool_call=in_time"}),
    ],
)
def test_the_options_mend_a_graph_of_its_own(
    requirement: str,
    scenario: str,
    bare: Mapping[str, str],
    option: Mapping[str, str],
    tmp_path: Path,
) -> None:
    """It has no middleware."""
    pytest.importorskip("langchain", reason="LangChain is not installed")
    places = {**_AS_IT_IS, **bare}
    texts = (f"{_IN_TIME}{_filled(_GRAPH, values)}" for values in (places, {**places, **option}))
    an_option_mends("LangGraph", requirement, scenario, tuple(texts), tmp_path)


def test_a_deadline_around_a_tool_gives_the_model_a_result(tmp_path: Path) -> None:
    """A deadline of a step of the graph ends the turn."""
    pytest.importorskip("langchain", reason="LangChain is not installed")
    file, scenario = tmp_path / "agent.py", "tools/hangs-for-ever"
    ends = {"AFTER": "agent.step_timeout = 60"}
    for option, kind in (({"AFTER": _IN_TIME_AGENT}, "call.returned"), (ends, "call.raised")):
        trace = trace_of(file, _written(_LANGGRAPH, option), scenario)
        assert kinds(trace, "call.returned", "call.raised")[-1] == kind


def test_what_retries_the_rest_does_so_and_raises_in_the_end(tmp_path: Path) -> None:
    """By itself, the middleware returns the last error as the answer."""
    pytest.importorskip("langchain", reason="LangChain is not installed")
    file, text = tmp_path / "agent.py", _written(_LANGGRAPH, {"AFTER": _RETRIES})
    assert broken_by(file, text, "common/refused-for-ever") == set()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("OpenAIModel", "the OpenAI SDK"),
        ("BedrockModel", "boto_client_config of BedrockModel"),
        ("Own", "the model's own SDK"),
    ],
)
def test_an_option_of_a_model_is_named_for_an_agent_with_that_model(model: str, said: str) -> None:
    """What the SDK of another provider has is of no use."""
    strands = pytest.importorskip("strands", reason="Strands is not installed")
    base = pytest.importorskip("strands.models.openai").OpenAIModel
    client = type(model, (base,), {})(model_id="gpt-5.2", client_args={"api_key": "none"})
    target = agent_target(strands.Agent(model=client), "agent.py:agent")
    assert target is not None
    assert said in target.remedies(())["COMMON-LAYER-01"]


def _filled(text: str, values: Mapping[str, str]) -> str:
    for place, value in values.items():
        text = text.replace(place, value)
    return text


def _written(text: str, option: Mapping[str, str]) -> str:
    return _filled(text, {place: option.get(place, "") for place in ("MODEL", "AGENT", "AFTER")})
