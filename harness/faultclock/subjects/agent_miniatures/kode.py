"""Miniatures of KODE SDK agents: turns, and what the model says.

Those of interrupts, storage and the timeline are in `kode_life`, those of tools in `kode_tools`, of
errors in `kode_errors` and `kode_telling`, of permissions and hooks in `kode_permissions`, and of
what is on record in `kode_records`.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.ports import Reply, RunResult
from faultclock.subjects.reference_agents.core import Ended, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.wire import ask_once, assistant_message, request_to

__all__: list[str] = []

# How a turn goes.


@kode(
    "asks-after-the-end",
    "Asks the model for a title after the turn",
    fails="ordering.nothing-after-the-end",
    shown_by="good-turn-with-two-tools",
)
class _AsksAfterTheEnd(KodeAgent):
    """A task that nobody waits for works on when the caller has its answer."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await super().turn_over(turn, end)
        self.later = asyncio.get_running_loop().create_task(self.title())

    async def title(self) -> None:
        await asyncio.sleep(0.5)
        messages = [{"role": "user", "content": "Give this a title."}]
        await ask_once(request_to(self.world, self.targets[0], messages, ()))


@kode(
    "stays-working",
    "Stays WORKING after a failure",
    fails="ordering.ready-last",
    shown_by="model-unreachable",
)
class _StaysWorking(KodeAgent):
    """The agent is there, and nobody would know."""

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await self.save()
        self.done(turn, end)
        if end.state != "failed":
            self.state("READY")


@kode(
    "dies-with-its-model",
    "Takes no message any more after the model failed",
    fails="failures.outcome",
    shown_by="model-500",
)
class _DiesWithItsModel(KodeAgent):
    """An error of the agent ends the agent."""

    dead = False

    async def work(self, turn: Turn) -> str:
        if self.dead:
            raise Ended("failed", ("model", "failure"), "the agent has failed before")
        return await super().work(turn)

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        self.dead = self.dead or end.state == "failed"
        await super().turn_over(turn, end)


@kode(
    "stops-after-the-tools",
    "Does not ask the model again after a batch of tools",
    fails="turns.go-on",
    shown_by="good-turn-with-two-tools",
)
class _StopsAfterTheTools(KodeAgent):
    """The results are there, and the next step waits for the next message."""

    async def converse(self, turn: Turn, prompt: str) -> str:
        turn.messages.append({"role": "user", "content": prompt})
        reply = await self.answer(turn, [*self.history, *turn.messages])
        self.answered(turn, reply)
        turn.messages.append(assistant_message(reply))
        if reply.tool_calls:
            await self.use_tools(turn, reply)
        return reply.text


@kode(
    "runs-turns-into-each-other",
    "Does not wait for the turn that runs",
    fails="turns.apart",
    shown_by="two-messages-at-once",
)
class _RunsTurnsIntoEachOther(KodeAgent):
    """Two messages at once are two turns at once, on one conversation."""

    async def run_turn(self, text: str) -> RunResult:
        self._queue = asyncio.Lock()
        return await super().run_turn(text)


# What the model says.


@kode(
    "text-ends-before-it-begins",
    "Emits the end of a text before its chunks",
    fails="ordering.model-step-in-order",
    shown_by="good-turn-with-two-tools",
)
class _TextEndsBeforeItBegins(KodeAgent):
    """The whole text is shown, and then its parts once more."""

    def answered(self, turn: Turn, reply: Reply) -> None:
        if reply.text:
            self.timeline.progress("text_chunk_start", step=turn.steps)
            self.timeline.progress("text_chunk_end", step=turn.steps, text=reply.text)
            self.timeline.progress("text_chunk", step=turn.steps, delta=reply.text)
        super().answered(turn, replace(reply, text=""))
