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
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.cancellation import is_cancellation
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.provider import ProviderCall, TransportRetries
from faultclock.subjects.reference_runtime.resume import Resume
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Halted, Message, Session, Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
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

    async def run_turn(self, text: str) -> str:
        async with self.queue:
            self.check_open()
            turn = self.make_turn()
            self.session.host.event("SessionTurnStart", turn=turn.id)
            answer = await self.guarded(turn, self.whole_turn(turn, text))
            turn.scope.close()
            self.session.host.event("SessionTurnEnd", turn=turn.id)
            return answer


@wrong("ends-what-never-began", "Ends turns that never began", fails="ordering.turn-end-has-start")
class _EndsWhatNeverBegan(ReferenceRuntime):
    """The `finally` also covers the check that refuses the turn."""

    def check_open(self) -> None:
        try:
            super().check_open()
        except Exception:
            self.session.host.event("SessionTurnEnd", turn=self.session.new_id("turn"))
            raise


@wrong(
    "receives-before-it-starts",
    "Takes the input before the turn starts",
    fails="ordering.turn-begins-with-start",
)
class _ReceivesBeforeItStarts(ReferenceRuntime):
    """The turn is announced when it is known to have an input."""

    def make_turn(self) -> Turn:
        turn = super().make_turn()
        with self.session.stage(turn, "RECEIVE_INPUT"):
            return turn


# One after the other, each on the one before.


@wrong("two-turns-at-once", "Runs two turns at once", fails="turns.apart")
class _TwoTurnsAtOnce(ReferenceRuntime):
    """The second one does not know what the first one is about to say."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.queue = OpenLock()


@wrong("tool-failure-ends-turn", "Ends a turn with its first failed tool", fails="turns.go-on")
class _ToolFailureEndsTurn(MessageLoop):
    """What the model could have mended, nobody mends."""

    async def settle(self, call: ProposedCall, verdict: Verdict | dict[str, Any]) -> None:
        await super().settle(call, verdict)
        error = self.turn.results[call.id].get("error")
        if error is not None:
            raise TypedError(error["class"], error["code"], error["message"])


# Its stages.


@wrong("leaves-stages-open", "Ends no stage that throws", fails="ordering.stage-post-follows-pre")
class _LeavesStagesOpen(Session):
    """The second event is sent behind the work, instead of in any case."""

    @contextmanager
    def stage(self, turn: Turn, name: str) -> Iterator[None]:
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

    def audit_turn(self, turn: Turn, outcome: str) -> None:
        super().audit_turn(turn, outcome)
        if outcome == "failed":
            id_ = self.session.new_id("stage")
            self.session.host.event(
                "StagePostFired", turn=turn.id, stage="RENDER", id=id_, error=True
            )


@wrong("composes-once", "Composes one request in a turn", fails="ordering.stages-in-order")
class _ComposesOnce(MessageLoop):
    """After a tool it goes on with the request that it has."""

    async def ask_model(self) -> Reply:
        if self.turn.steps == 0:
            return await super().ask_model()
        call = self.compose()
        try:
            with self.session.stage(self.turn, "SEND_REQUEST"):
                await call.send()
            with self.session.stage(self.turn, "STREAM_RESPONSE"):
                return self.identified(await call.receive())
        finally:
            call.drop()


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
class _SecondApprovalSendsAllAgain(MessageLoop):
    """After a second approval the first output went out once more, and the answer was a 400."""

    async def call_tools(self, reply: Any) -> None:
        before = [item for item in self.turn.messages if item.get("role") == "tool"]
        await super().call_tools(reply)
        self.turn.messages += before


@wrong(
    "halt-is-a-failed-tool",
    "Takes the halt of a run for a tool that failed",
    fails="ordering.headless-halt-ends-turn",
    origin="langchain-ai/langchain#39199",
)
class _HaltIsAFailedTool(MessageLoop):
    """The middleware that retries tools swallowed what was to stop the run for a person."""

    async def consider(self, call: ProposedCall) -> Verdict | dict[str, Any]:
        try:
            return await super().consider(call)
        except Halted:
            message = "The tool failed."
            return self.session.telling.shape("ToolTerminal", "ApprovalDenied", message)


# Cancels.


@wrong(
    "interrupted-calls-stay-open",
    "Leaves the calls of a cancelled turn unanswered",
    fails="tools.paired",
    origin="anthropics/claude-code#3003",
)
class _InterruptedCallsStayOpen(ReferenceRuntime):
    """After Escape a tool call had no result, and every later request was refused."""

    def settle(self, turn: Turn, *, keep: bool = True) -> None:
        if turn.saved or not turn.started:
            return
        self.session.messages = [*self.session.messages, *turn.messages]
        self.session.dirty = True


@wrong(
    "cancel-interrupts-the-save",
    "Ends in peace when a cancel interrupts its save",
    fails="turns.saved",
    origin="openai/openai-agents-python#1895",
)
class _CancelInterruptsTheSave(ReferenceRuntime):
    """The write of the session was cancelled half way, and the turn was gone."""

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
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
        store = session.surroundings.store
        for extension in session.surroundings.extensions if session.surroundings.resume else ():
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
