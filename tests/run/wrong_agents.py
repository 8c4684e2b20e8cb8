"""Wrong agents that the scenarios for whole agents need: the reference with one defect each.

They stand in no catalogue: what they get wrong breaks demands of `common`, and no check of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any

from faultclock.agents.calls import Call
from faultclock.agents.stud_cli.cancellation import is_cancellation
from faultclock.agents.stud_cli.provider import ProviderCall, TransportRetries
from faultclock.agents.stud_cli.runtime import DECLARES, ReferenceRuntime
from faultclock.agents.stud_cli.session import StudTurn
from faultclock.agents.stud_cli.stages import LoopEnd
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import Reply, ToolCall, TypedError


class _OneAttempt(TransportRetries):
    def policy(self, failure: Any, kind: tuple[str, str]) -> None:
        return None


class _AskedOnce(ProviderCall):
    retries_type = _OneAttempt


class _GivesUp(ReferenceRuntime):
    """Its client tries once, and nothing else tries again."""

    provider_type = _AskedOnce


class _Lenient(_AskedOnce):
    async def receive(self) -> Reply:
        try:
            return await super().receive()
        except TypedError:
            name = self.request.tools[0]["function"]["name"]
            return Reply(text="", tool_calls=(ToolCall(id="call_half", name=name, arguments="{}"),))


class _ActsOnHalf(ReferenceRuntime):
    """Where it cannot read a tool call, it makes one of what it could read."""

    provider_type = _Lenient


class _BeginsAnew(ReferenceRuntime):
    """A request that fails has it begin the whole turn anew: what the turn did is forgotten."""

    provider_type = _AskedOnce

    async def loop(self, turn: StudTurn, *args: Any, **kwargs: Any) -> LoopEnd:
        begun = list(turn.messages)
        for wait_s in (2.0, 4.0, 8.0):
            try:
                return await super().loop(turn, *args, **kwargs)
            except TypedError:
                await asyncio.sleep(wait_s)
                turn.messages[:] = begun
        return await super().loop(turn, *args, **kwargs)


class _ParserRaises(ReferenceRuntime):
    """Its parser of arguments raises, and the turn ends with that."""

    def propose(self, turn: StudTurn, call_id: str, name: str, arguments: str) -> Call:
        dict(json.loads(arguments))
        return super().propose(turn, call_id, name, arguments)


class _WorksOn(ReferenceRuntime):
    """A tool that was still to be considered when the turn was cancelled is run all the same."""

    async def consider(self, turn: StudTurn, call: Call) -> Any:
        try:
            return await super().consider(turn, call)
        except TypedError:
            self.left = asyncio.ensure_future(self._run_later(call))
            raise

    async def _run_later(self, call: Call) -> None:
        await asyncio.sleep(5.0)
        if call.tool is not None:
            await call.tool.execute(call.arguments, call_id=call.id)


class _WaitsForEver(ReferenceRuntime):
    """Once its turn was cancelled, it waits for what never comes."""

    async def in_time(self, turn: StudTurn, work: Coroutine[Any, Any, str]) -> str:
        try:
            return await super().in_time(turn, work)
        except TypedError as error:
            if is_cancellation(error):
                await asyncio.Event().wait()
            raise


class _TellsAKey(ReferenceRuntime):
    """It writes the key that a tool has used beside the result that it tells the model."""

    def compose(self, turn: StudTurn, messages: Sequence[Any]) -> ProviderCall:
        shown = (f"{item['content']} by sk-simulated-0123456789abcdef" for item in messages)
        with_key = [
            {**item, "content": content} if item["role"] == "tool" else item
            for item, content in zip(messages, shown, strict=True)
        ]
        return super().compose(turn, with_key)


def _bound(id_: str, made: type[ReferenceRuntime]) -> Any:
    return runtime(id=id_, title=id_, declares=DECLARES, inline=True)(made)


begins_anew = _bound("begins-anew", _BeginsAnew)
gives_up = _bound("gives-up", _GivesUp)
acts_on_half = _bound("acts-on-half", _ActsOnHalf)
parser_raises = _bound("parser-raises", _ParserRaises)
works_on = _bound("works-on", _WorksOn)
waits_for_ever = _bound("waits-for-ever", _WaitsForEver)
tells_a_key = _bound("tells-a-key", _TellsAKey)
