"""The reference runtime of the KODE SDK model.

    a tool error     -> its type, the flag, recommendations -> tool:error -> error -> the model
    a hook error     -> logged; the flow goes on
    a model error    -> error of the phase `model`; the turn ends, the agent is READY again
    an interrupt     -> what runs is aborted, what is open is sealed; READY again

Nothing is ever tried again here: that is the model's decision, or the application's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from harness.subjects.bind_runtime import runtime
from harness.subjects.binding import Declares
from harness.subjects.ports import CancelScope, Hook, ProviderTarget, Reply, Surroundings
from harness.subjects.reference_agents.calls import Call, Outcome, execute_once
from harness.subjects.reference_agents.core import Agent, Ended, Next, Pair, Turn
from harness.subjects.reference_agents.kode_events import (
    CallRecord,
    CallState,
    ErrorType,
    Timeline,
    advice,
    cleaned,
    denied_content,
)
from harness.subjects.reference_agents.kode_memory import Memory
from harness.subjects.reference_agents.person import Decision
from harness.subjects.reference_agents.wire import AttemptFailed

__all__ = ["DECLARES", "KodeAgent", "reference_kode"]

DECLARES: tuple[Declares, ...] = ("errors", "audit", "events", "user", "model", "operator")

_DENIED = ("denied_by_policy", "denied_by_user", "approval_timed_out")
#: What a call is that was not good, where it is an error at all.
_TYPES: dict[str, ErrorType] = {
    "input_invalid": "validation",
    "exception": "runtime",
    "failed": "logical",
    "unavailable": "logical",
    "timeout": "aborted",
    "cancelled": "aborted",
    "unknown": "exception",
}
_FLAGS: dict[ErrorType, str] = {"validation": "_validationError", "runtime": "_thrownError"}
_INTERRUPTED: Pair = ("system", "interrupted")
#: How a turn's end is called in `done`.
_REASONS = {"completed": "completed", "degraded": "completed", "failed": "failed"}


class KodeAgent(Agent):
    """An agent that survives whatever its tools, its hooks and its model do."""

    memory_type: type[Memory] = Memory

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.timeline = self.make_timeline()
        self.memory = self.memory_type(surroundings)
        self.records: dict[str, CallRecord] = {}
        self.executing: dict[str, tuple[Call, asyncio.Task[Outcome]]] = {}

    def make_timeline(self, epoch: int = 1) -> Timeline:
        """Return the timeline of the process with this number."""
        return Timeline(self.host, epoch)

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
            self.history += self.memory.result(id_, record.content)
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

    def turn_started(self, turn: Turn) -> None:  # noqa: ARG002
        """WORKING."""
        self.state("WORKING")

    def remember(self, turn: Turn, end: Ended) -> None:  # noqa: ARG002
        """Keep the conversation, however the turn ended: the next one goes on from there."""
        self.seal_open(turn)
        self.history += turn.messages

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        """Save, then say that it is done."""
        await self.save()
        self.done(turn, end)
        self.state("READY")

    def done(self, turn: Turn, end: Ended) -> None:
        """Emit `done`, once, and `step_complete` where the turn completed."""
        reason = _REASONS.get(end.state, "interrupted")
        self.timeline.progress("done", step=turn.number, reason=reason)
        if reason == "completed":
            self.timeline.monitor("step_complete", step=turn.number)

    def state(self, name: str) -> None:
        """Emit the state of the agent: READY, WORKING or PAUSED."""
        self.timeline.monitor("state_changed", state=name)

    def breakpoint(self, name: str) -> None:
        """Emit that a breakpoint is passed."""
        self.timeline.monitor("breakpoint_changed", current=name)

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
            self.host.audit(
                error_class="system",
                code="storage",
                context={"target": "store", "message": message},
            )
            self.timeline.error("error", "system", message, storage=True)

    # ------------------------------------------------------------------ the model

    def available(self, turn: Turn) -> tuple[ProviderTarget, ...]:  # noqa: ARG002
        """Return the one provider that an agent has."""
        return self.targets[:1]

    async def answer(self, turn: Turn, messages: Any) -> Reply:
        """Ask the model, between its breakpoints."""
        self.breakpoint("PRE_MODEL")
        return await super().answer(turn, messages)

    def asking(self, turn: Turn, target: ProviderTarget, attempt: int) -> None:  # noqa: ARG002
        """STREAMING_MODEL."""
        self.breakpoint("STREAMING_MODEL")

    def answered(self, turn: Turn, reply: Reply) -> None:
        """Emit the text of an answer."""
        if reply.text:
            self.timeline.progress("text_chunk_start", step=turn.steps)
            self.timeline.progress("text_chunk", step=turn.steps, delta=reply.text)
            self.timeline.progress("text_chunk_end", step=turn.steps, text=reply.text)
        if reply.tool_calls:
            self.breakpoint("TOOL_PENDING")

    def classify(self, failed: AttemptFailed) -> Pair:  # noqa: ARG002
        """Return the one thing that a failure of the model is."""
        return ("model", "failure")

    def after_failure(
        self,
        turn: Turn,  # noqa: ARG002
        target: ProviderTarget,  # noqa: ARG002
        attempt: int,  # noqa: ARG002
        failed: AttemptFailed,  # noqa: ARG002
        pair: Pair | None,  # noqa: ARG002
        *,
        last: bool,  # noqa: ARG002
    ) -> Next:
        """End the turn: nobody asks the model again but the application."""
        return Next(act="end")

    def attempt_failed(
        self,
        turn: Turn,
        target: ProviderTarget,
        attempt: int,
        failed: AttemptFailed,
        pair: Pair | None,
        step: Next,  # noqa: ARG002
    ) -> None:
        """Tell the monitor that the model failed."""
        message = cleaned(str(failed))
        error_class, code = pair or (None, None)
        self.host.audit(
            error_class=error_class,
            code=code,
            context={"target": target.id or "model", "message": message},
            attempt=attempt,
        )
        self.timeline.error("error", "model", message, step=turn.number)

    def nobody_left(self, turn: Turn) -> Ended:  # noqa: ARG002
        """Return the end of a turn whose model cannot be asked."""
        return Ended("failed", ("model", "failure"), "there is no model to ask")

    # ------------------------------------------------------------------ tools

    async def use_tools(self, turn: Turn, reply: Reply) -> None:
        """Carry out the calls of an answer; the journal has them before they run."""
        self.records = {}
        await self.note(assistant=turn.messages[-1])
        await super().use_tools(turn, reply)

    def call_proposed(self, turn: Turn, call: Call) -> None:  # noqa: ARG002
        """Emit tool:start."""
        record = self.records[call.id] = CallRecord(id=call.id, name=call.name)
        record.trail.append(record.state)
        self.timeline.progress("tool:start", call=record.snapshot())

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:  # noqa: ARG002
        """End a call that is not executed: denied, or an error of its own."""
        record = self.records[call.id]
        if outcome.kind in _DENIED:
            record.content = denied_content(call.name, outcome.kind == "denied_by_policy")
            self.end(record, "DENIED")
            return
        self.fail(record, call, outcome)
        self.end(record, "FAILED")

    async def tool(self, turn: Turn, call: Call) -> Outcome:  # noqa: ARG002
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
        failed = outcome.kind in _TYPES
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

    def classify_tool(self, call: Call, outcome: Outcome) -> Pair | None:  # noqa: ARG002
        """Return the error type of a call, None where it is no error."""
        if outcome.kind not in _TYPES:
            return None
        return ("tool", self.error_type(outcome))

    def error_type(self, outcome: Outcome) -> ErrorType:
        """Return which of the five types an error is."""
        if outcome.kind == "exception" and outcome.code == "call":
            return "exception"
        return _TYPES[outcome.kind]

    def after_tool(self, turn: Turn, call: Call, attempt: int, outcome: Outcome) -> Next:  # noqa: ARG002
        """Tell the model, always."""
        return Next(act="tell")

    # ------------------------------------------------------------------ errors of tools

    def executed(self, record: CallRecord, outcome: Outcome) -> None:
        """Keep a normal return as it is."""
        record.content = self.good_content(outcome)
        record.become("COMPLETED")
        self.timeline.monitor("tool_executed", call=record.snapshot())

    def good_content(self, outcome: Outcome) -> dict[str, Any]:
        """Return what the model is told of a normal return."""
        errors = [
            {"item": item.item, "class": item.error_class, "code": item.code}
            for item in outcome.errors
        ]
        content = {"ok": True, "value": outcome.value}
        return {**content, "errors": errors} if errors else content

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        """Identify an error, put it on record, emit it twice, and have it ready for the model."""
        error_type = self.error_type(outcome)
        message = self.message(outcome)
        record.error = message
        record.become("FAILED")
        record.content = self.failed_content(call.name, error_type, message)
        self.audit_error(record, error_type, message)
        self.emit_error(record, error_type, message)
        self.host.show_user(f"{call.name}: {message}")
        self.host.tell_model(record.content)

    def message(self, outcome: Outcome) -> str:
        """Return what model and user read of an error."""
        prefix = "Invalid parameters: " if outcome.kind == "input_invalid" else ""
        return prefix + cleaned(outcome.message)

    def retryable(self, error_type: ErrorType) -> bool:
        """Return whether the model may try again."""
        return error_type not in ("validation", "aborted")

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        """Return what the model is told of an error."""
        return {
            "ok": False,
            "error": message,
            "errorType": error_type,
            "retryable": self.retryable(error_type),
            "recommendations": self.recommendations(error_type, tool),
        }

    def recommendations(self, error_type: ErrorType, tool: str) -> list[str]:
        """Return what the model may do about it."""
        names = tuple(item.contract.name for item in self.world.tools)
        return advice(error_type, tool, names)

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Put an error on record, with the flag of the layer that caught it."""
        context: dict[str, Any] = {"target": record.id, "tool": record.name, "message": message}
        if error_type in _FLAGS:
            context[_FLAGS[error_type]] = True
        self.host.audit(error_class="tool", code=error_type, context=context)

    def emit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        """Emit tool:error for the user and `error` for the monitor."""
        self.timeline.progress("tool:error", call=record.snapshot(), error=message)
        self.timeline.error(
            self.severity(error_type),
            "tool",
            message,
            callId=record.id,
            tool=record.name,
            errorType=error_type,
            retryable=self.retryable(error_type),
        )

    def severity(self, error_type: ErrorType) -> Any:
        """Return how loud the monitor is told."""
        return "warn" if error_type in ("logical", "validation") else "error"

    def end(self, record: CallRecord, state: CallState) -> None:
        """Emit tool:end, and keep the record of the call."""
        record.over = True
        if record.state != state:
            record.become(state)
        self.host.audit_event("ToolCallRecord", call=record.snapshot())
        self.timeline.progress("tool:end", call=record.snapshot())

    def content(self, call: Call, outcome: Outcome) -> Mapping[str, Any]:  # noqa: ARG002
        """Return what the model is told of a call."""
        return self.records[call.id].content or {}

    # ------------------------------------------------------------------ what was cut off

    def seal(self, record: CallRecord) -> None:
        """End a call that nobody will hear of any more."""
        record.error = "the call was cut off; its result is missing"
        self.end(record, "SEALED")

    def sealed_content(self, tool: str) -> dict[str, Any]:
        """Return what the model is told of a call that was cut off."""
        message = "The result is missing: the call was cut off. It may have had its effect."
        return self.failed_content(tool, "aborted", message)

    def seal_open(self, turn: Turn) -> None:
        """Give every call of the last answer a result, so that the next request is sound."""
        asked = turn.messages[-1].get("tool_calls") if turn.messages else None
        for item in asked or ():
            name = str(item["function"]["name"])
            record = self.records.get(item["id"])
            if record is not None and not record.over:
                self.seal(record)
            content = None if record is None else record.content
            turn.messages += self.memory.result(item["id"], content or self.sealed_content(name))

    # ------------------------------------------------------------------ permissions

    def approval_asked(self, call: Call) -> None:
        """PAUSED, until the person has decided."""
        record = self.records[call.id]
        record.become("APPROVAL_REQUIRED")
        self.breakpoint("AWAITING_APPROVAL")
        self.timeline.control("permission_required", call=record.snapshot())
        self.state("PAUSED")

    def approval_decided(self, call: Call, decision: Decision) -> None:
        """Say what was decided, and go on."""
        allowed = decision == "approved"
        self.timeline.control(
            "permission_decided",
            callId=call.id,
            decision="allow" if allowed else "deny",
            decidedBy="timeout" if decision == "timeout" else "user",
        )
        if allowed:
            self.records[call.id].become("APPROVED")
        self.state("WORKING")

    # ------------------------------------------------------------------ hooks and ends

    def hook_failed(self, hook: Hook, error: Exception) -> None:
        """Log error and continue."""
        message = cleaned(str(error) or f"the hook {hook.id} did not come back")
        self.host.audit(
            error_class="system", code="hook", context={"target": hook.id, "message": message}
        )
        self.timeline.error("warn", "system", message, hook=hook.id, slot=hook.slot)

    def at_limit(self, turn: Turn, limit: str) -> Ended:  # noqa: ARG002
        """Return the end of a turn that has reached a limit, of which the document has none."""
        message = f"the turn has used up its {limit.replace('_', ' ')}"
        self.timeline.error("warn", "system", message, limit=limit)
        return Ended("interrupted", None, message)

    def cancelled(self, turn: Turn) -> Ended:  # noqa: ARG002
        """Return the end of a turn that was interrupted."""
        return Ended("interrupted", _INTERRUPTED, "the turn was interrupted")

    def unexpected(self, turn: Turn, error: Exception) -> Ended:  # noqa: ARG002
        """Return the end of a turn in which something happened that nobody thought of."""
        message = cleaned(str(error) or type(error).__name__)
        self.host.audit(
            error_class="tool", code="exception", context={"target": "run", "message": message}
        )
        self.timeline.error("error", "system", message)
        return Ended("failed", ("tool", "exception"), message)


reference_kode = runtime(
    id="reference-kode-sdk",
    title="Correct agent runtime of the KODE SDK model, async",
    declares=DECLARES,
    inline=True,
)(KodeAgent)
