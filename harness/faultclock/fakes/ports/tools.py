"""Fake tools: they execute in virtual time, have their effect on the world, and reply.

One FakeTool is one tool in one life of the subject. What outlives the process, the counts, the
effect ledger and the effects that are still to come, is in a ToolsState that all tools of a run
share. Which rule decides is `tool_plan`'s business; every fact about an execution is recorded
here and nowhere else. A tool never checks its input or output: that is the runtime's duty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct, field

from faultclock.fakes.plain import digest, plain
from faultclock.fakes.port import Port, Steps, Style, stepping
from faultclock.fakes.ports.tool_plan import (
    ToolCounts,
    ToolPlan,
    commit,
    decide,
    effect_key,
    reply_of,
)
from faultclock.fakes.rules import RulesMet
from faultclock.model.scenario.port_values import ToolResult
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.typed_error import TypedError
from faultclock.sim.kernel.context import WORKING, current_call
from faultclock.sim.kernel.kernel import Call, Kernel
from faultclock.sim.kernel.promise import Promise


class Signal(Protocol):
    """What asks an execution to stop; see the port of a tool."""

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` when it is cancelled; at once if it is already."""
        ...


class PendingEffect(Struct, frozen=True, kw_only=True):
    """An effect that comes even if the subject ends.

    Attributes:
        due_ns: virtual time at which it happens.
        call: the call that began the execution.
    """

    execution: str
    tool: str
    tool_call: str
    key: str
    call: str | None
    due_ns: int


class ToolsState(Struct):
    """What all tools of a run remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        counts: executions and effects so far.
        met: the rules that have fired.
        pending: effects still to come that a killed subject does not stop, by execution.
    """

    counts: ToolCounts = field(default_factory=ToolCounts)
    met: RulesMet = field(default_factory=RulesMet)
    pending: dict[str, PendingEffect] = field(default_factory=dict)


class _Execution:
    """One execution on its way."""

    __slots__ = ("acted", "key", "plan", "promise", "seen", "tool_call", "work")

    def __init__(
        self,
        plan: ToolPlan,
        tool_call: str,
        key: str,
        work: Callable[[], Any] | None,
        acted: Callable[[], bool],
    ) -> None:
        self.acted = acted
        self.plan = plan
        self.tool_call = tool_call
        self.key = key
        self.work = work if plan.works else None
        self.seen = True
        self.promise: Promise

    @property
    def id(self) -> str:
        return self.plan.execution


class FakeTool(Port):
    """One tool in one life of the subject.

    Make it when the clock stands where its life begins, in every life, whether or not the subject
    is handed it: effects that are left from an earlier life are scheduled then, those that came
    due in between at once.

    `execute(arguments, *, call_id, signal=None, work=None)` executes once and returns a ToolResult.
    `work` is the function of a real tool: it is called where the script has the tool do its work,
    its end is the effect, and its value is the reply. What it raises leaves `execute`. `acted` says
    after that whether it did anything but ask a person; if not, it had no effect. For an async
    subject it returns an awaitable, as `execute` does. For an
    async subject it is a coroutine function, and the execution begins when the coroutine first
    runs: a task that is cancelled before that has called nothing. For a blocking subject it
    blocks the simulated thread. It raises what the port of a tool says: TypedError
    Cancellation/ToolCancelled when the signal stopped it, RuntimeError where the script says
    that an exception leaves it. `execute_blocking` blocks for any subject, and on the thread of
    an event loop the loop with it.

    An execution of a tool that `goes_on` takes no notice of a signal, and ends unseen when the
    task that awaits it is cancelled. Its effect comes even if the process is killed meanwhile, as
    the late effect of a reply that went out does; any other execution dies with its process.

    Args:
        script: what it is and does.
        kernel: of the world of this life.
        style: of the subject.
        state: shared by all tools of the run.
        life: 1-based.
    """

    execute: Callable[..., Any]

    def __init__(
        self,
        script: ToolScript,
        kernel: Kernel,
        style: Style,
        state: ToolsState,
        life: int = 1,
    ) -> None:
        super().__init__(
            kernel,
            life,
            actor="tool",
            of=f"tool {script.name}",
            rules=script.rules,
            met=state.met,
        )
        self.script = script
        self._state = state
        self._running: dict[str, _Execution] = {}
        self._due: dict[str, Call] = {}
        self.execute = stepping(style, self._execute)
        self.execute_blocking = stepping("sync", self._execute)
        for effect in list(state.pending.values()):
            if effect.tool == script.name:
                self._due[effect.execution] = kernel.call_at(
                    effect.due_ns, self._commit_pending, effect.execution
                )

    @property
    def name(self) -> str:
        """Its name, as the model says it."""
        return self.script.name

    def refused(self, call_id: str, error: Exception) -> None:
        """Record what left a real tool that asked a person, was told no, and did nothing."""
        kind = type(error).__name__
        self._record("tool.refused", current_call(), tool=self.name, tool_call=call_id, type=kind)

    def end_life(self) -> None:
        """Record what never replied, and let everything stand still. Call it once per life."""
        for call in self._due.values():
            call.cancel()
        self._due.clear()
        for execution in list(self._running.values()):
            self._record_of("tool.unfinished", execution)
        self._running.clear()

    # ------------------------------------------------------------------ an execution

    def _execute(
        self,
        arguments: object,
        *,
        call_id: str = "",
        signal: Signal | None = None,
        work: Callable[[], Any] | None = None,
        acted: Callable[[], bool] = lambda: True,
    ) -> Steps:
        execution = self._begin(arguments, call_id, signal, work, acted)
        reply = yield execution.promise
        if execution.work is None:
            return reply
        return (yield from self._work(execution, execution.work))

    def _begin(
        self,
        arguments: object,
        call_id: str,
        signal: Signal | None,
        work: Callable[[], Any] | None,
        acted: Callable[[], bool],
    ) -> _Execution:
        self._enter()
        given = arguments if isinstance(arguments, Mapping) else {}
        self._state.counts, plan = decide(self.script, self._state.counts, given)
        key = effect_key(self.name, arguments)
        execution = _Execution(plan, str(call_id or ""), key, work, acted)
        execution.promise = self._promise(execution)
        self._running[execution.id] = execution
        # A fact may be the last one of its life, so what survives is noted before it.
        if self.script.on_cancel == "goes_on":
            self._expect_effect(execution, plan.effect_ns)
        self._record_of(
            "tool.called", execution, arguments=plain(arguments), agent=self.script.agent
        )
        if plan.fires_at_once:
            self._fire_of(execution)
        self._due[execution.id] = self._kernel.call_after(plan.takes_ns, self._work_done, execution)
        if signal is not None:
            signal.on_cancel(lambda: self._signalled(execution))
        return execution

    def _promise(self, execution: _Execution) -> Promise:
        return Promise(self._kernel, f"the tool {self.name!r}", lambda: self._abandoned(execution))

    def _work(self, execution: _Execution, work: Callable[[], Any]) -> Steps:
        """Have the real tool do its work, on the task or thread of the subject."""
        plan = execution.plan
        working = WORKING.set(self.name)
        try:
            value = yield work
        except BaseException as error:
            if self._kernel.ending is None:
                del self._running[execution.id]
                if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
                    self._record_of("tool.stopped", execution)
                elif not execution.acted():
                    self._record_of("tool.put_off", execution)
                else:
                    self._raised(execution, error)
            raise
        finally:
            WORKING.reset(working)
        if not execution.acted():
            del self._running[execution.id]
            self._record_of("tool.put_off", execution)
            return ToolResult(value=value)
        if plan.effect_ns is not None:
            self._commit(execution)
        if not plan.replies:
            hangs = execution.promise = self._promise(execution)
            return (yield hangs)
        good = ToolResult(value=value) if plan.rule is None else None
        reply = self._replied(execution, good)
        if isinstance(reply, RuntimeError):
            raise reply
        return reply

    def _work_done(self, execution: _Execution) -> None:
        plan = execution.plan
        del self._due[execution.id]
        if execution.work is not None:
            execution.promise.resolve()
            return
        wait_ns = None
        if plan.effect_ns is not None:
            if plan.late:
                wait_ns = plan.effect_ns - plan.takes_ns
            else:
                self._commit(execution)
        if plan.replies:
            self._reply(execution, wait_ns)
        if wait_ns is not None:
            self._due[execution.id] = self._kernel.call_after(wait_ns, self._commit_late, execution)

    def _reply(self, execution: _Execution, effect_wait_ns: int | None) -> None:
        reply = self._replied(execution, effect_wait_ns=effect_wait_ns)
        if isinstance(reply, RuntimeError):
            execution.promise.reject(reply)
        else:
            execution.promise.resolve(reply)

    def _replied(
        self,
        execution: _Execution,
        reply: ToolResult | RuntimeError | None = None,
        *,
        effect_wait_ns: int | None = None,
    ) -> ToolResult | RuntimeError:
        """Record a reply, the one that the script has where none is given, and return it."""
        if not execution.plan.fires_at_once:
            self._fire_of(execution)
        self._expect_effect(execution, effect_wait_ns)
        del self._running[execution.id]
        reply = reply or reply_of(self.script, execution.plan.rule)
        if isinstance(reply, RuntimeError):
            self._raised(execution, reply)
        else:
            self._record_of("tool.replied", execution, seen=execution.seen, **_facts_of(reply))
        return reply

    def _raised(self, execution: _Execution, error: BaseException) -> None:
        self._record_of("tool.raised", execution, type=type(error).__name__, seen=execution.seen)

    # ------------------------------------------------------------------ effects

    def _expect_effect(self, execution: _Execution, wait_ns: int | None) -> None:
        """Note an effect that no crash prevents."""
        if wait_ns is not None:
            self._state.pending[execution.id] = PendingEffect(
                execution=execution.id,
                tool=self.name,
                tool_call=execution.tool_call,
                key=execution.key,
                call=execution.promise.call,
                due_ns=self._kernel.now_ns + wait_ns,
            )

    def _commit_late(self, execution: _Execution) -> None:
        del self._due[execution.id]
        self._commit(execution)

    def _commit(self, execution: _Execution) -> None:
        self._state.pending.pop(execution.id, None)
        count = self._count(execution.key)
        self._record_of("tool.effect", execution, key=execution.key, count=count)

    def _commit_pending(self, execution: str) -> None:
        effect = self._state.pending.pop(execution)
        del self._due[execution]
        self._record(
            "tool.effect",
            effect.call,
            execution=execution,
            tool=effect.tool,
            tool_call=effect.tool_call,
            key=effect.key,
            count=self._count(effect.key),
        )

    def _count(self, key: str) -> int:
        self._state.counts, count = commit(self._state.counts, key)
        return count

    # ------------------------------------------------------------------ cancels

    def _abandoned(self, execution: _Execution) -> None:
        """The task that awaited it was cancelled."""
        if self._stops(execution):
            self._stop(execution)
        else:
            execution.seen = False

    def _signalled(self, execution: _Execution) -> None:
        if self._stops(execution):
            self._stop(execution)
            execution.promise.reject(
                TypedError("Cancellation", "ToolCancelled", f"the tool {self.name} was cancelled")
            )

    def _stops(self, execution: _Execution) -> bool:
        alive = self._kernel.ending is None and execution.id in self._running
        return alive and self.script.on_cancel == "stops"

    def _stop(self, execution: _Execution) -> None:
        del self._running[execution.id]
        due = self._due.pop(execution.id, None)
        if due is not None:
            due.cancel()
        self._record_of("tool.stopped", execution)

    # ------------------------------------------------------------------ facts

    def _fire_of(self, execution: _Execution) -> None:
        rule = execution.plan.rule
        if rule is not None:
            kind, call = rule.then.fault.kind, execution.promise.call
            self._fire(rule, kind, call, execution=execution.id)

    def _record_of(self, kind: str, execution: _Execution, /, **payload: Any) -> None:
        self._record(
            kind,
            execution.promise.call,
            execution=execution.id,
            tool=self.name,
            tool_call=execution.tool_call,
            **payload,
        )


def _facts_of(reply: ToolResult) -> dict[str, Any]:
    problem = reply.problem
    return {
        "ok": reply.ok,
        "partial": reply.ok and bool(reply.errors),
        "class": None if problem is None else problem.error_class,
        "code": None if problem is None else problem.code,
        "errors": [
            {"item": error.item, "class": error.error_class, "code": error.code}
            for error in reply.errors
        ],
        "value_sha256": None if problem is not None else digest(reply.value),
    }
