"""What an error model asks of a whole agent turn: tools, persons, cancels, resumes, limits.

Each section is optional: a model whose document says nothing of a thing leaves it out, and the
checks that need it do not apply. Which sentence a rule stands on is said in the model's `rules`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.duration import SECOND_NS, DurationNs
from faultclock.model.scenario.interaction_script import InteractionKind

#: Class and code of an error, written `Class/Code`.
Pair = Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*/[A-Za-z][\w-]*$")]

#: Limits of a turn that `budgets` name.
Budget = Literal["steps", "tool_calls", "tokens", "wall_time"]

ResumeCondition = Literal[
    "no_snapshot",
    "store_mismatch",
    "store_blank",
    "unreadable",
    "unknown_keys",
    "slot_without_version",
    "slot_rejected",
    "slot_migration_failed",
    "slot_drift",
    "extension_gone",
    "sound",
]


class ToolCallRules(Value):
    """What becomes of a tool call that is not simply good, as the model gets it."""

    timed_out: Pair
    """It took longer than the tool's contract allows."""
    input_invalid: Pair
    output_malformed: Pair
    not_found: Pair
    """There is no tool of that name."""
    denied: Pair
    cancelled: Pair
    after_crash: Literal["never_again", "not_judged"] = "never_again"
    """Whether an execution that had its effect before a crash may be repeated after it."""


class InteractionDeadline(Value):
    """How long a request to the person stays open when nothing else is said."""

    id: str | None = None
    """For a switch to name it by."""
    kind: InteractionKind
    deadline: DurationNs | None = None
    """None: the request gives one; it must be finite all the same."""
    requirement: str


class InteractionRules(Value):
    """Requests to the person."""

    deadlines: tuple[InteractionDeadline, ...]
    late: Pair
    """Refuses an answer that comes after the first one."""
    timeout_reason: str = "timeout"
    """The reason of a denial by time that the model gets."""
    approval_holds_for: Literal["call", "same_arguments"] = "same_arguments"
    """Whether an approval also covers later calls of the same tool with the same arguments."""
    remembered_as: str = "cache"
    """What the audit trail has as the source of an approval that was given for an earlier call."""

    def deadline_for(self, kind: str) -> InteractionDeadline | None:
        """Return the row of `kind`, None when there is none."""
        return next((row for row in self.deadlines if row.kind == kind), None)


class CancellationRules(Value):
    """How a call ends that is cancelled in each scope.

    Without a pair any end in time is right, a return included.
    """

    session: Pair | None = None
    turn: Pair | None = None
    stage: Pair | None = None
    tool: Pair | None = None
    within: DurationNs = SECOND_NS
    """Virtual time within which the work has stopped; the network's latency comes on top."""


class ResumeRow(Value):
    """What becomes of a start that finds this condition. The first row that holds decides."""

    condition: ResumeCondition
    outcome: Literal["refused", "resumed"]
    errors: tuple[Pair, ...] = ()
    """Any of these is right; none means any typed error."""
    requirement: str


class ResumeRules(Value):
    """Starts that resume a stored session."""

    manifest_keys: tuple[str, ...]
    """Keys that a manifest has at its top."""
    manifest_optional: tuple[str, ...] = ()
    """Keys that it may have beside them."""
    table: tuple[ResumeRow, ...]


class BudgetRules(Value):
    """How a turn ends that has used up a limit. Without a pair any typed error is right."""

    steps: tuple[Pair, ...] = ()
    tool_calls: tuple[Pair, ...] = ()
    tokens: tuple[Pair, ...] = ()
    wall_time: tuple[Pair, ...] = ()
    within: DurationNs = SECOND_NS
    """Virtual time within which a turn ends that has used up its time."""

    @property
    def pairs(self) -> dict[Budget, tuple[Pair, ...]]:
        """The errors of each limit, in the order in which limits are judged."""
        return {
            "steps": self.steps,
            "tool_calls": self.tool_calls,
            "tokens": self.tokens,
            "wall_time": self.wall_time,
        }


class ExtensionSetRules(Value):
    """What becomes of extensions that cannot be loaded together, and of one that fails."""

    cycle: Pair
    conflict: Pair
    missing: Pair
    failure: Pair
    """Of a phase that fails, in the audit trail."""
    within: DurationNs = SECOND_NS
    """Virtual time within which it is recorded."""


def split(pair: str) -> tuple[str, str]:
    """Return class and code of a `Class/Code`."""
    class_name, _, code = pair.partition("/")
    return class_name, code
