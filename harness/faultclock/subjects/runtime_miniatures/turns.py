"""Miniatures of a turn: where it begins and ends, its stages, its limits."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from faultclock.subjects.ports import Reply, Surroundings, TypedError
from faultclock.subjects.reference_runtime.approvals import Verdict
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Session, Turn
from faultclock.subjects.reference_runtime.tool_call import ProposedCall
from faultclock.subjects.runtime_miniatures.table import OpenLock, wrong

__all__: list[str] = []

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


@wrong("counts-too-late", "Looks at its limits after the step", fails="budgets.kept")
class _CountsTooLate(MessageLoop):
    """What is over is looked at when it is over."""

    def check_limits(self, iteration: int) -> None:
        if iteration:
            self.turn.steps -= 1
            super().check_limits(iteration - 1)
            self.turn.steps += 1


@wrong(
    "has-no-clock",
    "Lets a turn take its time",
    fails="budgets.kept",
    origin="OpenHands/OpenHands#9798",
)
class _HasNoClock(ReferenceRuntime):
    """OpenHands/OpenHands#9798: a wait of 30 seconds took half an hour."""

    async def in_time(self, turn: Turn, work: Coroutine[Any, Any, str]) -> str:
        return await turn.scope.run(work)
