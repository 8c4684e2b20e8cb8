"""Wrong stud-cli runtimes that are code: stores, stages, extensions and cancels."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import nullcontext
from typing import Any, Literal, TypeVar

from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import (
    Extension,
    Stage,
    StateMachine,
    TypedError,
)
from faultclock.subjects.reference_runtime.cancellation import Scope, is_cancellation
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.provider import ProviderCall
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import StudTurn
from faultclock.subjects.reference_runtime.stages import LoopEnd, Outcome, StageAttempt, Workflow
from faultclock.subjects.stud import AttemptError

wrong = ByHand("stud-cli")


# Once more?


# What is said of it, and when.


@wrong(
    "shows-then-saves",
    "Shows an answer before it is saved",
    fails="ordering.persisted-before-render",
)
class _ShowsThenSaves(ReferenceRuntime):
    """What the person has read is gone after a crash."""

    async def render(self, turn: StudTurn, end: LoopEnd) -> str:
        return end.text

    async def work(self, turn: StudTurn) -> str:
        shown = await super().work(turn)
        await self.save(turn)
        return shown


@wrong("saves-the-question-only", "Saves before the model answers", fails="turns.saved")
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


# Phases.


@wrong("gate-before-init", "Looks at the gate before Init", fails="ordering.sm-phases-in-order")
class _GateBeforeInit(Workflow):
    """What is not initialised is asked whether it may act."""

    def phase(self, stage: Stage, name: str) -> Any:
        swapped = {"Init": "CheckGate", "CheckGate": "Init"}
        return super().phase(stage, swapped.get(name, name))


@wrong("no-setup", "Enters a stage at Init", fails="ordering.sm-begins-with-setup")
class _NoSetup(Workflow):
    """Setup was done when the state machine was attached."""

    def phase(self, stage: Stage, name: str) -> Any:
        return nullcontext() if name == "Setup" else super().phase(stage, name)


@wrong("retries-at-act", "Enters a stage again at Act", fails="ordering.sm-retry-begins-with-setup")
class _RetriesAtAct(Workflow):
    """What the first attempt set up is still there."""

    async def attempt(
        self, stage: Stage, number: int, scope: Scope
    ) -> tuple[StageAttempt, Outcome]:
        self.again = number > 1
        return await super().attempt(stage, number, scope)

    def phase(self, stage: Stage, name: str) -> Any:
        if self.again and name in ("Setup", "Init", "CheckGate"):
            return nullcontext()
        return super().phase(stage, name)


@wrong("gate-is-advice", "Acts whatever the gate says", fails="ordering.sm-closed-gate-skips-act")
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


# Their phases, and in whose order.


@wrong(
    "disposes-what-is-active",
    "Disposes an extension, then deactivates it",
    fails="ordering.extension-phases-in-order",
)
class _DisposesWhatIsActive(Extensions):
    """What is gone is asked to stop."""

    async def close(self) -> None:
        for extension in self.in_order(self._initialised, "dispose"):
            await self.disposed(extension)
        await super().close()


@wrong("never-disposes", "Deactivates extensions, and leaves it there", fails="extensions.walked")
class _NeverDisposes(Extensions):
    """The process is about to end, so who would notice? Whoever has a file open."""

    async def disposed(self, extension: Extension) -> None:
        self._initialised.remove(extension)


@wrong(
    "activates-what-failed",
    "Activates an extension whose init failed",
    fails="ordering.extension-initialised-before-activated",
)
class _ActivatesWhatFailed(Extensions):
    """The failure is audited, and forgotten."""

    async def enter(self, extension: Extension, phase: str) -> bool:
        return await super().enter(extension, phase) or phase == "init"

    def disable(self, extension: Extension, phase: str, error: Exception) -> None:
        self.audit(extension, phase, error)


class _ActivatesLater(Extensions):
    waits = True

    async def call(self, extension: Extension, phase: str) -> None:
        if phase != "activate" or not self.waits:
            await super().call(extension, phase)


@wrong(
    "slots-before-activation",
    "Delivers slots, then activates",
    fails="ordering.slot-after-activation",
)
class _SlotsBeforeActivation(ReferenceRuntime):
    """State comes to an extension that is not there yet."""

    extensions_type = _ActivatesLater

    async def open(self) -> None:
        await super().open()
        assert isinstance(self.extensions, _ActivatesLater)
        self.extensions.waits = False
        for extension in self.extensions.active:
            await self.extensions.enter(extension, "activate")


# What they reach, in which order, and what is told of them.


T = TypeVar("T")


# What they reach.


@wrong(
    "backoff-swallows-cancel",
    "Swallows a cancel while it waits",
    fails="cancel.outcome",
    origin="harbor-framework/harbor#1223",
)
class _BackoffSwallowsCancel(ProviderCall):
    """harbor-framework/harbor#1223: the retry caught the cancel, and the next attempt came."""

    async def wait_after(self, failure: AttemptError) -> None:
        waited = asyncio.ensure_future(super().wait_after(failure))
        while not waited.done():
            try:
                await asyncio.wait({waited})
            except asyncio.CancelledError:
                continue
        waited.result()


@wrong("cancel-is-a-wish", "Cancels only between two steps", fails="cancel.outcome")
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


# In which order.


@wrong(
    "cancels-top-down", "Cancels the turn before its tools", fails="ordering.cancel-children-first"
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
