"""Agents of the OpenAI Agents SDK, in the shipped scenarios."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.oracle.judge import judge
from faultclock.oracle.wire.attempts import observe
from faultclock.oracle.wire.requests import waited
from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.probe import probe
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.sim.patches import installed
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks.agents import SENTENCES, agent, an_option_mends, broken_by, played
from tests.subjects.frameworks.programs import OPENAI_AGENTS


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: item.__name__)
def test_an_agent_is_taken_as_it_is(sentence: Callable[[str], None]) -> None:
    """With its own tools, its own approvals and its own session."""
    sentence("openai_agents")


_AGENT = """
from agents import Agent, function_tool


@function_tool(OPTION)
async def write_note(path: str) -> str:
    "Write a note."
    return "written"


agent = Agent(name="Assistant", tools=[write_note])
"""


@pytest.mark.parametrize(
    ("requirement", "scenario", "option"),
    [
        ("COMMON-END-03", "tools/hangs-for-ever", "timeout=30"),
        (
            "COMMON-SECRET-02",
            "shared/tool-throws",
            "failure_error_function=lambda context, error: 'It failed.'",
        ),
    ],
)
def test_an_option_that_a_problem_names_mends_it(
    requirement: str, scenario: str, option: str, tmp_path: Path
) -> None:
    """Without it, the same agent breaks the requirement."""
    texts = _AGENT.replace("OPTION", ""), _AGENT.replace("OPTION", option)
    an_option_mends("OpenAI Agents SDK", requirement, scenario, texts, tmp_path)


def test_the_words_of_a_tool_that_the_sdk_quotes_are_the_tools(tmp_path: Path) -> None:
    """`failure_error_function=None` asks the SDK to raise what a tool raised."""
    text = _AGENT.replace("OPTION", "failure_error_function=None")
    broken = broken_by(tmp_path / "raises.py", text, "shared/tool-throws")
    assert broken == {"COMMON-RESULT-05"}


@pytest.mark.parametrize(
    ("scenario", "status"),
    [
        ("common/answer-filtered", "incomplete"),
        ("common/answer-cut", "incomplete"),
        ("common/answer-empty", "completed"),
    ],
)
def test_the_last_message_says_whether_it_is_whole(scenario: str, status: str) -> None:
    """An application has it in `raw_responses`: openai-agents 0.20.0, result.py, items.py."""
    *_, returned = played("openai_agents", scenario).of_kind("call.returned")
    assert returned.payload["finish_reason"] == status


def test_an_answer_without_a_message_becomes_an_empty_text() -> None:
    """openai/openai-agents-python#4510: nothing of the result says that the model was silent."""
    *_, returned = played("openai_agents", "common/answer-null").of_kind("call.returned")
    assert (returned.payload["text"], returned.payload.get("finish_reason")) == ("", None)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of a user's."""
    file = tmp_path_factory.mktemp("programs") / "openai_program.py"
    file.write_text(OPENAI_AGENTS)
    return file


@cache
def _taken(program: Path, name: str) -> Binding:
    return prepare(f"{program}:{name}")


def _played(binding: Binding, scenario: str) -> Trace:
    return run_one(shipped_scenario(scenario), binding, 0, isolate=True)


def test_it_streams_where_a_scenario_asks_for_it() -> None:
    """What the user saw before the stream broke is in the trace; equal runs are equal."""
    first, second = (
        _played(agent("openai_agents"), "common/stream-breaks-after-content") for _ in range(2)
    )
    assert all(event.payload["stream"] for event in first.of_kind("http.request"))
    assert any(first.of_kind("declared.content"))
    assert list(trace_lines(first)) == list(trace_lines(second))


def test_an_answer_fits_its_output_type(program: Path) -> None:
    """As the JSON schema of the request has it."""
    trace = _played(_taken(program, "forms"), "resume-drift/closed-session-is-resumed")
    *_, returned = (event for event in trace.of_kind("call.returned") if event.payload["text"])
    assert sorted(json.loads(returned.payload["text"])) == ["name", "people"]


@pytest.mark.parametrize(("name", "tool"), [("triage", "refund"), ("manager", "book")])
def test_a_tool_behind_another_agent_is_called(name: str, tool: str, program: Path) -> None:
    """The model makes the handoff first, or calls the agent."""
    binding = _taken(program, name)
    assert [item.name for item in binding.own_tools or ()] == [tool]
    trace = _played(binding, "rate-limits/limited-after-a-tool")
    assert [event.payload["tool"] for event in trace.of_kind("tool.called")] == [tool]
    assert trace.footer.ending == "completed"


_MANAGER = """
from agents import Agent, OpenAIChatCompletionsModel, function_tool
from openai import AsyncOpenAI


@function_tool(timeout=30, failure_error_function=lambda context, error: "It failed.")
async def write_note(path: str, text: str = "") -> str:
    "Write a note."
    return "written"


model = OpenAIChatCompletionsModel("gpt-5.2", AsyncOpenAI(api_key="sk-test"))
worker = Agent(name="Worker", model=model, tools=[write_note])
do_work = worker.as_tool("do_work", "Does work.")
agent = Agent(name="Manager", model=model, tools=[do_work])
"""


@pytest.mark.parametrize(
    "scenario",
    [
        "shared/tool-fails",
        "common/agents/killed-between-two-effects",
        "common/agents/limited-right-after-an-effect-in-each-step",
        "provider-transient/too-long-after-a-tool",
        # Each worker has a limit of ten turns; the manager has not come to its own.
        "tools/loop-bound",
    ],
)
def test_an_agent_that_is_a_tool_loses_no_results(scenario: str, tmp_path: Path) -> None:
    """It has a conversation of its own; two of them at once ask the same and get the same ids."""
    assert broken_by(tmp_path / "manager.py", _MANAGER, scenario) == set()


def test_a_session_of_the_users_own_is_resumed(program: Path) -> None:
    """A SQLite database in the folder of the run; the store of the scenario is not asked."""
    trace = _played(_taken(program, "make_agent"), "resume-drift/closed-session-is-resumed")
    assert not any(trace.of_kind("store.asked"))
    last = list(trace.of_kind("http.request"))[-1].payload["messages"]
    assert sum(message["role"] == "user" for message in last) == 2


def test_a_context_that_is_needed_is_asked_for(program: Path) -> None:
    """With the function to write."""
    with pytest.raises(SubjectError, match="a context of the class User"):
        _taken(program, "needs_context")


_LOSING = """
import json
from pathlib import Path

from agents import Agent


class Loses:
    "A session of its own, by the protocol of the SDK, that drops the last item of each write."

    session_id = "mine"
    session_settings = None
    file = Path("session.json")

    async def get_items(self, limit=None):
        return json.loads(self.file.read_text()) if self.file.exists() else []

    async def add_items(self, items):
        kept = await self.get_items() + list(items)
        self.file.write_text(json.dumps(kept[:-1] if len(kept) > 1 else kept))

    async def pop_item(self):
        return None

    async def clear_session(self):
        self.file.unlink(missing_ok=True)


def make_agent():
    return Agent(name="Assistant"), Loses()
"""


def test_a_session_by_the_protocol_of_the_sdk_is_one_that_is_used(tmp_path: Path) -> None:
    """And one that loses a part of the conversation is not taken for none."""
    file = tmp_path / "losing.py"
    file.write_text(_LOSING)
    binding = prepare(f"{file}:make_agent")
    assert abilities_of(probe(binding)).sessions
    scenario = shipped_scenario("resume-drift/closed-session-is-resumed")
    trace = run_one(scenario, binding, 0, isolate=True)
    assert not any(trace.of_kind("store.asked"))
    found = judge(load_error_model("common"), trace).findings
    assert {item.verdict for item in found} & {Verdict.FAIL, Verdict.INCONCLUSIVE}


_GUARDED = """
from pydantic import BaseModel
from agents import Agent, GuardrailFunctionOutput, Runner, input_guardrail


class Homework(BaseModel):
    is_homework: bool
    reasoning: str


checker = Agent(name="Checker", instructions="Is it homework?", output_type=Homework)


@input_guardrail
async def no_homework(ctx, agent, input):
    result = await Runner.run(checker, input, context=ctx.context)
    return GuardrailFunctionOutput(output_info=result.final_output, tripwire_triggered=False)


agent = Agent(name="Support", instructions="You help.", input_guardrails=[no_homework])
"""


@pytest.mark.parametrize(
    "scenario",
    [
        "resume-drift/closed-session-is-resumed",
        "rate-limits/limited-on-resume",
        "common/limited-for-ever",
        "common/closed-for-an-hour",
        "rate-limits/retry-after-integer",
        "provider-transient/silent-for-ever",
        "provider-transient/statuses-without-a-rule",
    ],
)
def test_a_guardrail_that_asks_beside_the_agent_is_no_fault(scenario: str, tmp_path: Path) -> None:
    """Its request is open at the same time, and is another one."""
    assert broken_by(tmp_path / "guarded.py", _GUARDED, scenario) == set()


def test_a_guardrail_and_its_agent_each_have_the_retries_of_the_sdk(tmp_path: Path) -> None:
    """Three attempts of one, of which no wait is negative; the other one is cut by its end."""
    file = tmp_path / "guarded.py"
    file.write_text(_GUARDED)
    trace = _played(prepare(f"{file}:agent"), "common/limited-for-ever")
    (turn,) = (call for call in observe(trace).calls if call.is_turn)
    by_outcome = {request.outcome: request for request in turn.requests}
    assert sorted(by_outcome) == ["cut", "raised"]
    assert len(by_outcome["raised"].attempts) == 3
    assert {request.is_one_of_several for request in turn.requests} == {True}
    for request in turn.requests:
        waits = [waited(*pair) for pair in pairwise(request.attempts)]
        assert all(wait is not None and wait > 0 for wait in waits)


def test_the_retries_of_an_agent_alone_are_one_request() -> None:
    """As they were: three attempts for one answer."""
    trace = _played(agent("openai_agents"), "common/limited-for-ever")
    (turn,) = (call for call in observe(trace).calls if call.is_turn)
    assert [len(request.attempts) for request in turn.requests] == [3]


_SOMETIMES = """
from agents import Agent, function_tool


async def is_big(context, arguments, call_id):
    return arguments.get("amount", 0) > 1000


@function_tool(needs_approval=is_big)
async def send_mail(to: str, amount: int) -> str:
    "Send a mail."
    return "sent"


@function_tool(needs_approval=True)
async def pay(to: str, amount: int) -> str:
    "Pay money."
    return "paid"


agent = Agent(name="Assistant", tools=[send_mail, pay])
"""


@pytest.mark.parametrize("scenario", ["shared/approval-denied", "shared/tool-fails"])
def test_a_tool_that_asks_for_some_calls_is_none_that_needs_a_yes(
    scenario: str, tmp_path: Path
) -> None:
    """Its function decides that, so consent is judged of the tool beside it, which always asks."""
    file = tmp_path / "agent.py"
    assert "COMMON-CONSENT-01" not in broken_by(file, _SOMETIMES, scenario)
    binding = prepare(f"{file}:agent")
    assert [(it.name, it.gated) for it in binding.own_tools or ()] == [
        ("send_mail", False),
        ("pay", True),
    ]
    assert abilities_of(probe(binding)).approvals
    assert [what for what, _ in binding.unjudged] == ["whether send_mail waits for a yes"]
