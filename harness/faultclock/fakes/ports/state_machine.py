"""The fake state machine: it says what the script says, and records what it was asked.

It decides nothing about retries: the runtime counts attempts and waits between them. Each answer
is a plain value; the code that hands the machine to a subject makes the port's own types of them.

Where the documents leave something open, this is how it is read:

- An attempt whose Act ended with an error is never `ok`, in spite of the script: it is a
  `retry` while the stage has attempts left, and `fail` after the last one. Any other decision of
  the script stands, since an Assert may well skip, redo or fail a stage that went wrong.
- `ok` and `skip` lead to the stage that the script names next, or to the end. `fail`, and a
  `retry` that the last attempt still asks for, lead where `on_failure` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port
from faultclock.model.scenario.session_script import SessionScript, StageScript
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel

Gate = Literal["proceed", "retry", "skip"]
Grant = Literal["approve", "deny", "defer"]
Verdict = Literal["ok", "retry", "skip", "fail"]

_Decision = TypeVar("_Decision")


class NextStep(Struct, frozen=True, kw_only=True):
    """Where the workflow goes; the port's `Next` has the same fields.

    Attributes:
        stage: with kind `stage`, the one that comes now.
    """

    kind: Literal["stage", "end", "skip", "retry-later", "abort-workflow"]
    stage: str | None = None


class FakeStateMachine(Port):
    """The state machine of one session, in one life of the subject. It keeps no state of its own.

    Args:
        script: with an entry stage and stages.
        kernel: of the world of this life.
        life: 1-based.

    Raises:
        ValueError: the script attaches no state machine.
    """

    def __init__(self, script: SessionScript, kernel: Kernel, life: int = 1) -> None:
        if script.entry_stage is None:
            raise ValueError("the script attaches no state machine")
        super().__init__(kernel, life, actor="stage")
        self.entry: str = script.entry_stage
        self._stages = {stage.id: stage for stage in script.stages}
        self._attempts: dict[str, int] = {}

    def stage(self, stage_id: str) -> StageScript:
        """Return a stage as it is scripted.

        Raises:
            LookupError: there is no such stage.
        """
        try:
            return self._stages[stage_id]
        except KeyError:
            raise LookupError(f"the state machine has no stage {stage_id!r}") from None

    def check_gate(self, stage_id: str, attempt: int) -> Gate:
        """Say whether the attempt (1-based) may act."""
        answer = _by_attempt(self.stage(stage_id).gate, attempt)
        self._asked("check_gate", stage_id, attempt, answer)
        return answer

    def grant_tool(
        self,
        stage_id: str,
        tool: str,
        arguments: Mapping[str, Any],  # noqa: ARG002 - the port's; the script goes by the name
    ) -> Grant:
        """Decide on a tool that the stage does not allow; one that it does allow is approved.

        A tool that the script says nothing about is denied.
        """
        stage = self.stage(stage_id)
        answer: Grant = "approve" if tool in stage.allowed_tools else stage.grants.get(tool, "deny")
        self._asked("grant", stage_id, None, answer, tool)
        return answer

    def assess(
        self,
        stage_id: str,
        attempt: int,
        transcript: Sequence[Mapping[str, Any]],  # noqa: ARG002 - the port's
        failed: bool,
    ) -> Verdict:
        """Judge what the attempt (1-based) did; `failed` says that Act ended with an error."""
        stage = self.stage(stage_id)
        answer = _by_attempt(stage.asserts, attempt)
        if failed and answer == "ok":
            attempts_max = 1 if stage.retry is None else stage.retry.attempts_max
            answer = "retry" if attempt < attempts_max else "fail"
        self._asked("assess", stage_id, attempt, answer)
        return answer

    def next(self, stage_id: str, outcome: Verdict) -> NextStep:
        """Say where to go after the stage's last attempt."""
        stage = self.stage(stage_id)
        step = _next_step(stage, outcome)
        answer = step.kind if step.stage is None else f"stage {step.stage}"
        self._asked("next", stage_id, None, answer)
        return step

    def _asked(
        self,
        phase: str,
        stage_id: str,
        attempt: int | None,
        answer: str,
        tool: str | None = None,
    ) -> None:
        """Record a question. Where it names no attempt, it is about the last one that did."""
        if attempt is None:
            attempt = self._attempts.get(stage_id)
        else:
            self._attempts[stage_id] = attempt
        make_room(self._kernel)
        self._record(
            "stage.asked",
            current_call(),
            stage=stage_id,
            attempt=plain(attempt),
            phase=phase,
            answer=answer,
            tool=plain(tool),
        )


def _by_attempt(decisions: Sequence[_Decision], attempt: int) -> _Decision:
    """Return the decision about an attempt; the last one repeats."""
    return decisions[min(max(attempt, 1), len(decisions)) - 1]


def _next_step(stage: StageScript, outcome: str) -> NextStep:
    if outcome not in ("ok", "skip"):
        return NextStep(kind=stage.on_failure)
    if stage.next is None:
        return NextStep(kind="end")
    return NextStep(kind="stage", stage=stage.next)
