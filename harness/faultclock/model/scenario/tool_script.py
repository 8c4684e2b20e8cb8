"""ToolScript: a fake tool. Its contract, what a call of it does to the world, and what it replies.

Effect and reply are apart: a tool may have done its work and say that it failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from faultclock.model.retry_policy import Backoff, Jitter
from faultclock.model.scenario.rule import EVERY, RangeField, TriggeredRule, When


class ToolRetry(Value):
    """The retry policy in a tool's contract: which codes are worth another try, and how."""

    attempts_max: int = Field(ge=1)
    """Attempts in all, the first try included."""
    backoff: Backoff
    jitter: Jitter = Jitter.model_construct()
    retryable: tuple[str, ...] = ("ExecutionTimeout", "ResourceBusy")
    """Codes; every other code is terminal."""


class ItemError(Value):
    """One item of a partial result that failed."""

    # Written by its name into a trace, and read by its alias from a file.
    model_config = ConfigDict(populate_by_name=True)

    item: str
    error_class: str = Field(alias="class")
    code: str
    message: str = "it failed"


class Partial(Value):
    """Some items were done, the others are named in `errors[]`."""

    kind: Literal["partial"]
    value: Any
    errors: tuple[ItemError, ...] = Field(min_length=1)


class ExecutionTimeout(Value):
    """The tool reports ToolTransient/ExecutionTimeout."""

    kind: Literal["timeout"]


class ResourceBusy(Value):
    """The tool reports ToolTransient/ResourceBusy."""

    kind: Literal["resource_busy"]


class InputRejected(Value):
    """The tool reports ToolTerminal/InputInvalid."""

    kind: Literal["input_rejected"]
    message: str = "the arguments do not fit the schema"


class OutputMalformed(Value):
    """The tool returns a good result whose value does not fit its output schema."""

    kind: Literal["output_malformed"]
    value: Any = "not what the schema says"


class Forbidden(Value):
    """The tool reports ToolTerminal/Forbidden."""

    kind: Literal["forbidden"]
    message: str = "not allowed"


class NotFound(Value):
    """The tool reports ToolTerminal/NotFound."""

    kind: Literal["not_found"]
    message: str = "no such thing"


class ToolException(Value):
    """The tool breaks its contract: an exception leaves it, with a path and a key in its text."""

    kind: Literal["exception"]
    message: str = "boom at /srv/agent/tools/run.py with sk-simulated-0123456789abcdef0123"


class Hang(Value):
    """The tool never replies."""

    kind: Literal["hang"]


class Logical(Value):
    """The tool replies that it did not work: the expected kind of failure, `{ok: false}`."""

    kind: Literal["logical"]
    message: str = "File not found: notes.txt"


class CapabilityAbsent(Value):
    """The host lacks what the tool needs."""

    kind: Literal["capability_absent"]
    message: str = "no shell on this host"


ToolFault = Annotated[
    Partial
    | ExecutionTimeout
    | ResourceBusy
    | InputRejected
    | OutputMalformed
    | Forbidden
    | NotFound
    | ToolException
    | Hang
    | Logical
    | CapabilityAbsent,
    Field(discriminator="kind"),
]


class ToolTrigger(When):
    """Which executions of the tool a rule is for. Every condition that is given must hold."""

    executions: RangeField = EVERY
    """1-based, over all executions of this tool in the run: `2`, `1-3`, `3+` or `every`."""
    arguments: dict[str, Any] = {}
    """Argument to the value it must have; others do not matter."""

    def holds(self, *, arguments: Mapping[str, Any]) -> bool:
        """Return whether the arguments of an execution have these values."""
        return all(
            name in arguments and _same(arguments[name], wanted)
            for name, wanted in self.arguments.items()
        )


def _same(value: object, wanted: object) -> bool:
    # In Python, True equals 1; in the JSON that both come from, it does not.
    return value == wanted and isinstance(value, bool) is isinstance(wanted, bool)


class ToolOutcome(Value):
    """What becomes of an execution, where it is not simply good."""

    fault: ToolFault
    effect: Literal["none", "committed", "late"] = "none"
    """`committed`: the effect happened before the bad reply (commit-then-fail); `late`: it happens
    after the reply (fail-then-commit)."""
    effect_after: DurationNs = SECOND_NS
    """With `late`: how long after the reply."""
    takes: DurationNs | None = None
    """Overrides the tool's own."""


class ToolRule(TriggeredRule):
    """One rule of a tool's plan; the first that matches decides."""

    when: ToolTrigger = ToolTrigger.model_construct()
    then: ToolOutcome


class ToolScript(SparseValue):
    """A fake tool."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"policy", "required", "idempotent", "reads", "service", "through"}
    )

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")
    description: str = "A simulated tool."
    agent: bool = False
    """Whether it is a subagent: it is called like a tool, and cancelled with its parent."""
    input_schema: dict[str, Any] = {"type": "object"}
    """JSON Schema of the arguments."""
    output_schema: dict[str, Any] = {}
    """JSON Schema of the value; empty accepts anything."""
    gated: bool = False
    """Whether a call needs an approval."""
    destructive: bool = False
    """Whether that approval is a Confirm, with its shorter deadline."""
    timeout: DurationNs = 30 * SECOND_NS
    """How long an execution may take. It begins with the execution, never with the proposal."""
    takes: DurationNs = 100 * MILLISECOND_NS
    """How long a good execution takes; its effect happens at the end of it."""
    on_cancel: Literal["stops", "goes_on"] = "stops"
    """Whether a cancelled execution stops, or finishes unseen, effect included."""
    retry: ToolRetry | None = None
    value: Any = {"done": True}
    """The value of a good result."""
    policy: Literal["", "allow", "deny"] = ""
    """What the policy engine says of a call; empty: it need not be asked."""
    required: bool = True
    """With `agent`: whether a group of subagents needs it to succeed."""
    idempotent: bool = True
    """Whether it may be executed twice without harm."""
    reads: bool = False
    """Whether it only reads: then an execution has no effect on the world."""
    service: str | None = None
    """The service of the scenario that it belongs to: a server of the Model Context Protocol. Only
    an agent that brings its own tools can have it."""
    through: tuple[str, ...] = ()
    """What the model has to call first to be offered it: handoffs, and agents as tools. Each is a
    name, and where its arguments matter a space and their JSON."""
    lives: tuple[int, ...] = ()
    """The lives of the subject (1-based) in which the runtime has it; empty: all of them."""
    rules: tuple[ToolRule, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> ToolScript:
        if self.destructive and not self.gated:
            raise ValueError(f"{self.name}: destructive goes with gated: true")
        if not self.required and not self.agent:
            raise ValueError(f"{self.name}: required goes with agent: true")
        return self
