"""The simulated MCP server, parsed by the official Python SDK (mcp 2.3.0), with its faults."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters

from faultclock.fakes.provider.services import FakeServices, ServicesState
from faultclock.load.services import services_in
from faultclock.load.yaml_file import parse_document
from faultclock.sim.patches import installed
from faultclock.sim.world import World

_SERVER = """services:
  - {place}
    mcp:
      answers_with: {way}
      tools:
        - {{name: add_note, description: Adds a note., result: noted,
            input_schema: {{type: object, properties: {{text: {{type: string}}}}}}}}
        - {{name: read_notes, reads: true, result: {{notes: [one, two]}}}}
    faults: {faults}
"""
_URL = "https://mcp.example.com/mcp"
#: How a client finds the server, and what a services file calls that.
_WAYS: dict[str, tuple[Any, str]] = {
    "stream": (_URL, "host: mcp.example.com"),
    "json": (_URL, "host: mcp.example.com"),
    "stdio": (
        StdioServerParameters(command="bin/notes", args=["--folder", "my notes"]),
        "command: notes --folder 'my notes'",
    ),
}
Asking = Callable[[Client], Awaitable[Any]]


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


class _Run:
    """What a client of the SDK got, and the facts of the server."""

    def __init__(self, ask: Asking, *faults: dict[str, Any], way: str = "stream") -> None:
        server, place = _WAYS[way]
        said = "json" if way == "json" else "stream"
        text = _SERVER.format(place=place, way=said, faults=json.dumps(faults))
        services = services_in(parse_document(text.encode(), "hosts.yaml"))
        world = World()
        FakeServices(services, ServicesState.initial(services), world, 0)

        async def main() -> Any:
            async with Client(server, read_timeout_seconds=30) as client:
                return await ask(client)

        ending = world.run(main)
        self.value = ending.value
        self.facts = world.recorder.events

    def asks(self) -> list[str]:
        """Return what was asked, in order."""
        return [
            str(payload.get("asks") or payload["method"])
            for _, _, _, kind, payload in self.facts
            if kind == "service.request"
        ]


def _fault(request: str, kind: str, **then: Any) -> dict[str, Any]:
    return {"id": "wrong", "when": {"request": request}, "then": {"kind": kind, **then}}


async def _code(asking: Awaitable[Any]) -> int | None:
    """Return the code of the error that asking came to; None where it came to none."""
    try:
        await asking
    except MCPError as error:
        return int(error.error.code)
    return None


async def _add(client: Client) -> Any:
    return await client.call_tool("add_note", {"text": "a note"})


@pytest.mark.parametrize("way", _WAYS)
def test_the_tools_are_listed_and_called(way: str) -> None:
    """With their schemas, and with structured content where the reply is an object."""

    async def ask(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        return tools, await _add(client), await client.call_tool("read_notes", {})

    run = _Run(ask, way=way)
    tools, added, read = run.value
    assert [tool.name for tool in tools] == ["add_note", "read_notes"]
    assert tools[0].input_schema["properties"] == {"text": {"type": "string"}}
    assert tools[1].annotations.read_only_hint is True
    assert (added.content[0].text, added.is_error) == ("noted", False)
    assert read.structured_content == {"notes": ["one", "two"]}
    last = "tools/call read_notes" if way == "stdio" else "DELETE"
    assert run.asks()[-1] == last


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol() -> None:
    """JSON-RPC's "invalid params", as the specification has it."""
    run = _Run(lambda client: _code(client.call_tool("other", {})))
    assert run.value == -32602


@pytest.mark.parametrize("way", _WAYS)
def test_a_result_can_be_an_error(way: str) -> None:
    """The call is answered in good order, and the tool has failed."""
    fault = _fault("tools/call*", "ok_with_error_body", error="tool_error")
    run = _Run(_add, fault, way=way)
    assert run.value.is_error is True
    assert run.value.content[0].text == "The disk is full."


_ERRORS = {
    "an error in a good status": ("ok_with_error_body", {"error": "internal_error"}, -32603),
    "a rate limit": ("http_error", {"status": 429, "error": "too_many_requests"}, -32603),
    "a server that fails": ("http_error", {"status": 500, "error": "server_error"}, -32603),
    "a wrong token": ("http_error", {"status": 401, "error": "unauthorized"}, -32603),
    "a lost session": ("http_error", {"status": 404, "error": "session_not_found"}, -32600),
    "a stream that is cut": ("truncate", {"how": "clean_end", "after_chunks": 0}, -32000),
    "no answer": ("stall", {}, -32001),
    "what is no JSON": ("corrupt_body", {"at_byte": 30}, -32700),
}


@pytest.mark.parametrize("name", _ERRORS)
def test_what_goes_wrong_is_what_the_sdk_knows(name: str) -> None:
    """Each fault of the wire is an error of the SDK's own."""
    kind, then, code = _ERRORS[name]
    run = _Run(lambda client: _code(_add(client)), _fault("tools/call*", kind, **then))
    assert run.value == code


def test_a_lost_session_stays_lost() -> None:
    """Only a new handshake helps: what is asked with the old id is refused again."""

    async def ask(client: Client) -> Any:
        return [await _code(_add(client)) for _ in range(2)]

    fault = _fault("tools/call*", "http_error", status=404, error="session_not_found")
    fault["when"]["attempts"] = 1
    assert _Run(ask, fault).value == [-32600, -32600]


_STDIO_ERRORS = {
    "an error": ("ok_with_error_body", {"error": "internal_error"}, -32603),
    "a server that ends in a line": ("truncate", {"how": "eof", "after_body_bytes": 9}, -32000),
    "a server that ends without a word": ("reset_before_response", {}, -32000),
    "no answer": ("stall", {}, -32001),
    "a line that is no JSON": ("corrupt_body", {"at_byte": 30}, -32001),
}


@pytest.mark.parametrize("name", _STDIO_ERRORS)
def test_a_started_server_fails_in_its_own_ways(name: str) -> None:
    """A line that cannot be read has no id, so the call waits until its own deadline."""
    kind, then, code = _STDIO_ERRORS[name]
    fault = _fault("tools/call*", kind, **then)
    assert _Run(lambda client: _code(_add(client)), fault, way="stdio").value == code


def test_a_program_that_no_service_names_is_never_started() -> None:
    """It is refused by name."""
    text = _SERVER.format(place="command: other", way="json", faults="[]")
    services = services_in(parse_document(text.encode(), "hosts.yaml"))
    world = World()
    FakeServices(services, ServicesState.initial(services), world, 0)

    async def main() -> None:
        async with Client(_WAYS["stdio"][0]):
            pass

    ending = world.run(main)
    assert ending.reason == "escape"
    assert "the start of notes --folder my notes" in ending.detail[0]
