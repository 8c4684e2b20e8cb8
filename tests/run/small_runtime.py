"""Two small runtimes, one async and one blocking, for tests of how runtimes are driven.

They keep a session, call tools and ask the person, and do everything else as simply as can be:
no approvals, no retries but those of the reference adapters.
"""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from typing import Any

from faultclock.agents.adapter import reference, reference_sync
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import (
    InteractionAnswer,
    InteractionRequest,
    ProviderRequest,
    Reply,
    Surroundings,
    ToolResult,
    TypedError,
)

#: A module global, which a real crash loses: how many runtimes this process has made.
LIVES_SEEN: list[str] = []


class _Session:
    """What both share: messages, tools, and what is written."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings
        self.messages: list[dict[str, Any]] = []
        self.tools = {tool.contract.name: tool for tool in surroundings.tools}
        self.name = str(uuid.uuid4())
        LIVES_SEEN.append(self.name)
        surroundings.host.event("RuntimeMade", mark=self.name, seen=len(LIVES_SEEN))

    @property
    def manifest(self) -> dict[str, Any]:
        return {"sessionId": self.around.session_id, "messages": self.messages}

    def resume(self, manifest: dict[str, Any] | None) -> None:
        if manifest is None:
            raise TypedError("Session", "NoSnapshot", "there is no such session")
        self.messages = manifest["messages"]

    def said(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def request(self) -> ProviderRequest:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in self.tools
        ]
        return ProviderRequest(
            host=self.around.host,
            messages=list(self.messages),
            tools=tools,
            timeout_s=self.around.timeout_s,
        )

    def answered(self, reply: Reply) -> None:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in reply.tool_calls
            ]
        self.messages.append(message)

    def done(self, call_id: str, result: ToolResult) -> None:
        problem = result.problem
        told = {"value": result.value} if problem is None else {"error": {"code": problem.code}}
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(told)})


class _Small:
    """The async one."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.session = _Session(surroundings)
        self.around = surroundings
        self.turn: asyncio.Task[Any] | None = None

    async def start(self) -> None:
        if self.around.resume:
            self.session.resume(await self.around.store.read(self.around.session_id))
        else:
            await self.around.store.write(self.around.session_id, self.session.manifest)

    async def run_turn(self, text: str) -> str:
        self.turn = asyncio.current_task()
        try:
            return await self._turn(text)
        except asyncio.CancelledError:
            raise TypedError("Cancellation", "TurnCancelled", "the turn was cancelled") from None
        finally:
            self.turn = None
            self.around.host.event("TurnLeft")

    async def _turn(self, text: str) -> str:
        self.session.said(text)
        while True:
            reply = await reference(self.session.request())
            self.session.answered(reply)
            if not reply.tool_calls:
                await self.around.store.write(self.around.session_id, self.session.manifest)
                return str(reply.text)
            for call in reply.tool_calls:
                await self.around.store.append(self.around.session_id, {"kind": call.id})
                tool = self.session.tools[call.name]
                result = await tool.execute(json.loads(call.arguments), call_id=call.id)
                self.session.done(call.id, result)

    async def ask(self, kind: Any, prompt: str, options: Any, deadline_s: Any) -> Any:
        answered: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()
        request = InteractionRequest(
            id="q1", kind=kind, prompt=prompt, deadline_s=deadline_s or 60.0
        )
        self.around.interactors[0].show(request, answered.set_result)
        return await answered

    def cancel(self, scope: str, target: str | None) -> None:
        if self.turn is not None:
            self.turn.cancel()

    async def close(self) -> None:
        await self.around.store.write(self.around.session_id, self.session.manifest)


class _SmallBlocking:
    """The blocking one. A cancel is noticed between two steps of a turn."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.session = _Session(surroundings)
        self.around = surroundings
        self.cancelled = threading.Event()

    def start(self) -> None:
        if self.around.resume:
            self.session.resume(self.around.store.read(self.around.session_id))
        else:
            self.around.store.write(self.around.session_id, self.session.manifest)

    def run_turn(self, text: str) -> str:
        self.cancelled.clear()
        try:
            return self._turn(text)
        finally:
            self.around.host.event("TurnLeft")

    def _turn(self, text: str) -> str:
        self.session.said(text)
        while True:
            if self.cancelled.is_set():
                raise TypedError("Cancellation", "TurnCancelled", "the turn was cancelled")
            reply = reference_sync(self.session.request())
            self.session.answered(reply)
            if not reply.tool_calls:
                self.around.store.write(self.around.session_id, self.session.manifest)
                return str(reply.text)
            for call in reply.tool_calls:
                self.around.store.append(self.around.session_id, {"kind": call.id})
                tool = self.session.tools[call.name]
                result = tool.execute(json.loads(call.arguments), call_id=call.id)
                self.session.done(call.id, result)

    def ask(self, kind: Any, prompt: str, options: Any, deadline_s: Any) -> Any:
        answers: list[InteractionAnswer] = []
        answered = threading.Event()
        request = InteractionRequest(
            id="q1", kind=kind, prompt=prompt, deadline_s=deadline_s or 60.0
        )
        self.around.interactors[0].show(request, lambda a: (answers.append(a), answered.set())[1])
        answered.wait()
        return answers[0]

    def cancel(self, scope: str, target: str | None) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.around.store.write(self.around.session_id, self.session.manifest)


small_runtime = runtime(id="small", declares=("errors", "events"))(_Small)
blocking_runtime = runtime(id="small-sync", declares=("errors", "events"))(_SmallBlocking)
