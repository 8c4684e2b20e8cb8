"""Wrong KODE SDK agents that are code: turns, records, resume, and what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.connection import ask_once
from faultclock.subjects.ports import Reply, RunResult
from faultclock.subjects.reference_agents.calls import Call, Outcome, execute_once, proposed
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_telling import CallRecord, ErrorType, Timeline
from faultclock.subjects.reference_agents.turn import Ended, Turn
from faultclock.subjects.reference_agents.wire import (
    CountedExchange,
    assistant_message,
    request_to,
)

wrong = ByHand("kode-sdk")


Fields = dict[str, Any]


class Edited(KodeAgent):
    """An agent whose events pass through `edit` before they are emitted."""

    def make_timeline(self, epoch: int = 1) -> Timeline:
        """Return a timeline that edits."""
        return _EditedTimeline(self, epoch)

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        """Return what is emitted in place of an event; None for nothing."""
        return fields


class _EditedTimeline(Timeline):
    def __init__(self, agent: Edited, epoch: int) -> None:
        super().__init__(agent.host, epoch)
        self.agent = agent

    def put(self, type_: str, fields: Mapping[str, Any]) -> None:
        edited = self.agent.edit(type_, dict(fields))
        if edited is not None:
            super().put(type_, edited)


# How a turn goes.


@wrong(
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
        request = request_to(self.world, self.targets[0], messages, ())
        await ask_once(CountedExchange(request), request.timeout_s)


@wrong(
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


@wrong(
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


@wrong(
    "runs-turns-into-each-other",
    "Does not wait for the turn that runs",
    fails="turns.apart",
    shown_by="two-messages-at-once",
)
class _RunsTurnsIntoEachOther(KodeAgent):
    """Two messages at once are two turns at once, on one conversation."""

    async def run_turn(self, text: str) -> RunResult:
        self.queue = asyncio.Lock()
        return await super().run_turn(text)


# What the model says.


@wrong(
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


# What is on record.


@wrong(
    "records-failures-as-completed",
    "Keeps a ToolCallRecord without the failure",
    fails="ordering.failure-is-recorded",
    shown_by="tool-throws",
)
class _RecordsFailuresAsCompleted(KodeAgent):
    """The audit says that all went well."""

    def keep(self, record: CallRecord) -> None:
        snapshot = {**record.snapshot(), "state": "COMPLETED", "error": None}
        self.host.audit_event("ToolCallRecord", call=snapshot)


# Who is told what.


@wrong(
    "hides-it-from-the-user",
    "Tells the user nothing of a tool error",
    fails="failures.told-user",
    shown_by="tool-throws",
)
class _HidesItFromTheUser(KodeAgent):
    """The user waits for something that has failed long ago."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        host, self.host = self.host, _Mute(self.host)
        super().fail(record, call, outcome)
        self.host = host


class _Mute:
    """A host without a screen."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def show_user(self, message: str) -> None:
        """Show nothing."""


@wrong(
    "tells-the-model-a-secret",
    "Tells the model the text of an exception as it is",
    fails="audience.model",
    shown_by="secret-in-an-exception",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _TellsTheModelASecret(KodeAgent):
    """modelcontextprotocol/typescript-sdk#1651: hosts and keys go out with the next request."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        super().fail(record, call, outcome)
        record.content = {**(record.content or {}), "error": outcome.message}
        self.host.tell_model(record.content)


# Interrupts.


@wrong(
    "starts-the-second-tool",
    "Starts the next tool when one is interrupted",
    fails="ordering.interrupted-turn-acts-no-more",
    shown_by="second-tool-after-an-interrupt",
    origin="microsoft/agent-framework-go#1076",
)
class _StartsTheSecondTool(KodeAgent):
    """microsoft/agent-framework-go#1076: its context is over before it begins."""

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        others = proposed(reply, self.world.tools)[1:]
        try:
            await super().use_tools(turn, replace(reply, tool_calls=reply.tool_calls[:1]))
        except asyncio.CancelledError:
            for call in others:
                self.left = asyncio.ensure_future(execute_once(call))
                await asyncio.sleep(0)
            raise


@wrong(
    "orphans-after-an-interrupt",
    "Leaves tool calls without a result when the user interrupts",
    fails="tools.paired",
    shown_by="interrupted-mid-tool",
    origin="anomalyco/opencode#21326",
)
class _OrphansAfterAnInterrupt(KodeAgent):
    """anomalyco/opencode#21326: each later request is refused by the provider."""

    def remember(self, turn: Turn, end: Ended) -> None:
        for record in self.records.values():
            if not record.over:
                self.seal(record)
        self.history += turn.messages


# After a crash.


@wrong(
    "orphans-after-a-crash",
    "Resumes with a tool call that has no result",
    fails="tools.paired",
    shown_by="crash-mid-tool",
    origin="anthropics/claude-code#3003",
)
class _OrphansAfterACrash(KodeAgent):
    """anthropics/claude-code#3003: the call is sealed in the log, not in the conversation."""

    def remember(self, turn: Turn, end: Ended) -> None:
        self.forget_what_is_sealed()
        super().remember(turn, end)

    async def work(self, turn: Turn) -> str:
        self.forget_what_is_sealed()
        return await super().work(turn)

    def forget_what_is_sealed(self) -> None:
        self.history = [item for item in self.history if "missing" not in str(item.get("content"))]


@wrong(
    "executes-again-after-a-crash",
    "Executes an open call again when it resumes",
    fails="ordering.resume-never-executes-again",
    shown_by="crash-mid-tool",
)
class _ExecutesAgainAfterACrash(KodeAgent):
    """Nobody knows how far the first one came."""

    async def resume(self) -> None:
        await super().resume()
        for item in self.history:
            for asked in item.get("tool_calls") or ():
                tool = next(
                    tool
                    for tool in self.world.tools
                    if tool.contract.name == asked["function"]["name"]
                )
                await tool.execute({"to": "ada@example.com"}, call_id=asked["id"])


# Each had once been green.


@wrong(
    "shows-keys-in-an-event",
    "Emits tool:error with the text of the exception as it is",
    fails="audience.user",
    shown_by="secret-in-an-exception",
)
class _ShowsKeysInAnEvent(Edited):
    """What is shown is clean, and what the screen is drawn from is not."""

    raw = ""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        self.raw = outcome.message
        super().fail(record, call, outcome)

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {**fields, "error": self.raw} if type_ == "tool:error" else fields


@wrong(
    "records-every-type",
    "Records each error once with every type that there is",
    fails="failures.classified",
    shown_by="tool-throws",
)
class _RecordsEveryType(KodeAgent):
    """One of them will be the right one."""

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        types: tuple[ErrorType, ...] = ("runtime", "logical", "aborted", "exception")
        for type_ in types:
            super().audit_error(record, type_, message)


@wrong(
    "remembers-a-permission",
    "Takes one permission for every later call of the tool",
    fails="ordering.user-decides",
    shown_by="same-tool-in-two-answers",
)
class _RemembersAPermission(KodeAgent):
    """Whoever has once allowed a write has allowed them all."""

    allowed: frozenset[str] = frozenset()

    async def refusal(self, call: Call) -> Outcome | None:
        if call.name in self.allowed:
            return None
        found = await super().refusal(call)
        if found is None:
            self.allowed |= {call.name}
        return found
