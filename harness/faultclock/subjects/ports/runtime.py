"""The port of a runtime: what it is given, and what it must be able to do.

    runtime(surroundings) -> an object with `run_turn`, and whatever else of `Runtime` it can

Every method but `cancel` is a coroutine function for an async runtime and a plain one for a
blocking runtime; the bound function itself may be either too. A fresh object is made for each
life of the process: what it does not find in the store, it has forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol

from faultclock.model.error_model.failure_rules import RunState
from faultclock.model.scenario.interaction_script import InteractionKind
from faultclock.model.scenario.mishap import CancelScope
from faultclock.model.scenario.port_values import InteractionAnswer
from faultclock.subjects.ports.extension import Extension
from faultclock.subjects.ports.host import Host
from faultclock.subjects.ports.interaction import Interactor
from faultclock.subjects.ports.provider import API_KEY, BASE_URL, MODEL
from faultclock.subjects.ports.services import (
    Archive,
    Hook,
    Policy,
    ProviderTarget,
    Queue,
    TelemetrySink,
)
from faultclock.subjects.ports.state_machine import StateMachine
from faultclock.subjects.ports.store import SessionStore
from faultclock.subjects.ports.tool import Tool
from faultclock.subjects.ports.workflow import Workflow


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one turn; None is no limit.

    Attributes:
        steps_max: answers of the provider.
        tool_calls_max: executions of tools.
        tokens_max: tokens, as the provider's `usage` counts them.
        wall_time_s: from the turn's start.
        cost_max_usd: money, at `usd_per_million_tokens`.
    """

    steps_max: int | None = None
    tool_calls_max: int | None = None
    tokens_max: int | None = None
    wall_time_s: float | None = None
    cost_max_usd: Decimal | None = None
    usd_per_million_tokens: Decimal = Decimal(1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a turn ended, for a runtime whose turns end in states; others return a text or raise.

    Attributes:
        error_class, code: of the error that it ended with; None where it ended well.
        recoverable: whether the session can go on after it.
        finish_reason: why the model stopped; None where nobody noted it.
    """

    text: str = ""
    state: RunState = "completed"
    error_class: str | None = None
    code: str | None = None
    recoverable: bool = True
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The world of one life of a runtime.

    Attributes:
        session_id: which session to open.
        resume: whether it must be read from the store; otherwise it is new.
        timeout_s: deadline of each attempt at the provider, in seconds.
        mode: how a gated tool call is decided.
        allowlist: tools that mode `allowlist` approves.
        headless: there is nobody to ask.
        deadlines_s: interaction kind to a deadline other than the default, in seconds.
        state_machine: None where none is attached.
        extensions: all that are installed, in no particular order.
        fallbacks: providers to ask after the first one, in their order.
        attempts_per_provider: attempts that the chain grants the first one; None: as the runtime
            has it.
        policy: asked before each execution of a tool; None: there is none.
        policies: `llm`, `tool`, `subagent` to `fail`, `degrade` or `continue`: what is to become
            of a turn in which that fails; what is missing is the runtime's own default.
        join: how a group of subagents is joined, with `quorum`; empty: the runtime's default.
        denials_max: denials of permission in a row after which to stop; None: the default.
        workflow: what a turn consists of; None: a conversation with the model.
        archive: keeps files of each stage.
        folder: the working directory; what is written to it is there in the next life.
    """

    host: Host
    session_id: str
    resume: bool
    store: SessionStore
    tools: tuple[Tool, ...] = ()
    interactors: tuple[Interactor, ...] = ()
    extensions: tuple[Extension, ...] = ()
    state_machine: StateMachine | None = None
    mode: Literal["ask", "yolo", "allowlist"] = "ask"
    allowlist: tuple[str, ...] = ()
    headless: bool = False
    deadlines_s: dict[InteractionKind, float] = field(default_factory=dict)
    limits: Limits = Limits()
    model: str = MODEL
    base_url: str = BASE_URL
    api_key: str = field(default=API_KEY, repr=False)
    timeout_s: float = 30.0
    fallbacks: tuple[ProviderTarget, ...] = ()
    attempts_per_provider: int | None = None
    policy: Policy | None = None
    policies: Mapping[str, str] = field(default_factory=dict)
    join: str = ""
    quorum: int | None = None
    denials_max: int | None = None
    workflow: Workflow | None = None
    hooks: tuple[Hook, ...] = ()
    telemetry: TelemetrySink | None = None
    queue: Queue | None = None
    archive: Archive | None = None
    folder: Path = Path()


class Runtime(Protocol):
    """What a runtime can be asked. Only `run_turn` has to be there."""

    def start(self) -> Any:
        """Open the session, new or resumed. Asked first, once in each life.

        Raises:
            Exception: the session cannot be opened.
        """
        ...

    def run_turn(self, text: str) -> Any:
        """Let the agent answer one message of the user; return its last text, or a RunResult.

        Raises:
            Exception: the turn ended with an error, or was cancelled.
        """
        ...

    def stream_turn(self, text: str) -> Any:
        """Do what `run_turn` does, and say each piece of the answer to `host.delivered`.

        Asked where a scenario asks for a stream; without this method, `run_turn` is.
        """
        ...

    def ask(
        self,
        kind: InteractionKind,
        prompt: str,
        options: tuple[str, ...],
        deadline_s: float | None,
    ) -> InteractionAnswer | Any:
        """Ask the person on behalf of an extension, and return the answer."""
        ...

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        """Cancel what runs in a scope. It comes from elsewhere, while a turn runs; never blocks.

        Args:
            target: for `tool`, its name or the id of a tool call; None for all of that scope.
        """
        ...

    def close(self) -> Any:
        """Save the session and let everything go; asked last, unless the process is killed."""
        ...
