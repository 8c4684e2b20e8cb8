"""Wrong stud-cli runtimes that are code: turns, their limits, and what follows a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from faultclock.mutants.by_hand.shared import OpenLock
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import (
    Extension,
    Reply,
    Surroundings,
    TypedError,
)
from faultclock.subjects.reference_agents.calls import Call
from faultclock.subjects.reference_agents.turn import Ended, Message
from faultclock.subjects.reference_runtime.cancellation import is_cancellation
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.person import Verdict
from faultclock.subjects.reference_runtime.provider import ProviderCall, TransportRetries
from faultclock.subjects.reference_runtime.resume import Resume
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Halted, Session, StudTurn
from faultclock.subjects.stud import AttemptError, Policy

wrong = ByHand("stud-cli")


# Where it begins and ends.


@wrong(
    "ends-good-turns-only",
    "Ends no turn that failed",
    fails="ordering.turn-ends-once",
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


@wrong("ends-what-never-began", "Ends turns that never began", fails="ordering.turn-end-has-start")
class _EndsWhatNeverBegan(ReferenceRuntime):
    """The `finally` also covers the check that refuses the turn."""

    def check_open(self) -> None:
        try:
            super().check_open()
        except Exception:
            self.host.event("SessionTurnEnd", turn=self.new_id("turn"))
            raise


@wrong(
    "receives-before-it-starts",
    "Takes the input before the turn starts",
    fails="ordering.turn-begins-with-start",
)
class _ReceivesBeforeItStarts(ReferenceRuntime):
    """The turn is announced when it is known to have an input."""

    def new_turn(self, text: str) -> StudTurn:
        turn = super().new_turn(text)
        with self.stage(turn, "RECEIVE_INPUT"):
            return turn


# One after the other, each on the one before.


@wrong("two-turns-at-once", "Runs two turns at once", fails="turns.apart")
class _TwoTurnsAtOnce(ReferenceRuntime):
    """The second one does not know what the first one is about to say."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.queue = OpenLock()


@wrong("tool-failure-ends-turn", "Ends a turn with its first failed tool", fails="turns.go-on")
class _ToolFailureEndsTurn(ReferenceRuntime):
    """What the model could have mended, nobody mends."""

    async def settle(self, turn: StudTurn, call: Call, verdict: Verdict | dict[str, Any]) -> None:
        await super().settle(turn, call, verdict)
        error = turn.results[call.id].get("error")
        if error is not None:
            raise TypedError(error["class"], error["code"], error["message"])


# Its stages.


@wrong("leaves-stages-open", "Ends no stage that throws", fails="ordering.stage-post-follows-pre")
class _LeavesStagesOpen(ReferenceRuntime):
    """The second event is sent behind the work, instead of in any case."""

    @contextmanager
    def stage(self, turn: StudTurn, name: str) -> Iterator[None]:
        id_ = self.new_id("stage")
        self.host.event("StagePreFired", turn=turn.id, stage=name, id=id_)
        yield
        self.host.event("StagePostFired", turn=turn.id, stage=name, id=id_, error=False)


@wrong(
    "ends-other-stages",
    "Ends RENDER in any case",
    fails="ordering.stage-post-has-pre",
    origin="agno-agi/agno#9487",
)
class _EndsOtherStages(ReferenceRuntime):
    """agno-agi/agno#9487: what had failed was finished all the same."""

    def audit_turn(self, turn: StudTurn, outcome: str) -> None:
        super().audit_turn(turn, outcome)
        if outcome == "failed":
            id_ = self.new_id("stage")
            self.host.event("StagePostFired", turn=turn.id, stage="RENDER", id=id_, error=True)


@wrong("composes-once", "Composes one request in a turn", fails="ordering.stages-in-order")
class _ComposesOnce(ReferenceRuntime):
    """After a tool it goes on with the request that it has."""

    async def answer(self, turn: StudTurn, messages: Sequence[Message]) -> Reply:
        if turn.steps == 0:
            return await super().answer(turn, messages)
        return await self.asked(turn, self.compose(turn, messages))


# Its limits.


# Requests of a turn.


@wrong(
    "waits-two-then-four",
    "Waits 2 and 4 s above a layer that is told 7",
    fails="backoff.retry-after",
    origin="earendil-works/pi#9595",
)
class _WaitsTwoThenFour(TransportRetries):
    """The layer that honours Retry-After was off by default; the agent above it has its own."""

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        return float(2**count)


# The person.


@wrong(
    "second-approval-sends-all-again",
    "Sends the first result again with the second",
    fails="tools.paired",
    origin="openai/openai-agents-js#1435",
)
class _SecondApprovalSendsAllAgain(ReferenceRuntime):
    """After a second approval the first output went out once more, and the answer was a 400."""

    async def call_tools(self, turn: StudTurn, reply: Any) -> None:
        before = [item for item in turn.messages if item.get("role") == "tool"]
        await super().call_tools(turn, reply)
        turn.messages += before


@wrong(
    "halt-is-a-failed-tool",
    "Takes the halt of a run for a tool that failed",
    fails="ordering.headless-halt-ends-turn",
    origin="langchain-ai/langchain#39199",
)
class _HaltIsAFailedTool(ReferenceRuntime):
    """The middleware that retries tools swallowed what was to stop the run for a person."""

    async def consider(self, turn: StudTurn, call: Call) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(turn, call)
        except Halted:
            message = "The tool failed."
            return self.telling.shape("ToolTerminal", "ApprovalDenied", message)


# Cancels.


@wrong(
    "interrupted-calls-stay-open",
    "Leaves the calls of a cancelled turn unanswered",
    fails="tools.paired",
    origin="anthropics/claude-code#3003",
)
class _InterruptedCallsStayOpen(ReferenceRuntime):
    """After Escape a tool call had no result, and every later request was refused."""

    def seal(self, turn: StudTurn) -> None:
        if turn.saved or not turn.executed:
            return
        self.history = [*self.history, *turn.messages]
        self.dirty = True


@wrong(
    "cancel-interrupts-the-save",
    "Ends in peace when a cancel interrupts its save",
    fails="turns.saved",
    origin="openai/openai-agents-python#1895",
)
class _CancelInterruptsTheSave(ReferenceRuntime):
    """The write of the session was cancelled half way, and the turn was gone."""

    async def in_time(self, turn: StudTurn, work: Coroutine[Any, Any, str]) -> str:
        try:
            return await super().in_time(turn, work)
        except TypedError as error:
            last = turn.messages[-1] if turn.messages else {}
            if not is_cancellation(error) or last.get("role") != "assistant":
                raise
            return str(last.get("content"))


@wrong(
    "announces-a-retry-after-cancel",
    "Announces a retry that cannot come any more",
    fails="cancel.audited",
    origin="zirkelc/ai-retry#39",
)
class _AnnouncesARetryAfterCancel(ProviderCall):
    """The callbacks of a retry were called after the user's abort."""

    async def wait_after(self, failure: AttemptError) -> None:
        try:
            await super().wait_after(failure)
        except asyncio.CancelledError:
            self.session.host.audit(
                error_class="ProviderTransient",
                code="RateLimited",
                context={**failure.context(), "retried": True},
                attempt=self.retries.attempt + 1,
            )
            raise


# A session that is resumed.


@wrong(
    "stale-ids-after-resume",
    "Answers an interrupted call by another id",
    fails="tools.paired",
    origin="letta-ai/letta-code#101",
)
class _StaleIdsAfterResume(Resume):
    """The id of the approval that was open is not that of the call."""

    def add(self, messages: list[Message]) -> None:
        super().add(
            [
                {**item, "tool_call_id": self.session.new_id("approval")}
                if item.get("role") == "tool"
                else item
                for item in messages
            ]
        )


@wrong(
    "resumes-what-has-state",
    "Activates on resume what has stored something, and nothing else",
    fails="extensions.walked",
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
