"""An attached state machine: it decides, the runtime acts.

    Setup -> Init -> CheckGate -> Act -> Assert   once for each attempt
    -> Exit -> Next                               once, after the last attempt

Act is the message loop. The retry policy of a stage stands on top of the transport's: it is
workflow redo, from Setup, with the conversation so far, and it counts attempts of the stage
alone. A cancel passes through it, and so does an error of the session: neither is a failed
attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

from faultclock.agents.stud_cli.cancellation import Scope, is_cancellation
from faultclock.agents.stud_cli.persistence import sealed
from faultclock.agents.stud_cli.session import Halted, Session, StudTurn, pair_of
from faultclock.agents.waits import rule_wait_s
from faultclock.subjects.ports import Next, Stage, StateMachine, TypedError

Outcome = Literal["ok", "retry", "skip", "fail"]


class LoopEnd(Struct, frozen=True, kw_only=True):
    """How the loop ended: with the model's text, or because the stage's cap was reached."""

    text: str
    cap_hit: bool = False


Loop = Callable[[StudTurn, Stage, Scope], Awaitable[LoopEnd]]


class StageAttempt(Struct, kw_only=True):
    """One attempt of a stage; `number` is 1-based.

    Attributes:
        mark: how many messages the turn had before it.
        end: how Act ended; None where it did not, and `error` says why if it failed.
    """

    stage: Stage
    number: int
    mark: int
    end: LoopEnd | None = None
    error: Exception | None = None


class Workflow:
    """One turn's way through the stages."""

    def __init__(self, session: Session, machine: StateMachine, turn: StudTurn, loop: Loop) -> None:
        self.session = session
        self.machine = machine
        self.turn = turn
        self.loop = loop

    async def run(self) -> LoopEnd:
        """Go from stage to stage until the state machine ends the workflow.

        Raises:
            TypedError: a stage failed for good, or the turn was cancelled.
        """
        end = LoopEnd(text="")
        stage_id = self.entry()
        self.session.sm_state = None
        while True:
            stage = self.machine.stage(stage_id)
            scope = self.turn.scope.child("stage", stage.id)
            try:
                attempt, decision = await scope.run(self.execute(stage, scope))
            finally:
                scope.close()
            end = attempt.end or end
            match decision.kind:
                case "stage":
                    stage_id = decision.stage or self.machine.entry
                case "end" | "skip":
                    return end
                case _:
                    self.ended(stage, decision)
                    raise self.failure(attempt)

    def entry(self) -> str:
        """Return the stage to begin with: the one that is to be tried later, else the entry."""
        return str((self.session.sm_state or {}).get("stage") or self.machine.entry)

    def ended(self, stage: Stage, decision: Next) -> None:
        """Remember where to go on, if the stage is to be tried in a later turn."""
        if decision.kind == "retry-later":
            self.session.sm_state = {"stage": stage.id}
            self.session.dirty = True

    async def execute(self, stage: Stage, scope: Scope) -> tuple[StageAttempt, Next]:
        """Execute one stage with all its attempts, and ask where to go from there."""
        number = 0
        while True:
            number += 1
            attempt, outcome = await self.attempt(stage, number, scope)
            if outcome in ("retry", "fail"):
                self.audit_attempt(attempt, outcome)
            if not self.is_tried_again(stage, outcome, number):
                break
            await asyncio.sleep(self.wait_s(stage, number))
        # What could be tried again and may not any more has failed.
        outcome = "fail" if outcome == "retry" else outcome
        with self.phase(stage, "Exit"):
            pass
        with self.phase(stage, "Next"):
            return attempt, self.machine.next(stage.id, outcome)

    async def attempt(
        self, stage: Stage, number: int, scope: Scope
    ) -> tuple[StageAttempt, Outcome]:
        """Make one attempt, from Setup to Assert."""
        with self.phase(stage, "Setup"):
            self.make_whole()
            attempt = StageAttempt(stage=stage, number=number, mark=len(self.turn.messages))
        with self.phase(stage, "Init"):
            pass
        with self.phase(stage, "CheckGate"):
            gate = self.machine.check_gate(stage.id, number)
        if gate == "proceed":
            await self.act(attempt, scope)
        with self.phase(stage, "Assert"):
            return attempt, self.assess(attempt) if gate == "proceed" else gate

    def make_whole(self) -> None:
        """Answer each tool call that an attempt before this one was cut off in.

        What that attempt said and did stays in the conversation: a model that knows of an effect
        does not cause it again by mistake.
        """
        turn = self.turn
        turn.messages, _ = sealed(turn.messages, turn.results, turn.executed)

    async def act(self, attempt: StageAttempt, scope: Scope) -> None:
        """Run the message loop; its failure is for Assert to judge."""
        try:
            with self.phase(attempt.stage, "Act"):
                attempt.end = await self.loop(self.turn, attempt.stage, scope)
        except Halted:
            raise
        except Exception as error:
            if is_cancellation(error) or self.session.failed is not None:
                raise
            attempt.error = error

    def assess(self, attempt: StageAttempt) -> Outcome:
        """Let the state machine judge the finished transcript."""
        transcript = self.turn.messages[attempt.mark :]
        failed = attempt.error is not None
        return self.machine.assess(attempt.stage.id, attempt.number, transcript, failed)

    # Attempts.

    def is_tried_again(self, stage: Stage, outcome: str, number: int) -> bool:
        """Return whether the stage's policy allows another attempt after this one."""
        return outcome == "retry" and number < stage.attempts_max

    def wait_s(self, stage: Stage, failures: int) -> float:
        """Return the wait after the `failures`-th failed attempt (1-based), in seconds."""
        return rule_wait_s(stage, failures)

    def audit_attempt(self, attempt: StageAttempt, outcome: str) -> None:
        """Audit a failed attempt of a stage, with its number."""
        context = {"stage": attempt.stage.id, "outcome": outcome}
        self.session.telling.failed_attempt(self.failure(attempt), attempt.number, context)

    def failure(self, attempt: StageAttempt) -> Exception:
        """Return what the attempt failed with: the error of its Act, or the judgement on it."""
        if attempt.error is not None and pair_of(attempt.error)[0] is not None:
            return attempt.error
        message = f"attempt {attempt.number} of the stage {attempt.stage.id} failed"
        context = {"stage": attempt.stage.id}
        error = TypedError("ExtensionHost", "StageFailed", message, context)
        error.__cause__ = attempt.error
        return error

    def phase(self, stage: Stage, name: str) -> Any:
        """Bracket a phase of a stage."""
        return self.session.stage(self.turn, f"sm:{stage.id}:{name}")
