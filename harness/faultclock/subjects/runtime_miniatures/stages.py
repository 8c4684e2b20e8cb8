"""Miniatures of an attached state machine: attempts, waits, phases, and where it goes."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal

from faultclock.subjects.ports import Next, Stage, StateMachine
from faultclock.subjects.reference_runtime.cancellation import Scope
from faultclock.subjects.reference_runtime.loop import LoopEnd
from faultclock.subjects.reference_runtime.stages import Outcome, StageAttempt, Workflow
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []

# Attempts.


@wrong("one-stage-attempt", "Gives every stage one attempt", fails="stages.attempts")
class _OneStageAttempt(Workflow):
    """The transport has retries; that there are others on top was forgotten."""

    def is_tried_again(self, stage: Stage, outcome: str, number: int) -> bool:
        return False


@wrong("one-stage-attempt-more", "Gives a stage one attempt more", fails="stages.attempts")
class _OneStageAttemptMore(Workflow):
    """Its attempts are counted as retries: the first one does not count."""

    def is_tried_again(self, stage: Stage, outcome: str, number: int) -> bool:
        return outcome == "retry" and number <= stage.attempts_max


@wrong("hurries-stages", "Tries a stage again at once", fails="stages.wait")
class _HurriesStages(Workflow):
    """The wait that the stage declares is the transport's, it thinks."""

    def wait_s(self, stage: Stage, failures: int) -> float:
        return 0.0


@wrong(
    "failure-is-the-end",
    "Ends in peace where a workflow aborts",
    fails="stages.next",
    origin="openai/codex#28375",
)
class _FailureIsTheEnd(Workflow):
    """openai/codex#28375: the event of the end overwrote that of the failure."""

    async def execute(self, stage: Stage, scope: Scope) -> tuple[StageAttempt, Next]:
        attempt, decision = await super().execute(stage, scope)
        return attempt, Next(kind="end") if decision.kind == "abort-workflow" else decision


@wrong("ends-after-one-stage", "Ends after its first stage", fails="stages.next")
class _EndsAfterOneStage(Workflow):
    """Where to go is asked for, and not gone."""

    async def execute(self, stage: Stage, scope: Scope) -> tuple[StageAttempt, Next]:
        attempt, decision = await super().execute(stage, scope)
        return attempt, Next(kind="end") if decision.kind == "stage" else decision


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


@wrong("stage-attempts-unaudited", "Audits no attempt of a stage", fails="audit.attempts")
class _StageAttemptsUnaudited(Workflow):
    """What the workflow does again, only the workflow knows."""

    def audit_attempt(self, attempt: StageAttempt, outcome: str) -> None:
        return
