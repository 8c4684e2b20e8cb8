"""SessionScript: how the runtime under test is set up. Its mode, limits, stages and extensions."""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import DurationNs
from faultclock.model.retry_policy import Backoff, Jitter
from faultclock.model.scenario.interaction_script import InteractionKind

Phase = Literal["init", "activate", "deactivate", "dispose"]


class Budgets(SparseValue):
    """Limits on one turn. None: no limit."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"cost_max_usd", "usd_per_million_tokens"})

    steps_max: int | None = Field(default=None, ge=1)
    """Answers of the provider."""
    tool_calls_max: int | None = Field(default=None, ge=1)
    """Executions of tools."""
    tokens_max: int | None = Field(default=None, ge=1)
    """Tokens as the provider's usage counts them; a cost limit divided by the price."""
    wall_time: DurationNs | None = None
    cost_max_usd: Decimal | None = Field(default=None, gt=0)
    """Money, at `usd_per_million_tokens`."""
    usd_per_million_tokens: Decimal = Field(default=Decimal(1_000), gt=0)
    """The price that the runtime is given: a token costs a tenth of a cent."""


class StageRetry(Value):
    """The retry policy of a stage: workflow redo, on top of the transport's own retries."""

    attempts_max: int = Field(ge=1)
    """Attempts in all, the first included."""
    backoff: Backoff | None = None
    """None: at once."""
    jitter: Jitter = Jitter.model_construct()


class StageScript(Value):
    """One stage of the attached state machine, and what it decides."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    body: str = "Do the work of this stage."
    """The system prompt of the stage."""
    allowed_tools: tuple[str, ...] = ()
    """Tools that a call of is approved without asking; any other needs a grant."""
    grants: dict[str, Literal["approve", "deny", "defer"]] = {}
    """What the state machine answers when it is asked to grant another tool."""
    turn_cap: int | None = Field(default=None, ge=1)
    """Answers of the provider within one attempt; None: no cap."""
    retry: StageRetry | None = None
    gate: tuple[Literal["proceed", "retry", "skip"], ...] = ("proceed",)
    """What CheckGate says, by attempt; the last one repeats."""
    asserts: tuple[Literal["ok", "retry", "skip", "fail"], ...] = ("ok",)
    """What Assert says, by attempt; the last one repeats."""
    next: str | None = None
    """The stage after this one; None ends the workflow."""
    on_failure: Literal["skip", "retry-later", "abort-workflow"] = "abort-workflow"
    """What Next says of a stage that failed for good."""

    @field_validator("gate", "asserts")
    @classmethod
    def _some(cls, decisions: tuple[str, ...]) -> tuple[str, ...]:
        if not decisions:
            raise ValueError("give at least one decision")
        return decisions


class ExtensionScript(Value):
    """A fake extension that the runtime loads."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    kind: str = "Tool"
    """Provider, Tool, Hook, UI, Logger, StateMachine, Command, SessionStore or ContextProvider."""
    depends_on: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    slot_version: int | None = Field(default=None, ge=0)
    """The version of the state slot that its code writes now; None: it keeps no state."""
    on_drift: Literal["migrate", "warn", "reject"] = "migrate"
    """What it decides about a slot of another version."""
    migration_fails: bool = False
    fails_in: tuple[Phase, ...] = ()
    """Phases that raise, each time."""
    hangs_in: tuple[Phase, ...] = ()
    """Phases that never come back."""
    takes: DurationNs = 0
    """How long each phase takes."""
    lives: tuple[int, ...] = ()
    """The lives of the subject (1-based) in which it is installed; empty: all of them."""


class SessionScript(SparseValue):
    """What the runtime is configured with."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"policies", "join", "quorum", "denials_max"})

    id: str = Field(default="s1", pattern=r"^[a-z0-9][a-z0-9-]*$")
    mode: Literal["ask", "yolo", "allowlist"] = "ask"
    """How a gated call is decided: by a person, always yes, or by the allowlist."""
    allowlist: tuple[str, ...] = ()
    """Names of the tools that mode `allowlist` approves."""
    headless: bool = False
    """There is no person to ask, also when interactors exist."""
    resume: bool = False
    """Whether the first life resumes a stored session."""
    deadlines: dict[InteractionKind, DurationNs] = {}
    """Interaction kind to a deadline other than the runtime's default."""
    budgets: Budgets = Budgets.model_construct()
    policies: dict[Literal["llm", "tool", "subagent"], Literal["fail", "degrade", "continue"]] = {}
    """What the person who set it up wants to become of a run in which that fails; what is missing
    is as the error model has it by default."""
    join: Literal["", "all_required", "allow_optional_failures", "first_success", "quorum"] = ""
    """How a group of subagents is joined; empty: as the error model has it by default."""
    quorum: int | None = Field(default=None, ge=1)
    """With `join: quorum`: how many subagents have to succeed."""
    denials_max: int | None = Field(default=None, ge=1)
    """Denials of permission in a row after which the run is to stop; None: the model's default."""
    entry_stage: str | None = None
    stages: tuple[StageScript, ...] = ()
    """The state machine; empty: none is attached."""
    extensions: tuple[ExtensionScript, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> SessionScript:
        stages = [stage.id for stage in self.stages]
        if len(set(stages)) != len(stages):
            raise ValueError("two stages have the same id")
        if (self.entry_stage is not None) != bool(stages):
            raise ValueError("entry_stage and stages go together")
        for name in (self.entry_stage, *(stage.next for stage in self.stages)):
            if name is not None and name not in stages:
                raise ValueError(f"there is no stage {name!r}")
        if self.allowlist and self.mode != "allowlist":
            raise ValueError("allowlist goes with mode: allowlist")
        if self.quorum is not None and self.join != "quorum":
            raise ValueError("quorum goes with join: quorum")
        extensions = [extension.id for extension in self.extensions]
        if len(set(extensions)) != len(extensions):
            raise ValueError("two extensions have the same id")
        return self
