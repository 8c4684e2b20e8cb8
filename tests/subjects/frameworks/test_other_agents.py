"""Agents of frameworks that are not installed beside the others, tried where they are.

Strands, LlamaIndex and CrewAI demand `openai<3`, and Google's ADK a `google-genai` that is older
than ours: `make frameworks` tries each in an environment that has it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from faultclock.check.target import take
from faultclock.errors import SubjectError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.oracle.judge import judge
from faultclock.run.doctor.fitting import why_left_out
from faultclock.run.expand import crash_after, without_crashes
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.adopt import adopt
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import (
    LONGEST,
    SENTENCES,
    SPEAKS,
    a_fault_is_met_at_the_seam,
    agent,
    bytes_are_equal,
    its_function_is_called,
    its_session_is_resumed,
    played,
)

#: What they themselves and their libraries call is deprecated here and there.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ImportWarning"),
]

#: Frameworks that have an approval of their own, and the package of each.
GATED = {"agno": "agno", "google_adk": "google.adk"}
#: Those that have none for a tool: a hook or a loop of the user asks.
UNGATED = {
    "strands": "strands",
    "llama_index": "llama_index",
    "autogen": "autogen_agentchat",
    "smolagents": "smolagents",
}
CREW = "crewai"


def _needs(package: str) -> None:
    top, _, rest = package.partition(".")
    if find_spec(top) is None or (rest and find_spec(package) is None):
        pytest.skip(f"{package} is not installed")


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("name", GATED)
def test_an_agent_with_approvals_is_taken_as_it_is(
    name: str, sentence: Callable[[str], None]
) -> None:
    """With its own tools, its own approvals and its own session."""
    _needs(GATED[name])
    sentence(name)


@pytest.mark.parametrize("name", GATED)
def test_an_agent_goes_on_in_a_new_process_where_it_waited(name: str) -> None:
    """It asks the person again, and not the model: Agno's own has a new id in each process."""
    _needs(GATED[name])
    trace = played(name, "approvals/crash-while-open")
    (crashed,) = trace.of_kind("process.crashed")
    asked = trace.of_kind("interaction.shown", "http.request")
    assert next(event.kind for event in asked if event.seq > crashed.seq) == "interaction.shown"


@pytest.mark.parametrize(
    "sentence",
    [its_function_is_called, its_session_is_resumed, a_fault_is_met_at_the_seam],
    ids=lambda item: item.__name__,
)
@pytest.mark.parametrize("name", UNGATED)
def test_an_agent_without_approvals_is_taken_as_it_is(
    name: str, sentence: Callable[[str], None]
) -> None:
    """With its own tools and its own session."""
    _needs(UNGATED[name])
    sentence(name)


@pytest.mark.parametrize(
    "sentence", [its_function_is_called, a_fault_is_met_at_the_seam], ids=lambda it: it.__name__
)
def test_a_crew_is_kicked_off_with_the_text(sentence: Callable[[str], None]) -> None:
    """With its own tools; it has no session."""
    _needs(CREW)
    sentence(CREW)


@pytest.mark.parametrize("name", [*UNGATED, CREW])
def test_no_tool_of_these_declares_an_approval(name: str) -> None:
    """What only reads is known by its name."""
    _needs({**UNGATED, CREW: CREW}[name])
    tools = {tool.name: tool for tool in agent(name).own_tools or ()}
    assert sorted(tools) == ["get_weather", "send_mail", "write_note"]
    assert not any(tool.gated for tool in tools.values())
    assert [name for name, tool in tools.items() if tool.reads] == ["get_weather"]


@pytest.mark.parametrize("name", UNGATED)
def test_equal_runs_of_these_give_equal_bytes(name: str) -> None:
    """Over two lives."""
    _needs(UNGATED[name])
    bytes_are_equal(name, "resume-drift/closed-session-is-resumed", LONGEST)


def test_smolagents_answers_by_the_tool_that_it_demands() -> None:
    """The model may not just say its answer, and the run is one that has an answer."""
    _needs("smolagents")
    trace = played("smolagents", "rate-limits/limited-after-a-tool")
    ended = list(trace.of_kind("http.exchange_ended"))[-1].payload
    assert ended["by_tool"] == "final_answer"
    returned = list(trace.of_kind("call.returned"))[-1].payload
    assert returned["text_sha256"] == ended["text_sha256"]


_CODE = """
from smolagents import CodeAgent, OpenAIModel

agent = CodeAgent(tools=[], model=OpenAIModel(model_id="gpt-5.2"), stream_outputs=STREAMS)
"""


_IN_A_STREAM = "common/answer-refused-in-a-stream"


@pytest.mark.parametrize("streams", [False, True])
def test_a_code_agent_of_smolagents_gets_its_answer_in_code(streams: bool, tmp_path: Path) -> None:
    """One request, whole or as a stream, as its owner has chosen."""
    _needs("smolagents")
    file = tmp_path / "code.py"
    file.write_text(_CODE.replace("STREAMS", str(streams)))
    binding = prepare(f"{file}:agent")
    assert binding.abilities.streams == ("always" if streams else "never")
    assert "writes code, so no call of a tool is played" in adopt(f"{file}:agent").taken_for.because
    left_out = why_left_out(shipped_scenario(_IN_A_STREAM), binding, binding.abilities)
    said = ("streams", "the check does not run this agent in a stream")
    assert left_out == (None if streams else said)
    trace = run_one(shipped_scenario("rate-limits/retry-after-absent"), binding, 0, isolate=True)
    assert trace.footer.ending == "completed"
    returned = list(trace.of_kind("call.returned"))[-1].payload
    assert "final_answer" not in returned["text"]
    assert [event.payload["status"] for event in trace.of_kind("http.response")][-1] == 200


def test_a_fault_meets_what_crewai_asks_the_model_and_not_its_counting() -> None:
    """Both are asked at one host."""
    _needs(CREW)
    trace = played(CREW, "rate-limits/limited-before-a-tool")
    counting = {
        event.payload["exchange"]
        for event in trace.of_kind("http.request")
        if event.payload.get("counts")
    }
    assert counting
    fired = [event.payload["exchange"] for event in trace.of_kind("fault.fired")]
    assert fired
    assert not counting.intersection(fired)


def test_the_reason_of_an_answer_is_handed_on_from_where_crewai_keeps_it() -> None:
    """An application finds it in an event."""
    _needs(CREW)
    *_, returned = played(CREW, "common/answer-filtered").of_kind("call.returned")
    assert returned.payload["finish_reason"] == "content_filter"


#: What stands behind another agent, of frameworks that have several.
BEHIND = {
    "google_adk": """
from google.adk.agents import Agent
from google.adk.tools import FunctionTool

def note(text: str) -> dict:
    "Write a note."
    return {"status": "written"}

clerk = Agent(name="clerk", model="gemini-2.5-flash", description="Writes.",
              tools=[FunctionTool(note, require_confirmation=True)])
agent = Agent(name="desk", model="gemini-2.5-flash", sub_agents=[clerk])
""",
    "google_adk two deep": """
from google.adk.agents import Agent

def note(text: str) -> dict:
    "Write a note."
    return {"status": "written"}

clerk = Agent(name="clerk", model="gemini-2.5-flash", description="Writes.", tools=[note])
head = Agent(name="head", model="gemini-2.5-flash", description="Leads.", sub_agents=[clerk])
agent = Agent(name="desk", model="gemini-2.5-flash", sub_agents=[head])
""",
    "google_adk as a tool": """
from google.adk.agents import Agent
from google.adk.tools.agent_tool import AgentTool

def note(text: str) -> dict:
    "Write a note."
    return {"status": "written"}

clerk = Agent(name="clerk", model="gemini-2.5-flash", description="Writes.", tools=[note])
agent = Agent(name="desk", model="gemini-2.5-flash", tools=[AgentTool(clerk)])
""",
    "llama_index": """
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI

def note(text: str) -> str:
    "Write a note."
    return "written"

llm = OpenAI(model="gpt-4o")
desk = FunctionAgent(name="desk", description="Talks.", llm=llm, can_handoff_to=["clerk"])
clerk = FunctionAgent(name="clerk", description="Writes.", llm=llm, tools=[note])
agent = AgentWorkflow(agents=[clerk, desk], root_agent="desk")
""",
    "llama_index two deep": """
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI

def note(text: str) -> str:
    "Write a note."
    return "written"

llm = OpenAI(model="gpt-4o")
desk = FunctionAgent(name="desk", description="Talks.", llm=llm, can_handoff_to=["head"])
head = FunctionAgent(name="head", description="Leads.", llm=llm, can_handoff_to=["clerk"])
clerk = FunctionAgent(name="clerk", description="Writes.", llm=llm, tools=[note])
agent = AgentWorkflow(agents=[clerk, desk, head], root_agent="desk")
""",
    "smolagents": """
from smolagents import OpenAIModel, ToolCallingAgent, tool

@tool
def note(text: str) -> str:
    '''Write a note.

    Args:
        text: What it says.
    '''
    return "written"

model = OpenAIModel(model_id="gpt-5.2")
clerk = ToolCallingAgent(tools=[note], model=model, name="clerk", description="Writes.")
agent = ToolCallingAgent(tools=[], model=model, managed_agents=[clerk], planning_interval=3)
""",
}


@pytest.mark.parametrize("name", BEHIND)
def test_a_tool_of_another_agent_is_called_behind_what_leads_to_it(
    name: str, tmp_path: Path
) -> None:
    """A transfer, a handoff, or the call of a managed agent, and a plan before all of them."""
    framework = name.partition(" ")[0]
    _needs({**GATED, **UNGATED}[framework])
    file = tmp_path / "team.py"
    file.write_text(BEHIND[name])
    binding = prepare(f"{file}:agent{SPEAKS.get(framework, '')}")
    assert [tool.name for tool in binding.own_tools or ()] == ["note"]
    gated = any(tool.gated for tool in binding.own_tools or ())
    scenario = "approvals/timer-starts-with-the-execution" if gated else "tools/slow-but-in-time"
    trace = run_one(shipped_scenario(scenario), binding, 0, isolate=True)
    assert [event.payload["tool"] for event in trace.of_kind("tool.effect")] == ["note"]
    assert trace.footer.ending == "completed"


_REACT = """
from llama_index.core.agent.workflow import ReActAgent
from llama_index.llms.openai import OpenAI

agent = ReActAgent(tools=[], llm=OpenAI(model="gpt-4o"))
"""


def test_a_llama_index_agent_that_asks_for_tools_in_words_is_refused(tmp_path: Path) -> None:
    """A scripted model does not write what it would have to parse."""
    _needs("llama_index")
    file = tmp_path / "react.py"
    file.write_text(_REACT)
    with pytest.raises(SubjectError, match="a ReActAgent has its model ask for tools in a text"):
        prepare(f"{file}:agent")


_IN_MEMORY = """
from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai import OpenAIChat

def make_agent():
    return Agent(model=OpenAIChat(id="gpt-5.2"), db=InMemoryDb(), add_history_to_context=True)
"""


def test_a_session_that_agno_has_in_memory_is_kept_whoever_made_it(tmp_path: Path) -> None:
    """A fresh process has what was said."""
    _needs("agno")
    file = tmp_path / "shop.py"
    file.write_text(_IN_MEMORY)
    scenario = shipped_scenario("resume-drift/closed-session-is-resumed")
    trace = run_one(scenario, prepare(f"{file}:make_agent"), 0, isolate=True)
    last = list(trace.of_kind("http.request"))[-1].payload["messages"]
    assert sum(message["role"] == "user" for message in last) == 2


_UNTOLD = """
from agno.agent import Agent
from agno.models.openai import OpenAIChat
from agno.tools import tool

@tool(requires_confirmation=True)
def send_mail(to: str) -> str:
    "Send a mail."
    return "sent"

agent = Agent(model=OpenAIChat(id="gpt-5.2"), tools=[send_mail], add_history_to_context=TOLD)
"""


@pytest.mark.parametrize("told", [True, False])
def test_a_history_that_agno_stores_and_does_not_send_is_not_called_lost(
    told: bool, tmp_path: Path
) -> None:
    """That is how the agent is configured, and a waiting run is resumed all the same."""
    _needs("agno")
    file = tmp_path / "shop.py"
    file.write_text(_UNTOLD.replace("TOLD", str(told)))
    target = take(adopt(f"{file}:agent"))
    assert ("stores its history without sending it" in target.taken_for.because) is not told
    assert target.abilities.sessions
    assert target.abilities.history is told
    swept, binding = shipped_scenario("resume-drift/crash-after-each-event"), prepare(target.spec)
    whole = run_one(without_crashes(swept), binding, 0, isolate=True)
    assert ("no-history" in whole.header.subject.lacks) is not told
    # The turn is stored: a fresh process has its messages, and sends the next one.
    *_, stored = (it for it in whole.of_kind("store.answered") if it.payload["call"] == "write/1")
    trace = run_one(crash_after(swept, stored.seq), binding, 0, isolate=True)
    assert [event.payload["life"] for event in trace.of_kind("process.started")] == [1, 2]
    found = judge(load_error_model("common"), trace).findings
    assert not [item for item in found if item.verdict is Verdict.FAIL]


_ASKS_ITSELF = """
from google.adk.agents import Agent

def pay(account: str, tool_context) -> dict:
    "Pay an invoice."
    if tool_context.tool_confirmation is None:
        tool_context.request_confirmation(hint="Pay?")
        return {"status": "waiting"}
    if not tool_context.tool_confirmation.confirmed:
        return {"status": "rejected"}
    return {"status": "paid"}

agent = Agent(name="clerk", model="gemini-2.5-flash", tools=[pay])
"""


def test_a_function_of_google_adk_that_asks_itself_needs_a_yes(tmp_path: Path) -> None:
    """It acts once, when it is called again after the answer."""
    _needs("google.adk")
    file = tmp_path / "clerk.py"
    file.write_text(_ASKS_ITSELF)
    binding = prepare(f"{file}:agent{SPEAKS['google_adk']}")
    wanted = ["interaction.shown", "interaction.answered", "tool.effect"]
    for scenario, seen in (
        ("approvals/timer-starts-with-the-execution", wanted),
        ("shared/approval-denied", wanted[:2]),
    ):
        trace = run_one(shipped_scenario(scenario), binding, 0, isolate=True)
        assert [event.kind for event in trace.of_kind(*wanted)] == seen


def test_a_function_of_google_adk_that_may_ask_is_no_gate(tmp_path: Path) -> None:
    """Where a function decides whether a call needs a yes, none of its calls is judged by one."""
    _needs("google.adk")
    file = tmp_path / "desk.py"
    asks_for_some = "require_confirmation=lambda text: len(text) > 99"
    file.write_text(BEHIND["google_adk"].replace("require_confirmation=True", asks_for_some))
    binding = prepare(f"{file}:agent{SPEAKS['google_adk']}")
    assert [tool.gated for tool in binding.own_tools or ()] == [False]
    assert [what for what, _ in binding.unjudged] == ["whether note waits for a yes"]


_TEAM = """
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient

writer = AssistantAgent("writer", OpenAIChatCompletionClient(model="gpt-4o", api_key="x"))
team = RoundRobinGroupChat([writer])
"""


def test_a_team_of_autogen_is_refused_with_what_can_be_named(tmp_path: Path) -> None:
    """Its methods want objects of AutoGen."""
    _needs("autogen_agentchat")
    file = tmp_path / "team.py"
    file.write_text(_TEAM)
    with pytest.raises(SubjectError, match="a RoundRobinGroupChat cannot be called") as caught:
        prepare(f"{file}:team")
    assert str(caught.value.hint).startswith("of AutoGen, name an agent (AssistantAgent)")
    with pytest.raises(SubjectError, match="there is no 'agent' in it") as caught:
        prepare(f"{file}:agent")
    assert caught.value.hint == f"write {file}:writer"
