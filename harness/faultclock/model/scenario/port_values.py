"""What crosses the ports between a subject and the simulated world: plain values.

The fakes make them, the subjects read them (or the other way round), and neither knows the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.model.scenario.interaction_script import InteractionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProblem:
    """Why a tool, or one item of its work, failed.

    Attributes:
        item: which item of a partial result; None for the whole call.
    """

    error_class: str
    code: str
    message: str = ""
    item: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool replies.

    Attributes:
        value: JSON-able, in the tool's declared output shape; None when it failed.
        errors: the items that failed; not empty makes it a partial result.
        problem: why it failed as a whole; None when it did not.
    """

    value: Any = None
    errors: tuple[ToolProblem, ...] = ()
    problem: ToolProblem | None = None

    @property
    def ok(self) -> bool:
        """Whether there is a value, whole or partial."""
        return self.problem is None


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionRequest:
    """What the runtime wants to know from the person.

    Attributes:
        id: unique within the run.
        deadline_s: after which the runtime stops waiting, in seconds; every request has one.
        tool, tool_call: which call an Approve or Confirm is about. Without the id of the model's
            call, give its `arguments`.
    """

    id: str
    kind: InteractionKind
    prompt: str
    deadline_s: float
    options: tuple[str, ...] = ()
    tool: str | None = None
    tool_call: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionAnswer:
    """What the person said.

    Attributes:
        status: `accepted` (approved, or a value was given), `rejected` (denied), `dismissed` (the
            dialog was closed: the turn is to be cancelled), `timeout` (no answer came in time).
        value: True for an approval, the text, option or token otherwise.
    """

    status: Literal["accepted", "rejected", "dismissed", "timeout"]
    value: Any = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """The state that one extension keeps with the session.

    Attributes:
        version: of its shape, 0 or more; None where it was stored without one.
    """

    version: int | None
    data: Mapping[str, Any]
