"""A subject is examined before it is judged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import pytest

from harness.run.doctor import examine
from harness.subjects.bind_extension import extension
from harness.subjects.bind_tool import tool
from harness.subjects.binding import Binding, provider_adapter
from harness.subjects.ports import ProviderRequest, ToolProblem, ToolRequest, ToolResult
from harness.subjects.registry import load_subject


def test_a_healthy_subject_has_no_problem(bound: Callable[[str], Binding]) -> None:
    """It answers both tasks, and asked the provider for each."""
    examination = examine(bound("reference"))
    assert examination.problems == ()
    assert set(examination.answers.values()) == {"returned"}
    assert examination.requests == 2


def test_an_adapter_that_ignores_streaming_is_told(bound: Callable[[str], Binding]) -> None:
    """Faults inside a stream would never be met."""

    @provider_adapter(id="deaf")
    async def deaf(request: ProviderRequest) -> object:
        from dataclasses import replace

        return await bound("reference").invoke_async(replace(request, stream=False))

    assert any("ignores request.stream" in item for item in examine(deaf).problems)


def test_an_adapter_that_asks_nobody_is_told() -> None:
    """A canned answer looks healthy from outside."""

    @provider_adapter(id="canned")
    def canned(request: ProviderRequest) -> str:
        return "Hello."

    assert any("no request" in item for item in examine(canned).problems)


def test_an_adapter_that_fails_is_quoted() -> None:
    """With the error that it raised on a healthy provider."""

    @provider_adapter(id="broken")
    def broken(request: ProviderRequest) -> str:
        raise RuntimeError("no key configured")

    problems = examine(broken).problems
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
    assert examination.problems == ()
    assert set(examination.answers.values()) == {"returned"}
    assert (examination.asked, examination.requests) == ("its service", 1)
    assert examination.shows


def test_a_tool_that_cannot_live_with_its_service_is_told() -> None:
    """With what the contract has to say for it."""

    @tool(name="broken", output_schema={"type": "object"})
    def broken(call: ToolRequest) -> object:
        raise RuntimeError("no such field: celsius")

    assert any("celsius" in item for item in examine(broken).problems)

    @tool(name="failing")
    def failing(call: ToolRequest) -> object:
        return ToolResult(problem=ToolProblem(error_class="ToolTerminal", code="NotFound"))

    assert any("service=…" in item for item in examine(failing).problems)

    @tool(name="shapeless", output_schema={"type": "object"})
    def shapeless(call: ToolRequest) -> object:
        return [1]

    assert any("output schema" in item for item in examine(shapeless).problems)


def test_a_tool_that_accepts_anything_is_told_so() -> None:
    """It is no fault, and little can be shown."""

    @tool(name="open_minded")
    def open_minded(call: ToolRequest) -> object:
        return 1

    examination = examine(open_minded)
    assert examination.problems == ()
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

    problems = examine(Leaky).problems
    assert any("'log'" in item for item in problems)
    assert any("left after dispose" in item for item in problems)


def test_a_tool_that_ends_its_process_is_told_by_the_ending() -> None:
    """There is no contract in such a trace, and no crash of ours either."""

    @tool(name="fatal")
    def fatal(call: ToolRequest) -> object:
        os._exit(3)

    assert any("the run ended by" in item for item in examine(fatal).problems)
