"""The port to an attached state machine: it decides, the runtime acts. Nothing in it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage.

    Attributes:
        body: its system prompt.
        allowed_tools: a call of one of these is approved without asking.
        turn_cap: answers of the provider within one attempt; None for no cap.
        attempts_max: attempts of the stage in all, the first included.
        backoff: kind of the waits between them, None for none; `base_s`, `factor`, `cap_s` and
            `jitter_percent` are its figures.
    """

    id: str
    body: str
    allowed_tools: tuple[str, ...] = ()
    turn_cap: int | None = None
    attempts_max: int = 1
    backoff: str | None = None
    base_s: float = 0.0
    factor: int = 2
    cap_s: float | None = None
    jitter_percent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """Where the workflow goes.

    Attributes:
        kind: `stage` goes on with `stage`; `end`, `skip`, `retry-later` and `abort-workflow` end
            this turn's workflow, the last two as a failure.
    """

    kind: Literal["stage", "end", "skip", "retry-later", "abort-workflow"]
    stage: str | None = None


class StateMachine(Protocol):
    """What an attached state machine is asked, in this order for each attempt of a stage."""

    @property
    def entry(self) -> str:
        """The id of the first stage."""
        ...

    def stage(self, stage_id: str) -> Stage:
        """Return a stage."""
        ...

    def check_gate(self, stage_id: str, attempt: int) -> Literal["proceed", "retry", "skip"]:
        """Say whether the attempt (1-based) may act."""
        ...

    def grant_tool(
        self, stage_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> Literal["approve", "deny", "defer"]:
        """Decide on a tool that the stage does not allow; anything but approve blocks the call."""
        ...

    def assess(
        self, stage_id: str, attempt: int, transcript: Sequence[Mapping[str, Any]], failed: bool
    ) -> Literal["ok", "retry", "skip", "fail"]:
        """Judge what the attempt did; `failed` says that Act ended with an error."""
        ...

    def next(self, stage_id: str, outcome: Literal["ok", "retry", "skip", "fail"]) -> Next:
        """Say where to go after the stage's last attempt."""
        ...
