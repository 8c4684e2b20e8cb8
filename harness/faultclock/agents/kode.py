"""The reference runtime of the KODE SDK model.

    a tool error     -> its type, its flag, recommendations -> tool:error -> error -> the model
    a hook error     -> logged; the flow goes on
    a model error    -> error of the phase `model`; the turn ends, the agent is READY again
    an interrupt     -> what runs is aborted, what is open is sealed; READY again

Nothing is ever tried again here: that is the model's decision, or the application's. Every event
has its channel (progress, control, monitor), its type and its place in the timeline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from faultclock.agents.calls import DENIALS, Call, Decision, Outcome, execute_once
from faultclock.agents.core import Agent, reference
from faultclock.agents.kode_records import (
    FLAGS,
    TYPES,
    CallRecord,
    ErrorType,
    Left,
    advice,
    asked_in,
    cleaned,
    denied_content,
    is_retryable,
)
from faultclock.agents.turn import Ended, FailedAttempt, Next, Pair, Turn
from faultclock.agents.wire import tool_message
from faultclock.subjects.ports import (
    CancelScope,
    Hook,
    ProviderTarget,
    Reply,
    Surroundings,
    TypedError,
)
from faultclock.subjects.stud import AttemptError

#: How many places in the timeline belong to one process; the next one begins behind them.
_EPOCH = 1_000_000


class KodeAgent(Agent):
    """An agent that survives all that its tools, its hooks and its model do.

    The manifest in the store has the conversation up to the last turn, the journal what came
    since: the user's message, the answers that asked for tools, which calls began and ended.

    Attributes:
        epoch: 1-based number of the process, so that no two of them use the same bookmarks.
        place: of the latest event in the timeline.
        records: the calls of the model's last answer, by their ids.
    """

    has_chain = False

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.epoch, self.place = 1, _EPOCH
        self.records: dict[str, CallRecord] = {}
        self.executing: dict[str, tuple[Call, asyncio.Task[Outcome]]] = {}

    # ------------------------------------------------------------------ the timeline

    def say(self, channel: str, type_: str, **fields: Any) -> None:
        """Emit an event with the next bookmark: for the user, for who decides, for operators."""
        self.place += 1
        bookmark = {"seq": self.place, "timestamp": time.time_ns() // 1_000_000}
        self.emit(type_, channel=channel, type=type_, bookmark=bookmark, **fields)

    def monitor_error(self, severity: str, phase: str, message: str, **detail: Any) -> None:
        """Emit the monitor's `error`."""
        own = {"severity": severity, "phase": phase, "message": message, "detail": detail}
        self.say("monitor", "error", **own)

    def state(self, name: str) -> None:
        """Emit the state of the agent: READY, WORKING or PAUSED."""
        self.say("monitor", "state_changed", state=name)

    def breakpoint(self, name: str) -> None:
        """Emit that a breakpoint is passed."""
        self.say("monitor", "breakpoint_changed", current=name)

    # ------------------------------------------------------------------ session and storage

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

    async def restore(self) -> Left:
        """Return what an earlier process has left.

        Raises:
            TypedError: there is no such session.
        """
        store, id_ = self.world.store, self.world.session_id
        manifest = await store.read(id_)
        if manifest is None:
            raise TypedError("resume", "SESSION_NOT_FOUND", f"there is no session {id_}")
        journal = await store.read_journal(id_)
        self.epoch, messages = int(manifest.get("epoch", 0)) + 1, manifest.get("messages") or ()
        left = Left(epoch=self.epoch, messages=list(messages), was_cut=bool(journal))
        for entry in journal or ():
            left.add(entry)
        return left

    async def resume(self) -> None:
        """Go on with what the store has kept of an earlier process."""
        left = await self.restore()
        self.place = left.epoch * _EPOCH
        self.history = left.messages
        sealed = []
        for id_, name in left.open_calls.items():
            record = CallRecord(id=id_, name=name, content=self.sealed_content(name))
            self.history.append(tool_message(id_, record.content or {}))
            self.seal(record)
            sealed.append(record.snapshot())
        strategy = "crash" if left.was_cut else "manual"
        self.say("monitor", "agent_resumed", strategy=strategy, sealed=sealed)
        await self.save()

    async def save(self) -> None:
        """Replace what is stored by the whole conversation."""
        manifest = {"epoch": self.epoch, "messages": self.history}
        await self.kept(self.world.store.write, manifest)

    async def note(self, **entry: Any) -> None:
        """Add to the journal what a crash must not make forgotten."""
        await self.kept(self.world.store.append, entry)

    async def kept(self, keep: Callable[..., Awaitable[Any]], what: Mapping[str, Any]) -> None:
        """Ask the store to keep something; what it fails in is monitored, and stops nothing."""
        if error := await self.tried(keep, self.world.session_id, what):
            message = cleaned(str(error))
            self.put_on_record(("system", "storage"), {"target": "store", "message": message})
            self.monitor_error("error", "system", message, storage=True)

    # ------------------------------------------------------------------ a turn

    def turn_started(self, turn: Turn) -> None:
        self.state("WORKING")

    async def work(self, turn: Turn) -> str:
        """Note the message, then let the model answer it."""
        await self.note(user=turn.text)
        return await super().work(turn)

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        """Interrupt the turn that runs, or abort one tool of it."""
        if scope != "tool":
            super().cancel(scope, target)
            return
        for call, task in tuple(self.executing.values()):
            if target in (None, call.id, call.name):
                task.cancel()

    def cancelled(self, turn: Turn) -> Ended:
        return Ended("interrupted", ("system", "interrupted"), "the turn was interrupted")

    def at_limit(self, turn: Turn, limit: str) -> Ended:
        """Return the end of a turn that has reached a limit, of which the document has none."""
        message = f"the turn has used up its {limit.replace('_', ' ')}"
        self.monitor_error("warn", "system", message, limit=limit)
        return Ended("interrupted", None, message)

    def unexpected(self, turn: Turn, error: Exception) -> Ended:
        pair, message = ("tool", "exception"), cleaned(str(error) or type(error).__name__)
        self.put_on_record(pair, {"target": "run", "message": message})
        self.monitor_error("error", "system", message)
        return Ended("failed", pair, message)

    def remember(self, turn: Turn, end: Ended) -> None:
        """Keep the conversation, however the turn ended: the next one goes on from there."""
        self.seal_open(turn)
        self.history += turn.messages

    def seal_open(self, turn: Turn) -> None:
        """Give every call of the last answer a result, so that the next request is sound."""
        for id_, name in asked_in(turn.messages).items():
            record = self.records.get(id_)
            if record is not None and not record.over:
                self.seal(record)
            content = None if record is None else record.content
            turn.messages.append(tool_message(id_, content or self.sealed_content(name)))

    def seal(self, record: CallRecord) -> None:
        """End a call whose result nothing waits for any more."""
        record.error = "the call was cut off; its result is missing"
        self.end(record, "SEALED")

    def sealed_content(self, tool: str) -> dict[str, Any]:
        """Return what the model is told of a call that was cut off."""
        message = "The result is missing: the call was cut off. It may have had its effect."
        return self.failed_content(tool, "aborted", message)

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        await self.save()
        self.done(turn, end)
        self.state("READY")

    def done(self, turn: Turn, end: Ended) -> None:
        """Emit `done`, once, and `step_complete` where the turn completed."""
        reasons = {"completed": "completed", "degraded": "completed", "failed": "failed"}
        reason = reasons.get(end.state, "interrupted")
        self.say("progress", "done", step=turn.number, reason=reason)
        if reason == "completed":
            self.say("monitor", "step_complete", step=turn.number)

    # ------------------------------------------------------------------ the model

    async def answer(self, turn: Turn, messages: Any) -> Reply:
        """Ask the model, between its breakpoints."""
        self.breakpoint("PRE_MODEL")
        return await super().answer(turn, messages)

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:
        self.breakpoint("STREAMING_MODEL")

    def answered(self, turn: Turn, reply: Reply) -> None:
        if reply.text:
            self.say("progress", "text_chunk_start", step=turn.steps)
            self.say("progress", "text_chunk", step=turn.steps, delta=reply.text)
            self.say("progress", "text_chunk_end", step=turn.steps, text=reply.text)
        if reply.tool_calls:
            self.breakpoint("TOOL_PENDING")

    def classify(self, failed: AttemptError) -> Pair:
        return ("model", "failure")

    def after_failure(self, turn: Turn, attempt: FailedAttempt) -> Next:
        """End the turn: only the application asks the model again."""
        return Next(act="end")

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        message = cleaned(str(attempt.error))
        context = {"target": attempt.target.id or "model", "message": message}
        self.put_on_record(attempt.pair, context, attempt.number)
        self.monitor_error("error", "model", message, step=turn.number)

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        message = cleaned(str(error) or f"the hook {hook.id} did not come back")
        self.put_on_record(("system", "hook"), {"target": hook.id, "message": message})
        self.monitor_error("warn", "system", message, hook=hook.id, slot=hook.slot)

    # ------------------------------------------------------------------ tools

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        """Carry out the calls of an answer; the journal has them before they run."""
        self.records = {}
        await self.note(assistant=turn.messages[-1])
        await super().use_tools(turn, reply)

    def call_proposed(self, turn: Turn, call: Call) -> None:
        record = CallRecord(id=call.id, name=call.name, trail=["PENDING"])
        self.records[call.id] = record
        self.say("progress", "tool:start", call=record.snapshot())

    def approval_asked(self, call: Call) -> None:
        record = self.records[call.id]
        record.become("APPROVAL_REQUIRED")
        self.breakpoint("AWAITING_APPROVAL")
        self.say("control", "permission_required", call=record.snapshot())
        self.state("PAUSED")

    def approval_decided(self, call: Call, decision: Decision) -> None:
        allowed = decision == "approved"
        by = "timeout" if decision == "timeout" else "user"
        own = {"callId": call.id, "decision": "allow" if allowed else "deny", "decidedBy": by}
        self.say("control", "permission_decided", **own)
        if allowed:
            self.records[call.id].become("APPROVED")
        self.state("WORKING")

    async def tool(self, turn: Turn, call: Call) -> Outcome:
        """Execute a call once. In any case it ends, and the others do not feel it."""
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
        await self.run_hooks("pre_tool", call.named)
        record.become("EXECUTING")
        await self.note(started=call.id, tool=call.name)
        self.breakpoint("TOOL_EXECUTING")
        outcome = await self.execute(call)
        failed = outcome.kind in TYPES
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

    def executed(self, record: CallRecord, outcome: Outcome) -> None:
        """Keep a normal return as it is."""
        record.content = self.good_content(outcome)
        record.become("COMPLETED")
        self.say("monitor", "tool_executed", call=record.snapshot())

    def good_content(self, outcome: Outcome) -> dict[str, Any]:
        """Return what the model is told of a normal return."""
        errors = [
            {"item": item.item, "class": item.error_class, "code": item.code}
            for item in outcome.errors
        ]
        content = {"ok": True, "value": outcome.value}
        return {**content, "errors": errors} if errors else content

    def call_over(
        self, turn: Turn, call: Call, attempt: int, outcome: Outcome, step: Next | None
    ) -> None:
        """End a call that is not executed: denied, or an error of its own."""
        record = self.records[call.id]
        if outcome.kind in DENIALS:
            record.content = denied_content(call.name, outcome.kind == "denied_by_policy")
            self.end(record, "DENIED")
            return
        self.fail(record, call, outcome)
        self.end(record, "FAILED")

    def end(self, record: CallRecord, state: str) -> None:
        """Emit tool:end, and keep the record of the call."""
        record.over = True
        if record.state != state:
            record.become(state)
        self.keep(record)
        self.say("progress", "tool:end", call=record.snapshot())

    def keep(self, record: CallRecord) -> None:
        """Keep the record of a call for good."""
        self.host.audit_event("ToolCallRecord", call=record.snapshot())

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:
        return self.records[call.id].content or {}

    # ------------------------------------------------------------------ errors of tools

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:
        return ("tool", self.error_type(outcome)) if outcome.kind in TYPES else None

    def error_type(self, outcome: Outcome) -> ErrorType:
        """Return which of the five types an error is."""
        if outcome.kind == "exception" and outcome.code == "call":
            return "exception"
        return TYPES[outcome.kind]

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        """Identify an error, put it on record, emit it twice, and have it ready for the model."""
        error_type = self.error_type(outcome)
        prefix = "Invalid parameters: " if outcome.kind == "input_invalid" else ""
        record.error = message = prefix + cleaned(outcome.message)
        record.become("FAILED")
        record.content = self.failed_content(call.name, error_type, message)
        self.audit_error(record, error_type, message)
        self.emit_error(record, error_type, message)
        self.host.show_user(f"{call.name}: {message}")
        self.host.tell_model(record.content)

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        """Return what the model is told of an error."""
        return {
            "ok": False,
            "error": message,
            "errorType": error_type,
            "retryable": is_retryable(error_type),
            "recommendations": self.recommendations(error_type, tool),
        }

    def recommendations(self, error_type: ErrorType, tool: str) -> list[str]:
        """Return what the model may do about it."""
        names = tuple(item.contract.name for item in self.world.tools)
        return advice(error_type, tool, names)

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Put an error on record, with the flag of the layer that caught it."""
        context: dict[str, Any] = {"target": record.id, "tool": record.name, "message": message}
        if error_type in FLAGS:
            context[FLAGS[error_type]] = True
        self.put_on_record(("tool", error_type), context)

    def emit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Emit tool:error for the user and `error` for the monitor."""
        self.say("progress", "tool:error", call=record.snapshot(), error=message)
        own = {"callId": record.id, "tool": record.name, "errorType": error_type}
        again = is_retryable(error_type)
        self.monitor_error(self.severity(error_type), "tool", message, **own, retryable=again)

    def severity(self, error_type: ErrorType) -> Any:
        """Return how loud the monitor is told."""
        return "warn" if error_type in ("logical", "validation") else "error"


reference_kode = reference("kode-sdk", "KODE SDK")(KodeAgent)
