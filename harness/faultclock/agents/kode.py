"""The reference runtime of the KODE SDK model.

    a tool error     -> told to the user, the monitor and the model, which decides what comes next
    a hook error     -> logged; the flow goes on
    a model error    -> error of the phase `model`; the turn ends, the agent is READY again
    an interrupt     -> what runs is aborted, what is open is sealed; READY again

Nothing is ever tried again here: that is the model's decision, or the application's. What is said
on the way is in `kode_telling`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultclock.agents.calls import Call, Outcome, execute_once
from faultclock.agents.core import reference
from faultclock.agents.kode_telling import CallRecord, KodeTelling, cleaned
from faultclock.agents.turn import (
    Ended,
    FailedAttempt,
    Message,
    Next,
    Pair,
    Turn,
)
from faultclock.agents.wire import tool_message
from faultclock.subjects.ports import CancelScope, ProviderTarget, Reply, Surroundings, TypedError
from faultclock.subjects.stud import AttemptError

_FAILURE: Pair = ("model", "failure")
_STORAGE: Pair = ("system", "storage")
_INTERRUPTED: Pair = ("system", "interrupted")
_UNEXPECTED: Pair = ("tool", "exception")
#: How a turn's end is called in `done`.
_REASONS = {"completed": "completed", "degraded": "completed", "failed": "failed"}


@dataclass(slots=True, kw_only=True)
class Left:
    """What an earlier process has left.

    Attributes:
        epoch: number of the process that reads it, 1-based.
        open_calls: id and name of calls that have no result.
        was_cut: whether a turn was cut off.
    """

    epoch: int
    messages: list[Message] = field(default_factory=list)
    open_calls: list[tuple[str, str]] = field(default_factory=list)
    was_cut: bool = False


class Memory:
    """Reads and writes the session store: the conversation, and what was open.

    The manifest has the conversation up to the last turn. The journal has what came since: the
    message of the user, the answers that asked for tools, and which calls began and ended. How
    often a process has begun is kept too, so that no two of them use the same bookmarks.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self.store = surroundings.store
        self.session = surroundings.session_id
        self.epoch = 1

    async def save(self, messages: list[Message]) -> None:
        """Replace what is stored by the whole conversation."""
        await self.store.write(self.session, {"epoch": self.epoch, "messages": messages})

    async def note(self, entry: Mapping[str, Any]) -> None:
        """Add an entry to the journal."""
        await self.store.append(self.session, dict(entry))

    async def restore(self) -> Left:
        """Return what an earlier process has left.

        Raises:
            TypedError: there is no such session.
        """
        manifest = await self.store.read(self.session)
        if manifest is None:
            raise TypedError("resume", "SESSION_NOT_FOUND", f"there is no session {self.session}")
        journal = await self.store.read_journal(self.session)
        self.epoch = int(manifest.get("epoch", 0)) + 1
        left = Left(epoch=self.epoch, messages=list(manifest.get("messages") or ()))
        for entry in journal or ():
            self._replay(entry, left)
        left.was_cut = bool(journal)
        return left

    def _replay(self, entry: Mapping[str, Any], left: Left) -> None:
        if "user" in entry:
            left.messages.append({"role": "user", "content": entry["user"]})
        elif "assistant" in entry:
            message = dict(entry["assistant"])
            left.messages.append(message)
            left.open_calls = [
                (str(item["id"]), str(item["function"]["name"]))
                for item in message.get("tool_calls") or ()
            ]
        elif "ended" in entry:
            id_ = str(entry["ended"])
            left.open_calls = [item for item in left.open_calls if item[0] != id_]
            left.messages.append(tool_message(id_, entry.get("content") or {}))


class KodeAgent(KodeTelling):
    """An agent that survives whatever its tools, its hooks and its model do."""

    memory_type: type[Memory] = Memory

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.memory = self.memory_type(surroundings)
        self.executing: dict[str, tuple[Call, asyncio.Task[Outcome]]] = {}

    # ------------------------------------------------------------------ what is asked

    async def start(self) -> None:
        """Open the session; what a crash left open is sealed before anything else.

        Raises:
            TypedError: there is no such session.
        """
        if self.world.resume:
            await self.resume()
        else:
            await self.save()
        self.state("READY")

    async def resume(self) -> None:
        """Go on with what the store has kept of an earlier process."""
        left = await self.memory.restore()
        self.timeline = self.make_timeline(left.epoch)
        self.history = left.messages
        sealed = []
        for id_, name in left.open_calls:
            record = CallRecord(id=id_, name=name)
            record.content = self.sealed_content(name)
            self.history.append(tool_message(id_, record.content))
            self.seal(record)
            sealed.append(record.snapshot())
        self.timeline.monitor(
            "agent_resumed", strategy="crash" if left.was_cut else "manual", sealed=sealed
        )
        await self.save()

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        """Interrupt the turn that runs, or abort one tool of it."""
        if scope != "tool":
            super().cancel(scope, target)
            return
        for call, task in tuple(self.executing.values()):
            if target in (None, call.id, call.name):
                task.cancel()

    # ------------------------------------------------------------------ a turn

    async def work(self, turn: Turn) -> str:
        """Note the message, then let the model answer it."""
        await self.note(user=turn.text)
        return await super().work(turn)

    def turn_started(self, turn: Turn) -> None:
        self.state("WORKING")

    def remember(self, turn: Turn, end: Ended) -> None:
        """Keep the conversation, however the turn ended: the next one goes on from there."""
        self.seal_open(turn)
        self.history += turn.messages

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await self.save()
        self.done(turn, end)
        self.state("READY")

    def done(self, turn: Turn, end: Ended) -> None:
        """Emit `done`, once, and `step_complete` where the turn completed."""
        reason = _REASONS.get(end.state, "interrupted")
        self.timeline.progress("done", step=turn.number, reason=reason)
        if reason == "completed":
            self.timeline.monitor("step_complete", step=turn.number)

    # ------------------------------------------------------------------ storage

    async def save(self) -> None:
        """Save the conversation."""
        await self.kept(self.memory.save(self.history))

    async def note(self, **entry: Any) -> None:
        """Add to the journal what a crash must not make forgotten."""
        await self.kept(self.memory.note(entry))

    async def kept(self, work: Any) -> None:
        """Await the store; what it fails in is monitored, and stops nobody."""
        try:
            await work
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            message = cleaned(str(error))
            self.put_on_record(_STORAGE, {"target": "store", "message": message})
            self.timeline.error("error", "system", message, storage=True)

    # ------------------------------------------------------------------ the model

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:
        """Return the one provider that an agent has."""
        return self.targets[:1]

    async def answer(self, turn: Turn, messages: Any) -> Reply:
        """Ask the model, between its breakpoints."""
        self.breakpoint("PRE_MODEL")
        return await super().answer(turn, messages)

    def classify(self, failed: AttemptError) -> Pair:
        return _FAILURE

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """End the turn: nobody asks the model again but the application."""
        return Next(act="end")

    def no_provider_left(self, turn: Turn) -> Ended:
        return Ended("failed", _FAILURE, "there is no model to ask")

    # ------------------------------------------------------------------ tools

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        """Carry out the calls of an answer; the journal has them before they run."""
        self.records = {}
        await self.note(assistant=turn.messages[-1])
        await super().use_tools(turn, reply)

    async def tool(self, turn: Turn, call: Call) -> Outcome:
        """Execute a call once. Whatever happens, it ends, and the others do not feel it."""
        record = self.records[call.id]
        try:
            return await self.guarded(record, call)
        except asyncio.CancelledError:
            if not record.over:
                self.fail(record, call, Outcome(kind="cancelled", message="interrupted"))
                self.end(record, "FAILED")
            raise

    async def guarded(self, record: CallRecord, call: Call) -> Outcome:
        """Take a call through its breakpoints, its hooks and its execution."""
        self.breakpoint("PRE_TOOL")
        await self.run_hooks("pre_tool", {"tool": call.name, "tool_call": call.id})
        record.become("EXECUTING")
        await self.note(started=call.id, tool=call.name)
        self.breakpoint("TOOL_EXECUTING")
        outcome = await self.execute(call)
        failed = self.is_error(outcome)
        if failed:
            self.fail(record, call, outcome)
        else:
            self.executed(record, outcome)
        self.breakpoint("POST_TOOL")
        await self.run_hooks("post_tool", {"tool": call.name, "ok": not failed})
        self.end(record, "FAILED" if failed else "COMPLETED")
        await self.note(ended=call.id, content=record.content)
        return outcome

    async def execute(self, call: Call) -> Outcome:
        """Execute once; it can be aborted by itself."""
        task = asyncio.ensure_future(execute_once(call))
        self.executing[call.id] = (call, task)
        try:
            return await task
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                raise
            return Outcome(kind="cancelled", message=f"{call.name} was aborted by the user")
        except Exception as error:  # noqa: BLE001 - the second layer, around the call
            return Outcome(kind="exception", message=str(error), code="call", error=error)
        finally:
            del self.executing[call.id]

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        return ("tool", self.error_type(outcome)) if self.is_error(outcome) else None

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:
        return Next(act="tell")

    # ------------------------------------------------------------------ what was cut off

    def seal_open(self, turn: Turn) -> None:
        """Give every call of the last answer a result, so that the next request is sound."""
        asked = turn.messages[-1].get("tool_calls") if turn.messages else None
        for item in asked or ():
            name = str(item["function"]["name"])
            record = self.records.get(item["id"])
            if record is not None and not record.over:
                self.seal(record)
            content = None if record is None else record.content
            turn.messages.append(tool_message(item["id"], content or self.sealed_content(name)))

    # ------------------------------------------------------------------ hooks and ends

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a turn that has reached a limit, of which the document has none."""
        message = f"the turn has used up its {limit.replace('_', ' ')}"
        self.timeline.error("warn", "system", message, limit=limit)
        return Ended("interrupted", None, message)

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("interrupted", _INTERRUPTED, "the turn was interrupted")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        message = cleaned(str(error) or type(error).__name__)
        self.put_on_record(_UNEXPECTED, {"target": "run", "message": message})
        self.timeline.error("error", "system", message)
        return Ended("failed", _UNEXPECTED, message)


reference_kode = reference("kode-sdk", "KODE SDK")(KodeAgent)
