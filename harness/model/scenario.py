"""Scenario: one situation, self-contained after loading.

Pure data. What happens in it is decided by `harness.fakes`; what it means, by `harness.oracle`.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from pydantic import Field, field_validator, model_validator

from harness.model._base import Value
from harness.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from harness.model.fault import FaultRule

__all__ = [
    "Limits",
    "ProviderScript",
    "Role",
    "Scenario",
    "Task",
    "ToolCallReply",
    "scenario_digest",
]

Role = Literal["provider_adapter"]


class ToolCallReply(Value):
    """A tool call that the provider's good answer asks for."""

    name: str
    arguments: str
    """The arguments as the JSON text that the provider sends."""


class ProviderScript(Value):
    """The fake provider: its dialect, its good answer, and what goes wrong."""

    dialect: Literal["openai-chat"] = "openai-chat"
    reply: str = "Hello from the simulated provider."
    tool_calls: tuple[ToolCallReply, ...] = ()
    """When given, the good answer asks for these tools."""
    latency: DurationNs = 10 * MILLISECOND_NS
    """One-way network delay."""
    think_time: DurationNs = 100 * MILLISECOND_NS
    """Delay between the last request byte and the first answer byte."""
    chunk_interval: DurationNs = 20 * MILLISECOND_NS
    """Delay between the data chunks of a stream."""
    faults: tuple[FaultRule, ...] = ()

    @field_validator("faults")
    @classmethod
    def _unique(cls, faults: tuple[FaultRule, ...]) -> tuple[FaultRule, ...]:
        seen: set[str] = set()
        for rule in faults:
            if rule.id in seen:
                raise ValueError(f"two faults have the id {rule.id!r}")
            seen.add(rule.id)
        return faults


class Task(Value):
    """One thing the subject is asked to do; `copies` clients do it at once."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    prompt: str = "Say hello."
    stream: bool = False
    at: DurationNs = 0
    """Virtual time of the start."""
    copies: int = Field(default=1, ge=1, le=1_000)
    timeout: DurationNs = 30 * SECOND_NS
    """The per-attempt deadline that the adapter is asked to use."""


class Limits(Value):
    """Where a run is ended by force."""

    virtual_time: DurationNs = 24 * 3_600 * SECOND_NS
    events: int = Field(default=1_000_000, ge=1)
    events_per_instant: int = Field(default=100_000, ge=1)
    wall_time: DurationNs = 30 * SECOND_NS
    """Real time after which the watchdog ends an isolated run."""


class Scenario(Value):
    """One situation: world, tasks, faults, limits, seed."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)+$")
    """`family/slug`, as the file lies below `scenarios/`."""
    title: str = Field(min_length=1)
    why: str = Field(min_length=1)
    """What a person learns when this scenario fails, and where it comes from."""
    role: Role = "provider_adapter"
    pair: str | None = None
    """Id of the scenario that plants the opposite defect."""
    origin: str | None = None
    """The public bug or document that the situation comes from."""
    provider: ProviderScript = ProviderScript()
    tasks: tuple[Task, ...] = (Task(id="ask"),)
    limits: Limits = Limits()
    seed: int = Field(default=0, ge=0, lt=2**32)
    seeds: int = Field(default=1, ge=1, le=1_000)
    """How many consecutive seeds are run; rules about distributions need several."""

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        ids = [task.id for task in self.tasks]
        if not ids:
            raise ValueError("tasks is empty: a scenario asks for at least one thing")
        if len(set(ids)) != len(ids):
            raise ValueError("two tasks have the same id")
        for rule in self.provider.faults:
            if rule.when.task is not None and rule.when.task not in ids:
                raise ValueError(f"fault {rule.id!r} names the unknown task {rule.when.task!r}")
        return self

    @property
    def family(self) -> str:
        """The first part of the id."""
        return self.id.split("/", 1)[0]


def scenario_digest(scenario: Scenario) -> str:
    """Return the SHA-256 (hex) of the scenario's canonical JSON; equal meaning, equal digest."""
    text = json.dumps(scenario.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
