"""Agents as their users write them: in streams, on databases, with forms, factories and others."""

from __future__ import annotations

import json
import socket
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from faultclock.check.target import take
from faultclock.errors import SubjectError
from faultclock.model.trace.trace import Trace, trace_lines
from faultclock.run.doctor.abilities import abilities_of
from faultclock.run.doctor.probe import probe
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.adopt import adopt
from faultclock.subjects.binding import Binding
from faultclock.subjects.frameworks.own_tools import own_tool
from tests.architecture.source_tree import PROJECT
from tests.run.conftest import shipped_scenario
from tests.subjects.frameworks import programs
from tests.subjects.frameworks.agents import agent as first_page
from tests.subjects.frameworks.agents import broken_by

LANGGRAPH, PYDANTIC_AI = "langgraph", "pydantic_ai"
_TEXTS = {LANGGRAPH: programs.LANGGRAPH, PYDANTIC_AI: programs.PYDANTIC_AI}
pytestmark = pytest.mark.usefixtures("_key")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Have a key: clients of these programs are made when their file is imported.

    So are databases, beside the program.
    """
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the programs are."""
    made = tmp_path_factory.mktemp("programs")
    for name, text in _TEXTS.items():
        (made / f"{name}_program.py").write_text(text)
    return made


@cache
def _taken(folder: Path, framework: str, name: str) -> Binding:
    return prepare(f"{folder}/{framework}_program.py:{name}")


def _played(binding: Binding, scenario: str) -> Trace:
    return run_one(shipped_scenario(scenario), binding, 0, isolate=True)


def _tools(binding: Binding) -> dict[str, bool]:
    return {tool.name: tool.gated for tool in binding.own_tools or ()}


# ---------------------------------------------------------------------- streams


@pytest.mark.parametrize("framework", [LANGGRAPH, PYDANTIC_AI])
def test_an_agent_streams_where_a_scenario_asks_for_it(framework: str) -> None:
    """And only there; what the user saw before the stream broke is in the trace."""
    binding = first_page(framework)
    assert abilities_of(probe(binding)).streams == "as asked"
    broken = _played(binding, "common/stream-breaks-after-content")
    assert all(event.payload["stream"] for event in broken.of_kind("http.request"))
    assert any(broken.of_kind("declared.content"))
    whole = _played(binding, "common/answer-cut")
    assert not any(event.payload["stream"] for event in whole.of_kind("http.request"))
    assert not any(whole.of_kind("declared.content"))


def test_a_blocking_agent_streams_as_well(folder: Path) -> None:
    """By the blocking call that streams."""
    trace = _played(_taken(folder, LANGGRAPH, "blocking"), "common/stream-breaks-after-content")
    assert any(trace.of_kind("declared.content"))


# ---------------------------------------------------------------------- what cannot be awaited


@pytest.mark.parametrize(
    ("name", "what"),
    [("blocking", "its SqliteSaver"), ("middle", "its hooked"), ("by_hand", "its node ask")],
)
def test_a_graph_that_cannot_be_awaited_is_called_as_a_blocking_program(
    name: str, what: str, folder: Path
) -> None:
    """A saver, a middleware, or functions of nodes that call tools themselves, by its name."""
    binding = _taken(folder, LANGGRAPH, name)
    assert binding.style == "sync"
    because = adopt(f"{folder}/{LANGGRAPH}_program.py:{name}").taken_for.because
    assert f"; {what}" in because
    assert "only blocks (" in because
    trace = _played(binding, "rate-limits/limited-after-a-tool")
    assert trace.footer.ending == "completed"
    (reply,) = trace.of_kind("tool.replied")
    assert reply.payload["ok"]


@pytest.mark.parametrize(("name", "style"), [("blocking", "sync"), ("make_agent", "async")])
def test_a_crash_and_its_resume_are_those_of_the_database(
    name: str, style: str, folder: Path
) -> None:
    """A fresh process opens the file of the run, and knows what was said."""
    binding = _taken(folder, LANGGRAPH, name)
    assert binding.style == style
    first, second = (_played(binding, "resume-drift/effect-is-not-repeated") for _ in range(2))
    assert [event.payload["life"] for event in first.of_kind("process.started")] == [1, 2]
    assert not any(first.of_kind("store.asked"))
    last = list(first.of_kind("http.request"))[-1].payload["messages"]
    assert sum(message["role"] == "user" for message in last) == 2
    assert list(trace_lines(first)) == list(trace_lines(second))


# ---------------------------------------------------------------------- forms


@pytest.mark.parametrize(
    ("framework", "name", "keys"),
    [
        (LANGGRAPH, "forms", ["city", "degrees"]),
        (PYDANTIC_AI, "forms", ["risk", "text"]),
        (PYDANTIC_AI, "native", ["risk", "text"]),
    ],
)
def test_an_answer_fits_the_form_that_a_request_demands(
    framework: str, name: str, keys: list[str], folder: Path
) -> None:
    """As JSON, or as a call that stands for it; and it is what the turn returns."""
    trace = _played(_taken(folder, framework, name), "rate-limits/limited-after-a-tool")
    returned = [event.payload for event in trace.of_kind("call.returned") if event.payload["text"]]
    assert sorted(json.loads(returned[-1]["text"])) == keys
    assert [event.kind for event in trace.of_kind("tool.called")] == ["tool.called"]


# ---------------------------------------------------------------------- what a run is given


@pytest.mark.parametrize(
    ("framework", "name", "what"),
    [(LANGGRAPH, "needs_context", "a context"), (PYDANTIC_AI, "needs_deps", "dependencies")],
)
def test_what_a_run_needs_is_asked_for_by_name(
    framework: str, name: str, what: str, folder: Path
) -> None:
    """With the function to write."""
    with pytest.raises(SubjectError, match=what) as raised:
        _taken(folder, framework, name)
    assert "def make_agent(): return agent, " in (raised.value.hint or "")


@pytest.mark.parametrize("name", ["make_agent", "easy"])
def test_what_a_run_needs_is_handed_over_or_made(name: str, folder: Path) -> None:
    """By a factory; or by its class, which takes no arguments."""
    trace = _played(_taken(folder, PYDANTIC_AI, name), "shared/tool-fails")
    assert any(trace.of_kind("tool.called"))


def test_a_factory_that_makes_no_agent_is_told(folder: Path) -> None:
    """With how to say that it asks a model itself."""
    with pytest.raises(SubjectError, match="returns an object of the class str, and no") as raised:
        _taken(folder, PYDANTIC_AI, "create_text_agent")
    assert "@nothing" in (raised.value.hint or "")


def test_a_factory_reaches_no_network_when_it_is_tried(tmp_path: Path) -> None:
    """It is called once before there is a world."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        file = tmp_path / "dials.py"
        address = server.getsockname()
        file.write_text(
            f"import socket\ndef make_agent():\n    socket.create_connection({address})\n"
        )
        with pytest.raises(SubjectError, match="to make the agent raised gaierror"):
            prepare(f"{file}:make_agent")


def test_an_agent_whose_tools_need_no_yes_asks_no_person(tmp_path: Path) -> None:
    """What it was taken for says so, and which of its tools only read."""
    (tmp_path / "reads.py").write_text(
        "import httpx2\nfrom pydantic_ai import Agent\nagent = Agent('openai-chat:gpt-5.2')\n"
        "@agent.tool_plain\ndef get_note(path: str) -> str:\n"
        "    return httpx2.get('https://notes.example.com').text\n"
    )
    # Its tool asks a host that nothing answers, so no run shows what it does.
    because = take(adopt(f"{tmp_path}/reads.py:agent")).taken_for.because
    assert because.startswith("its own tools are get_note (only reads); ")
    assert "asks no person" in because


@pytest.mark.parametrize(
    ("framework", "name", "said"),
    [
        (LANGGRAPH, "middle", "keeps its session (the check gave it a checkpointer: your own"),
        (LANGGRAPH, "forgetful", "keeps no session (its InMemorySaver is lost with the process)"),
        (LANGGRAPH, "blocking", "keeps its session, is not cancelled by the check"),
        (PYDANTIC_AI, "agent", "keeps its session (the check stored its messages: your own"),
    ],
)
def test_what_is_said_of_a_session_names_who_keeps_it(
    folder: Path, framework: str, name: str, said: str
) -> None:
    """A reader must not believe that his program survives a crash by what the check handed in."""
    target = f"{folder}/{framework}_program.py:{name}"
    if framework == PYDANTIC_AI:
        target = f"{PROJECT}/fixtures/agents/pydantic_ai_agent.py:{name}"
    assert said in take(adopt(target)).taken_for.because


# ---------------------------------------------------------------------- tools, wherever they hang


@pytest.mark.parametrize(
    ("framework", "name", "tools"),
    [
        (PYDANTIC_AI, "wrapped", {"notes_write_note": False, "files_delete_file": True}),
        (LANGGRAPH, "nested", {"write_note": False}),
        (LANGGRAPH, "supervisor", {"delegate": False, "write_note": False}),
        (LANGGRAPH, "asking", {"send_mail": True, "write_note": False}),
        (LANGGRAPH, "around", {"pay": True, "write_note": False}),
        (LANGGRAPH, "by_hand", {"write_note": False}),
    ],
)
def test_tools_are_found_wherever_they_hang(
    framework: str, name: str, tools: dict[str, bool], folder: Path
) -> None:
    """Prefixed, guarded, in a graph within a graph, behind another tool, or asking alone."""
    assert _tools(_taken(folder, framework, name)) == tools


@pytest.mark.parametrize(("framework", "name"), [(PYDANTIC_AI, "wrapped"), (LANGGRAPH, "asking")])
def test_a_tool_that_was_denied_has_done_nothing(framework: str, name: str, folder: Path) -> None:
    """Also where it asks by itself, and is called again to hear the no."""
    binding = _taken(folder, framework, name)
    denied = _played(binding, "shared/approval-denied")
    assert any(denied.of_kind("interaction.shown"))
    assert not any(denied.of_kind("tool.called", "tool.effect"))
    approved = _played(binding, "approvals/timer-starts-with-the-execution")
    wanted = ("interaction.shown", "interaction.answered", "tool.called")
    assert [event.kind for event in approved.of_kind(*wanted)] == list(wanted)


_ASKS = """
from langchain.agents import create_agent
from langgraph.types import interrupt


def send_mail(to: str) -> str:
    "Send a mail."
    ANSWER
    return "sent"


agent = create_agent("openai:gpt-5.2", tools=[send_mail])
"""


@pytest.mark.parametrize(
    ("answer", "broken"),
    [
        ("interrupt({'to': to})", {"COMMON-CONSENT-01"}),
        ("answer = interrupt({'to': to})", {"COMMON-CONSENT-01"}),
        ("return 'sent' if interrupt({'to': to}) else 'not sent'", set()),
        ("answer = interrupt({'to': to})\n    if not answer: return 'not sent'", set()),
        ("if not interrupt({'to': to}):\n        return 'not sent'", set()),
    ],
)
def test_a_tool_that_asks_and_does_not_read_the_answer_acts_after_a_no(
    answer: str, broken: set[str], tmp_path: Path
) -> None:
    """What it returns cannot show that, so its code is read."""
    text = _ASKS.replace("ANSWER", answer)
    assert broken_by(tmp_path / "asks.py", text, "shared/approval-denied") == broken


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("get_weather", True),
        ("getWeather", True),
        ("search", True),
        ("add", True),
        ("add_payment", False),
        ("settle", False),
    ],
)
def test_a_name_says_whether_a_tool_only_reads(name: str, reads: bool) -> None:
    """By its first word; to add is to calculate where nothing is said to be added."""
    script = own_tool(name, None, None)
    assert script is not None
    assert script.reads == reads


def test_a_question_that_is_open_at_a_crash_is_asked_again(folder: Path) -> None:
    """About the same tool, and in the form that it reads."""
    trace = _played(_taken(folder, LANGGRAPH, "asking"), "approvals/crash-while-open")
    shown: list[Any] = [event.payload["tool"] for event in trace.of_kind("interaction.shown")]
    assert set(shown) == {"send_mail"}
    assert len(shown) > 1
    assert not any(trace.of_kind("call.raised"))
