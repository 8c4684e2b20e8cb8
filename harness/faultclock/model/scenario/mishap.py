"""Mishaps: what befalls the subject as a whole. Its process is killed, or its work is cancelled."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue
from faultclock.model.duration import SECOND_NS, DurationNs
from faultclock.model.scenario.rule import Rule
from faultclock.model.scenario.trigger import EventTrigger, Moment

#: From the outermost to the innermost; a cancel goes down, never up or sideways. A `call` is what a
#: provider adapter is asked for; the others are parts of a runtime's session.
CancelScope = Literal["session", "turn", "stage", "tool", "call"]


class CrashRule(Rule):
    """The process of the subject is killed; a fresh one starts on what the store has kept.

    Give exactly one of `at`, `on` and `write`. Nothing of the process survives: no memory, no
    `finally`, no exit handler.
    """

    at: DurationNs | None = None
    on: EventTrigger | None = None
    write: int | None = Field(default=None, ge=1)
    """During the nth (1-based) write, append or slot write that reaches the session store."""
    leaves: Literal["nothing", "part", "all"] = "nothing"
    """With `write`: how much of that write is durable."""
    restart_after: DurationNs = SECOND_NS
    """Virtual time between the kill and the fresh process."""
    then: Literal["next", "again"] = "next"
    """Whether the task that was cut off is asked again, or the next one is."""

    @model_validator(mode="after")
    def _one_moment(self) -> CrashRule:
        if sum(value is not None for value in (self.at, self.on, self.write)) != 1:
            raise ValueError("give exactly one of at, on and write")
        if self.leaves != "nothing" and self.write is None:
            raise ValueError("leaves goes with write")
        return self


class CancelRule(SparseValue, Rule):
    """The person (or the embedding program) cancels work in a scope."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"optional"})

    when: Moment
    scope: CancelScope
    target: str | None = None
    """Scope `tool`: the tool's name, or the id of a tool call; `stage`: the stage's id; `call`: the
    task, or one call of it, such as `ask/2`. None means all of that scope that is running."""
    times: int = Field(default=1, ge=1, le=10)
    """How often, at once: a cancel must be idempotent."""
    optional: bool = False
    """Whether a run in which it met nothing to cancel is still a valid one."""
