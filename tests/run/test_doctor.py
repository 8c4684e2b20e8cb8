"""A subject is examined before it is judged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultclock.run.doctor.doctor import Examination, examine
from faultclock.subjects.adopt import adopt
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest, ToolProblem, ToolRequest, ToolResult
from faultclock.subjects.registry import load_subject


def states(examination: Examination) -> dict[str, str]:
    """Return what came of each trial."""
    return {item.what: item.state for item in examination.trials}


def found(examination: Examination, what: str) -> str:
    """Return what a trial found."""
    (trial,) = (item for item in examination.trials if item.what == what)
    return trial.found


def to_mend(examination: Examination) -> tuple[str, ...]:
    """Return all that must be mended, as sentences."""
    broken = (item for item in examination.trials if item.state == "broken")
    return (*(f"{item.what}: {item.found}" for item in broken), *examination.problems)


def test_a_healthy_subject_has_no_problem(bound: Callable[[str], Binding]) -> None:
    """It answers both tasks, and asked the provider for each."""
    examination = examine(bound("reference"))
    assert to_mend(examination) == ()
    assert states(examination) == {
        "a plain answer": "works",
        "a streamed answer": "works",
        "an error": "works",
    }
    assert examination.requests == 2


def test_an_adapter_that_ignores_streaming_is_told(bound: Callable[[str], Binding]) -> None:
    """Faults inside a stream would never be met."""

    @provider_adapter(id="deaf")
    async def deaf(request: ProviderRequest) -> object:
        return await bound("reference").invoke_async(replace(request, stream=False))

    assert any("ignores request.stream" in item for item in to_mend(examine(deaf)))


def test_an_adapter_that_asks_nobody_is_told() -> None:
    """A canned answer looks healthy from outside."""

    @provider_adapter(id="canned")
    def canned(request: ProviderRequest) -> str:
        return "Hello."

    examination = examine(canned)
    assert any("no request" in item for item in to_mend(examination))
    assert "an error" not in states(examination)


def test_an_adapter_that_fails_is_quoted() -> None:
    """With the error that it raised on a healthy provider."""

    @provider_adapter(id="broken")
    def broken(request: ProviderRequest) -> str:
        raise RuntimeError("no key configured")

    problems = to_mend(examine(broken))
    assert any("no key configured" in item for item in problems)


@pytest.mark.parametrize(
    "id_",
    [
        *("reference-tool", "reference-tool-sync"),
        *("reference-extension", "reference-extension-sync"),
    ],
)
def test_a_healthy_tool_or_extension_has_no_problem(id_: str) -> None:
    """Its service saw it, and its contract is shown."""
    examination = examine(load_subject(id_))
    assert to_mend(examination) == ()
    assert set(states(examination).values()) == {"works"}
    assert (examination.asked, examination.requests) == ("its service", 1)
    assert examination.shows


def test_a_tool_that_cannot_live_with_its_service_is_told() -> None:
    """With what the contract has to say for it."""

    @tool(name="broken", output_schema={"type": "object"})
    def broken(call: ToolRequest) -> object:
        raise RuntimeError("no such field: celsius")

    assert any("celsius" in item for item in to_mend(examine(broken)))

    @tool(name="failing")
    def failing(call: ToolRequest) -> object:
        return ToolResult(problem=ToolProblem(error_class="ToolTerminal", code="NotFound"))

    assert any("service=…" in item for item in to_mend(examine(failing)))

    @tool(name="shapeless", output_schema={"type": "object"})
    def shapeless(call: ToolRequest) -> object:
        return [1]

    assert any("output schema" in item for item in to_mend(examine(shapeless)))


def test_a_tool_that_accepts_anything_is_told_so() -> None:
    """It is no fault, and little can be shown."""

    @tool(name="open_minded")
    def open_minded(call: ToolRequest) -> object:
        return 1

    examination = examine(open_minded)
    assert to_mend(examination) == ()
    assert sum("accepts anything" in line for line in examination.shows) == 2


def test_an_extension_that_hides_or_leaves_something_is_told() -> None:
    """A capability that is declared and not there, a task that outlives dispose."""

    @extension(kind="Logger", contract_version="1.0.0", capabilities=("log",))
    class Leaky:
        def __init__(self, host: object) -> None: ...
        async def init(self) -> None: ...
        async def activate(self) -> None:
            self.left = asyncio.create_task(asyncio.sleep(10_000))

        async def deactivate(self) -> None: ...
        async def dispose(self) -> None: ...

    problems = to_mend(examine(Leaky))
    assert any("'log'" in item for item in problems)
    assert any("left after dispose" in item for item in problems)


def test_a_tool_that_ends_its_process_is_told_by_the_ending() -> None:
    """There is no contract in such a trace, and no crash of ours either."""

    @tool(name="fatal")
    def fatal(call: ToolRequest) -> object:
        os._exit(3)

    assert any("the run ended by" in item for item in to_mend(examine(fatal)))


def test_what_an_adapter_never_does_is_not_tried(bound: Callable[[str], Binding]) -> None:
    """It declares that, or it is a function of a prompt, which cannot know of streams."""
    reference = bound("reference")

    async def plain(request: ProviderRequest) -> object:
        return await reference.invoke_async(replace(request, stream=False))

    mute = provider_adapter(id="mute", streams=False)(plain)
    assert found(examine(mute), "a streamed answer").startswith("it declares that it never")
    prompted = examine(provider_adapter(id="prompted")(plain), given_requests=False)
    assert states(prompted)["a streamed answer"] == "not tried"
    assert to_mend(prompted) == ()


def test_an_error_that_becomes_an_answer_is_to_be_looked_at(
    bound: Callable[[str], Binding],
) -> None:
    """Whether that is meant, a person has to say."""

    @provider_adapter(id="soothing")
    async def soothing(request: ProviderRequest) -> object:
        try:
            return await bound("reference").invoke_async(request)
        except Exception:
            return "All is well."

    trial = examine(soothing).trials[-1]
    assert (trial.what, trial.state) == ("an error", "look")
    assert "returns 'All is well.' as if that were an answer" in trial.found


def test_a_runtime_is_tried_with_tools_approvals_and_a_restart() -> None:
    """The correct one does all of it."""
    examination = examine(load_subject("reference-runtime"))
    assert to_mend(examination) == ()
    assert states(examination) == dict.fromkeys(
        (
            "a turn",
            "a turn in a stream",
            "an error",
            "a tool",
            "a tool that fails",
            "a tool that needs a yes",
            "a tool that the person denies",
            "a restart that resumes the session",
        ),
        "works",
    )


def test_a_runtime_that_drops_problems_is_told() -> None:
    """And what it does not do is not tried, with how to declare that."""
    examination = examine(load_subject("openai-agent"))
    assert states(examination) == {
        "a turn": "works",
        "a turn in a stream": "not tried",
        "an error": "works",
        "a tool": "works",
        "a tool that fails": "broken",
        "a tool that needs a yes": "not tried",
        "a tool that the person denies": "not tried",
        "a restart that resumes the session": "not tried",
    }
    assert "the model is sent null" in found(examination, "a tool that fails")
    hints = " ".join(item.hint or "" for item in examination.trials)
    assert "approvals=False" in hints
    assert "sessions=False" in hints


def test_a_runtime_whose_tool_calls_raise_is_not_well() -> None:
    """A text turn alone would not show it."""
    agent = load_subject("openai-agent").function

    class Broken(agent):  # type: ignore[misc, valid-type]
        async def _call_tool(self, call: object) -> object:
            return await self._tools.execute()

    (trial,) = (
        item for item in examine(runtime(id="broken")(Broken)).trials if item.what == "a tool"
    )
    assert trial.state == "broken"
    assert "AttributeError" in trial.found


def test_a_runtime_that_swallows_what_a_tool_call_raises_is_not_well() -> None:
    """The tool is never called, and the turn looks as if all was well."""
    agent = load_subject("openai-agent").function

    class Silent(agent):  # type: ignore[misc, valid-type]
        async def _call_tool(self, call: Any) -> object:
            try:
                return await self._tools[call.function.name].execute()
            except TypeError as error:
                return {"role": "tool", "tool_call_id": call.id, "content": str(error)}

    examination = examine(runtime(id="silent")(Silent))
    assert states(examination)["a tool"] == "broken"
    assert "it is never called, and the model is sent a result" in found(examination, "a tool")


_ASKS = """
import httpx2
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


@agent.tool_plain
def weather(city: str) -> str:
    return httpx2.get("https://api.weather.example/now").text
"""


def test_a_tool_that_asks_a_host_without_an_answer_is_not_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which host that is is said, and where to write what it answers."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "asks.py").write_text(_ASKS)
    binding = adopt(f"{tmp_path}/asks.py:agent").binding
    (trial,) = (item for item in examine(binding).trials if item.what == "a tool")
    assert trial.state == "broken"
    assert trial.found.startswith("the tool asks api.weather.example, GET /now, and nothing says")
    assert "--services" in (trial.hint or "")


def test_a_runtime_that_makes_up_ids_of_calls_is_not_well() -> None:
    """No approval and no result could be matched with what the model asked for."""
    agent = load_subject("openai-agent").function

    class Nameless(agent):  # type: ignore[misc, valid-type]
        async def _call_tool(self, call: Any) -> object:
            call.id = "mine"
            return await super()._call_tool(call)

    examination = examine(runtime(id="nameless")(Nameless))
    assert states(examination)["a tool"] == "broken"
    assert "the id 'mine', which is none of those" in found(examination, "a tool")


def test_a_runtime_that_runs_what_was_denied_is_not_well() -> None:
    """It asks, and does not listen."""
    examination = examine(load_subject("mini-kode-sdk-executes-what-was-denied"))
    assert states(examination)["a tool that the person denies"] == "broken"


def test_what_is_declared_is_the_reason_that_nothing_is_tried() -> None:
    """No run is made for it."""
    small = load_subject("openai-agent@no-tools,no-sessions")
    examination = examine(small)
    assert found(examination, "a tool") == "it declares tools=False"
    assert found(examination, "a restart that resumes the session") == "it declares sessions=False"
