"""Task: what a subject is asked for, and Limits: where a run of it is ended."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from faultclock.model._base import SparseValue, Value
from faultclock.model.duration import SECOND_NS, DurationNs
from faultclock.model.scenario.interaction_script import InteractionKind


class Question(Value):
    """What a runtime has to ask the person."""

    kind: InteractionKind
    prompt: str = "What now?"
    options: tuple[str, ...] = ()
    """For Select."""
    deadline: DurationNs | None = None
    """None: the runtime's default for the kind. A device code always has its own."""


class Task(SparseValue):
    """One thing the subject is asked to do; `copies` clients do it at once."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"after", "do", "waits", "question", "arguments", "key"}
    )

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    prompt: str = "Say hello."
    stream: bool = False
    at: DurationNs = 0
    """Virtual time of the start."""
    after: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]*$")
    """A provider adapter's: id of an earlier task. This one begins when all calls of that one have
    ended, and not before `at`."""
    copies: int = Field(default=1, ge=1, le=1_000)
    timeout: DurationNs = 30 * SECOND_NS
    """The per-attempt deadline that the adapter is asked to use."""
    do: str = "call"
    """What is asked for. A provider adapter: `call`. A runtime: `turn` (also written `call`),
    `ask` (a question to the person), `close`, `restart` (a fresh process that resumes). A tool:
    `call`. A session store and an extension: the name of the operation."""
    waits: bool = True
    """A runtime's task begins when the one before it has ended, and not before `at`; False: at
    `at`, also while others run."""
    question: Question | None = None
    """With `do: ask`."""
    arguments: dict[str, Any] = {}
    """What a tool, a store or an extension is called with."""
    key: str | None = Field(default=None, pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")
    """A provider adapter's: name of the API key that its clients show; None: the one that all
    others show. Equal names are the same key."""


class Limits(Value):
    """Where a run is ended by force."""

    virtual_time: DurationNs = 24 * 3_600 * SECOND_NS
    events: int = Field(default=1_000_000, ge=1)
    events_per_instant: int = Field(default=100_000, ge=1)
    wall_time: DurationNs = 30 * SECOND_NS
    """Real time after which the watchdog ends an isolated run."""
