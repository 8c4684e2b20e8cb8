"""Miniatures of an attached state machine: attempts, waits, phases, and where it goes."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal

from faultclock.subjects.ports import Stage, StateMachine
from faultclock.subjects.reference_runtime.cancellation import Scope
from faultclock.subjects.reference_runtime.loop import LoopEnd
from faultclock.subjects.reference_runtime.stages import Outcome, StageAttempt, Workflow
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# Attempts.


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
