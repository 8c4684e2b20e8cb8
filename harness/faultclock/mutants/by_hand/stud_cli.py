"""Wrong stud-cli runtimes that are code."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Coroutine, Sequence
from typing import Any, Literal, TypeVar

from msgspec.structs import replace

from faultclock.agents.calls import Call
from faultclock.agents.stud_cli.cancellation import Scope, is_cancellation
from faultclock.agents.stud_cli.lifecycle import Extensions
from faultclock.agents.stud_cli.persistence import Resume
from faultclock.agents.stud_cli.person import Verdict
from faultclock.agents.stud_cli.runtime import ReferenceRuntime
from faultclock.agents.stud_cli.session import Session, StudTurn
from faultclock.agents.stud_cli.stages import LoopEnd, Workflow
from faultclock.agents.turn import Ended
from faultclock.mutants.by_hand.race_runtimes import RunsAgain
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import (
    Extension,
    StateMachine,
    TypedError,
)

wrong = ByHand("stud-cli")


@wrong(
    "timer-starts-early",
    "Starts a tool's time with its proposal",
    fails="tools.deadline",
    shown_by="approvals/approval-does-not-start-the-timer",
    origin="1ay1/agentty#40",
)
class _TimerStartsEarly(ReferenceRuntime):
    """1ay1/agentty#40: approved after six minutes, the tool failed at once as "too long"."""

    def propose(self, turn: StudTurn, call_id: str, name: str, arguments: str) -> Call:
        call = super().propose(turn, call_id, name, arguments)
        if call.tool is None:
            return call
        return replace(call, tool=_Impatient(call.tool))


class _Impatient:
    """A tool whose time runs from the moment at which it is made."""

    def __init__(self, tool: Any) -> None:
        self.execute = tool.execute
        self._contract = tool.contract
        self._proposed_s = asyncio.get_running_loop().time()

    @property
    def contract(self) -> Any:
        waited_s = asyncio.get_running_loop().time() - self._proposed_s
        left_s = max(0.0, self._contract.timeout_s - waited_s)
        return dataclasses.replace(self._contract, timeout_s=left_s)


@wrong(
    "one-by-one",
    "Runs tools one after the other",
    fails="tools.concurrent",
    shown_by="approvals/three-at-once-in-order",
)
class _OneByOne(ReferenceRuntime):
    """Three calls that were approved together take as long as their sum."""

    async def settle_all(
        self, turn: StudTurn, calls: Sequence[Call], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        for call, verdict in zip(calls, verdicts, strict=True):
            await self.settle(turn, call, verdict)


@wrong(
    "one-failure-hides-the-rest",
    "Gives all calls of an answer the error of one",
    fails="tools.result-kept",
    shown_by="tools/one-of-three-fails",
    origin="openai/openai-agents-python#2584",
    model="common",
)
@wrong(
    "one-failure-fails-all",
    "Drops what ran beside a failed tool",
    fails="tools.told",
    shown_by="tools/one-of-three-fails",
    origin="openai/openai-agents-python#2584",
)
class _OneFailureFailsAll(ReferenceRuntime):
    """openai/openai-agents-python#2584: one failing parallel call threw its siblings away."""

    def in_order(self, turn: StudTurn, calls: Sequence[Call]) -> Sequence[Call]:
        failed = [call for call in calls if "error" in turn.results[call.id]]
        for call in calls if failed else ():
            turn.results[call.id] = turn.results[failed[0].id]
        return calls


@wrong(
    "goes-on-after-a-cancelled-tool",
    "Takes a cancel for the result of a tool, and goes on",
    fails="ordering.cancelled-turn-acts-no-more",
    shown_by="cancellation/the-turn-with-its-tools",
    origin="HKUDS/nanobot#4814",
)
class _GoesOnAfterACancelledTool(ReferenceRuntime):
    """A cancel that leaked out of a tool was swallowed, and the loop went on."""

    async def settle_all(
        self, turn: StudTurn, calls: Sequence[Call], verdicts: Sequence[Verdict | dict[str, Any]]
    ) -> None:
        try:
            await super().settle_all(turn, calls, verdicts)
        except asyncio.CancelledError:
            for call in calls:
                content = self.telling.shape("Cancellation", "ToolCancelled", "Cancelled.")
                turn.results.setdefault(call.id, content)


@wrong(
    "next-tool-starts-cancelled",
    "Starts the next tool of a turn that is cancelled",
    fails="ordering.cancelled-turn-acts-no-more",
    shown_by="cancellation/between-two-tools",
    origin="microsoft/agent-framework-go#1076",
)
class _NextToolStartsCancelled(ReferenceRuntime):
    """The second tool was started with a context that was cancelled already."""

    async def consider(self, turn: StudTurn, call: Call) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(turn, call)
        except TypedError as error:
            if not is_cancellation(error):
                raise
            self.first = error
            return Verdict(approved=not call.contract.gated)

    async def settle(self, turn: StudTurn, call: Call, verdict: Verdict | dict[str, Any]) -> None:
        if call.scope.error is None:
            await super().settle(turn, call, verdict)
            return
        if isinstance(verdict, Verdict) and verdict.approved and call.tool is not None:
            self.tool_event("ToolInvocationStarted", call, 1)
            work = call.tool.execute(call.arguments, call_id=call.id)
            self.left = asyncio.ensure_future(work)
            await asyncio.sleep(0)
            self.tool_event("ToolInvocationCancelled", call, 1)
        raise self.first


@wrong(
    "ends-good-turns-only",
    "Ends no turn that failed",
    fails="ordering.turn-ends-once",
    shown_by="session-store/unavailable-for-good",
    origin="ag-ui-protocol/ag-ui#2416",
)
class _EndsGoodTurnsOnly(ReferenceRuntime):
    """ag-ui-protocol/ag-ui#2416: a failed run had no terminal event."""

    async def turn_over(self, turn: StudTurn, end: Ended) -> None:
        self.good = end.state == "completed"
        await super().turn_over(turn, end)

    def end_turn(self, turn: StudTurn) -> None:
        if self.good:
            super().end_turn(turn)


@wrong(
    "second-approval-sends-all-again",
    "Sends the first result again with the second",
    fails="tools.paired",
    shown_by="approvals/two-approvals-in-a-row",
    origin="openai/openai-agents-js#1435",
)
class _SecondApprovalSendsAllAgain(ReferenceRuntime):
    """After a second approval the first output went out once more, and the answer was a 400."""

    async def call_tools(self, turn: StudTurn, reply: Any) -> None:
        before = [item for item in turn.messages if item.get("role") == "tool"]
        await super().call_tools(turn, reply)
        turn.messages += before


@wrong(
    "resumes-what-has-state",
    "Activates on resume what has stored something, and nothing else",
    fails="extensions.walked",
    shown_by="resume-drift/extensions-without-state",
    origin="github/copilot-cli#4674",
)
class _ResumesWhatHasState(Extensions):
    """What defined the agent was lost on resume: the set was made from what was stored."""

    async def open(self) -> None:
        session = self.session
        store = session.world.store
        for extension in session.world.extensions if session.world.resume else ():
            if await store.read_slot(session.id, extension.id) is None:
                self.left_out.add(extension.id)
        await super().open()

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.left_out: set[str] = set()

    def in_order(self, extensions: Sequence[Extension], phase: str) -> list[Extension]:
        ordered = super().in_order(extensions, phase)
        left_out = self.left_out if phase == "activate" else ()
        return [extension for extension in ordered if extension.id not in left_out]


@wrong(
    "saves-the-question-only",
    "Saves before the model answers",
    fails="turns.saved",
    shown_by="session-store/slow-store",
)
class _SavesTheQuestionOnly(ReferenceRuntime):
    """The last answer is always the one that a crash takes."""

    async def think(self, turn: StudTurn) -> LoopEnd:
        before = self.history
        await self.save(turn)
        self.history = before
        return await super().think(turn)

    async def render(self, turn: StudTurn, end: LoopEnd) -> str:
        self.history = [*self.history, *turn.messages]
        return end.text


@wrong(
    "gate-is-advice",
    "Acts whatever the gate says",
    fails="ordering.sm-closed-gate-skips-act",
    shown_by="state-machine/gate-skips",
)
class _GateIsAdvice(Workflow):
    """CheckGate is asked, and nobody listens."""

    async def run(self) -> LoopEnd:
        self.machine = _OpenGate(self.machine)
        return await super().run()


class _OpenGate:
    """A state machine whose gate is always open."""

    def __init__(self, machine: StateMachine) -> None:
        self._machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def check_gate(self, stage_id: str, attempt: int) -> Literal["proceed"]:
        self._machine.check_gate(stage_id, attempt)
        return "proceed"


T = TypeVar("T")


@wrong(
    "cancel-is-a-wish",
    "Cancels only between two steps",
    fails="cancel.outcome",
    shown_by="cancellation/mid-stream",
)
class _CancelIsAWish(Scope):
    """earendil-works/pi#8331: Escape did nothing while the stream was open."""

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        result = await work
        self.check()
        return result


@wrong(
    "asks-after-cancel",
    "Asks what to keep after a cancel",
    fails="ordering.cancelled-turn-acts-no-more",
    shown_by="approvals/cancel-while-open",
)
class _AsksAfterCancel(ReferenceRuntime):
    """Whoever pressed Escape wants no further question."""

    async def in_time(self, turn: StudTurn, work: Coroutine[Any, Any, str]) -> str:
        try:
            return await super().in_time(turn, work)
        except TypedError as error:
            if is_cancellation(error):
                question = self.interactions.ask("Confirm", "Keep what was done?")
                self.question = asyncio.ensure_future(question)
                await asyncio.sleep(0)
            raise


@wrong(
    "cancels-top-down",
    "Cancels the turn before its tools",
    fails="ordering.cancel-children-first",
    shown_by="cancellation/twice",
)
class _CancelsTopDown(Scope):
    """For a moment a tool runs in a turn that is over."""

    def below(self) -> tuple[Scope, ...]:
        return () if self.first else super().below()

    first = False

    def cancel(self, reason: str) -> None:
        if self.error is not None:
            return
        self.first = True
        super().cancel(reason)
        self.first = False
        for child in self.below():
            child.cancel("parent")


@wrong(
    "runs-the-call-again",
    "Executes a cut-off call again on resume",
    fails="ordering.resume-never-executes-again",
    shown_by="resume-drift/killed-before-the-effect",
    origin="langchain-ai/langgraph#8039",
)
class _RunsTheCallAgain(RunsAgain):
    """langchain-ai/langgraph#8039: after a crash the node ran again."""


@wrong(
    "repeats-the-effect",
    "Does a cut-off call anew on resume",
    fails="tools.effects",
    shown_by="resume-drift/effect-is-not-repeated",
    origin="langchain-ai/langgraph#6792",
)
class _RepeatsTheEffect(RunsAgain):
    """langchain-ai/langgraph#6792: what was done is done again, as a call of its own."""

    def call_id(self, tool_call: str) -> str:
        return self.new_id("call")


@wrong(
    "delivers-undecided",
    "Delivers a slot before its owner decides",
    fails="ordering.drift-decided-before-delivery",
    shown_by="resume-drift/slot-is-used-with-a-warning",
)
class _DeliversUndecided(Resume):
    """The old state is in use when the question is asked whether it can be."""

    async def deliver(self) -> None:
        self.session.host.event("SessionResumed", session=self.session.id)
        for extension in self.extensions.active:
            stored = await self.persistence.read_slot(extension.id)
            if stored is not None:
                self.deliver_slot(extension, stored)
            await self.decide_slot(extension)
