"""Idle subjects: each does nothing of its duty, so no run of it may earn a pass.

They are the laziest programs of each role: they never ask, ask at a path that no API has, take no
notice of what comes back, or raise at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from faultclock.agents.extension import CONTRACT as EXTENSION_CONTRACT
from faultclock.agents.tool import CONTRACT as TOOL_CONTRACT
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.bind_store import session_store
from faultclock.subjects.bind_tool import tool
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import OPENAI_ALIKE, ExtensionHost, ProviderRequest, Surroundings
from faultclock.subjects.ports.host import Host

#: What such a program says instead of an answer.
_SAID = "All is well."
_READ_BYTES = 65_536
#: Virtual seconds after which one of them stops waiting for an answer.
_PATIENCE_S = 30.0
#: Answers of a turn after which one of them has enough: a script may go on for ever.
_ANSWERS_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    """Where a model is asked, and what it is asked."""

    base_url: str
    api_key: str
    body: dict[str, Any]


async def _post(to: _Model, path: str) -> dict[str, Any]:
    """Make one request, without TLS, and return the JSON of the answer; {} where it is none."""
    place = urlsplit(f"{to.base_url}{path}")
    body = json.dumps(to.body).encode()
    head = (
        f"POST {place.path} HTTP/1.1\r\nhost: {place.hostname}\r\n"
        f"authorization: Bearer {to.api_key}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    async with asyncio.timeout(_PATIENCE_S):
        reader, writer = await asyncio.open_connection(place.hostname, 80)
        try:
            writer.write(head.encode() + body)
            answer = b""
            while piece := await reader.read(_READ_BYTES):
                answer += piece
        finally:
            writer.close()
    try:
        found = json.loads(answer.partition(b"\r\n\r\n")[2])
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------------- what each of them does

_Ask = Callable[[_Model], Awaitable[str]]


async def _answers_from_nothing(_: _Model) -> str:
    return _SAID


async def _returns_nothing(_: _Model) -> str:
    return ""


async def _raises_at_once(_: _Model) -> str:
    raise RuntimeError("not today")


async def _asks_a_wrong_path(to: _Model) -> str:
    await _post(to, "/wrong")
    raise RuntimeError("the provider does not know me")


async def _asks_a_wrong_path_and_answers(to: _Model) -> str:
    with contextlib.suppress(OSError):
        await _post(to, "/wrong")
    return _SAID


async def _gives_up_at_the_first_answer(to: _Model) -> str:
    await _post(to, "/chat/completions")
    raise RuntimeError("it answered, and that is too much")


async def _asks_and_ignores(to: _Model) -> str:
    with contextlib.suppress(OSError):
        await _post(to, "/chat/completions")
    return _SAID


async def _returns_before_the_answer(to: _Model) -> str:
    asking = asyncio.create_task(_asks_and_ignores(to))
    await asyncio.sleep(0)
    asking.cancel()
    return _SAID


_ASKING: dict[str, _Ask] = {
    "answers-from-nothing": _answers_from_nothing,
    "returns-nothing": _returns_nothing,
    "raises-at-once": _raises_at_once,
    "asks-a-wrong-path": _asks_a_wrong_path,
    "asks-a-wrong-path-and-answers": _asks_a_wrong_path_and_answers,
    "gives-up-at-the-first-answer": _gives_up_at_the_first_answer,
    "asks-and-ignores": _asks_and_ignores,
    "returns-before-the-answer": _returns_before_the_answer,
}
_DECLARES: Any = ("errors", "audit", "events", "user", "model", "operator")


def _adapter(name: str, ask: _Ask, *, declares: bool) -> Binding:
    async def idle(request: ProviderRequest) -> str:
        body = {"model": request.model, "messages": request.messages, "stream": request.stream}
        if request.tools:
            body["tools"] = request.tools
        return await ask(_Model(base_url=request.base_url, api_key=request.api_key, body=body))

    bound = provider_adapter(
        id=f"adapter-{name}",
        inline=True,
        dialect=OPENAI_ALIKE,
        declares=_DECLARES if declares else (),
    )
    return bound(idle)


# ---------------------------------------------------------------------- runtimes


def _request_of(around: Surroundings, messages: list[dict[str, Any]]) -> _Model:
    tools = [
        {"type": "function", "function": {"name": item.contract.name, "parameters": {}}}
        for item in around.tools
    ]
    body: dict[str, Any] = {"model": around.model, "messages": messages}
    if tools:
        body["tools"] = tools
    return _Model(base_url=around.base_url, api_key=around.api_key, body=body)


def _runtime(name: str, ask: _Ask, *, declares: bool) -> Binding:
    class Idle:
        def __init__(self, surroundings: Surroundings) -> None:
            self.around = surroundings

        async def run_turn(self, text: str) -> str:
            return await ask(_request_of(self.around, [{"role": "user", "content": text}]))

    bound = runtime(id=f"runtime-{name}", inline=True, declares=_DECLARES if declares else ())
    return bound(Idle)


class _NeverCallsTools:
    """Takes its turns as it should, and makes up the result of each tool."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings

    async def run_turn(self, text: str) -> str:
        messages: list[dict[str, Any]] = [{"role": "user", "content": text}]
        for _ in range(_ANSWERS_MAX):
            found = await _post(_request_of(self.around, messages), "/chat/completions")
            message = found["choices"][0]["message"]
            messages.append(message)
            if not message.get("tool_calls"):
                return str(message["content"])
            messages += [
                {"role": "tool", "tool_call_id": item["id"], "content": "done"}
                for item in message["tool_calls"]
            ]
        raise RuntimeError("the model goes on for ever")


class _ReturnsBeforeItsTools:
    """Begins each tool that the model asks for, and answers before any of them has replied."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings

    async def run_turn(self, text: str) -> str:
        asked = _request_of(self.around, [{"role": "user", "content": text}])
        found = await _post(asked, "/chat/completions")
        known = {item.contract.name: item for item in self.around.tools}
        for item in found["choices"][0]["message"].get("tool_calls") or ():
            called = known[item["function"]["name"]]
            arguments = json.loads(item["function"]["arguments"])
            begun = asyncio.create_task(called.execute(arguments, call_id=item["id"]))
            await asyncio.sleep(0)
            begun.cancel()
        return _SAID


# ---------------------------------------------------------------------- tools


def _tool(name: str, run: Callable[[], Any], **contract: Any) -> Binding:
    async def idle(call: Any) -> Any:
        del call
        return run()

    bound = tool(id=f"tool-{name}", name="look_up", declares=("errors",), inline=True, **contract)
    return bound(idle)


def _refuse() -> Any:
    raise RuntimeError("not today")


# ---------------------------------------------------------------------- stores


class _KeepsNothing:
    """Says yes to everything, and keeps nothing."""

    def __init__(self, surroundings: Any) -> None:
        del surroundings

    async def read(self, session_id: str) -> Any:
        del session_id

    async def write(self, session_id: str, manifest: Any) -> None:
        del session_id, manifest


class _MakesUp(_KeepsNothing):
    """Gives everyone the same session."""

    async def read(self, session_id: str) -> Any:
        return {"sessionId": session_id}


class _RaisesAlways(_KeepsNothing):
    """Raises at once, whatever it is asked."""

    async def read(self, session_id: str) -> Any:
        raise RuntimeError(f"no {session_id}")

    async def write(self, session_id: str, manifest: Any) -> None:
        raise RuntimeError(f"no {session_id}: {len(manifest)}")


# ---------------------------------------------------------------------- extensions


class _DoesNothing:
    """Has all phases, and does nothing in any of them."""

    def __init__(self, host: ExtensionHost) -> None:
        self.host: Host = host.host

    async def init(self) -> None:
        """Do nothing."""

    async def activate(self) -> None:
        """Do nothing."""

    async def deactivate(self) -> None:
        """Do nothing."""

    async def dispose(self) -> None:
        """Do nothing."""


class _ReturnsConstants(_DoesNothing):
    async def init(self) -> Any:
        return _SAID

    async def activate(self) -> Any:
        return _SAID


class _RaisesInPhases(_DoesNothing):
    async def init(self) -> Any:
        raise RuntimeError("not today")

    async def activate(self) -> Any:
        raise RuntimeError("not today")

    async def deactivate(self) -> Any:
        raise RuntimeError("not today")

    async def dispose(self) -> Any:
        raise RuntimeError("not today")


_BARE_EXTENSION: Any = {"kind": "Tool", "contract_version": "1.0.0"}


def _made() -> tuple[Binding, ...]:
    found: list[Binding] = []
    for name, ask in _ASKING.items():
        found.append(_adapter(name, ask, declares=False))
        found.append(_runtime(name, ask, declares=False))
    for made in (_NeverCallsTools, _ReturnsBeforeItsTools):
        name = {"_NeverCallsTools": "never-calls-tools"}.get(made.__name__, "returns-before-tools")
        found.append(runtime(id=f"runtime-{name}", inline=True)(made))
    results: dict[str, Callable[[], Any]] = {
        "does-nothing": lambda: None,
        "returns-a-constant": lambda: {"items": []},
        "raises-at-once": _refuse,
    }
    for name, run in results.items():
        found.append(_tool(name, run))
        found.append(_tool(f"{name}-with-a-contract", run, **TOOL_CONTRACT))
    for id_, store in (
        ("does-nothing", _KeepsNothing),
        ("returns-a-constant", _MakesUp),
        ("raises-at-once", _RaisesAlways),
    ):
        found.append(session_store(id=f"store-{id_}", inline=True)(store))
    for id_, made_extension in (
        ("does-nothing", _DoesNothing),
        ("returns-a-constant", _ReturnsConstants),
        ("raises-at-once", _RaisesInPhases),
    ):
        for suffix, contract in (("", _BARE_EXTENSION), ("-with-a-contract", EXTENSION_CONTRACT)):
            bind = extension(id=f"extension-{id_}{suffix}", inline=True, **contract)
            found.append(bind(made_extension))
    return tuple(found)


#: The idle subjects of all roles.
IDLE: tuple[Binding, ...] = _made()
