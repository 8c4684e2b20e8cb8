"""StoreScript: a fake session store, what is in it before the run, and what goes wrong with it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, DurationNs
from faultclock.model.scenario.rule import EVERY, RangeField, TriggeredRule, When

StoreOperation = Literal["read", "write", "append", "read_journal", "read_slot", "write_slot"]


class Unavailable(Value):
    """Session/StoreUnavailable; nothing was written."""

    kind: Literal["unavailable"]


class Slow(Value):
    """The operation takes this long, and is good."""

    kind: Literal["slow"]
    takes: DurationNs = 30 * SECOND_NS


class TornWrite(Value):
    """Half of the bytes become durable, then Session/StoreUnavailable. A read finds the half."""

    kind: Literal["torn_write"]


class LostAck(Value):
    """The write is durable, and the store says Session/StoreUnavailable."""

    kind: Literal["lost_ack"]


class StaleRead(Value):
    """The read returns the revision before the last one."""

    kind: Literal["stale_read"]


StoreFault = Annotated[
    Unavailable | Slow | TornWrite | LostAck | StaleRead, Field(discriminator="kind")
]


class StoreTrigger(When):
    """Which operations a rule is for. Every condition that is given must hold."""

    operation: StoreOperation | None = None
    calls: RangeField = EVERY
    """1-based, over all operations of that name (of any, without one) in the run or the task."""
    task: str | None = None
    """Only operations of this task (`start` and `close` are tasks too); they are counted alone."""
    life: int | None = Field(default=None, ge=1)
    """Only in this life of the subject: 1 before the first crash or restart."""


class StoreRule(TriggeredRule):
    """One rule; the first that matches decides."""

    when: StoreTrigger = StoreTrigger.model_construct()
    then: StoreFault


class StoredSlot(Value):
    """What one owner keeps beside the manifest."""

    version: int | None = Field(ge=0)
    """None: it was stored without one."""
    data: dict[str, Any] = {}


class StoreEdit(Value):
    """What changes in the stored session from outside, between two lives of the subject."""

    before_life: int = Field(ge=1)
    set: dict[str, Any] = {}
    """Dotted path into the manifest to its new value."""
    remove: tuple[str, ...] = ()
    """Dotted paths into the manifest."""
    slots: dict[str, StoredSlot] = {}
    """Owner to the slot that replaces its own."""
    raw: str | None = None
    """The whole manifest's text, as it lies there: for one that cannot be parsed."""
    drop: bool = False
    """The session is gone altogether."""


class StoreScript(Value):
    """A fake session store."""

    id: str = "local"
    kind: Literal["memory", "files"] = "memory"
    """`files`: what is stored is text, which can be torn; `memory`: whole values."""
    latency: DurationNs = 5 * MILLISECOND_NS
    """How long a good operation takes."""
    initial: dict[str, Any] | None = None
    """The manifest before the first life; None: there is no session yet."""
    slots: dict[str, StoredSlot] = {}
    """Owner to what it stored before the first life."""
    journal: tuple[dict[str, Any], ...] = ()
    """Journal entries after the initial manifest."""
    edits: tuple[StoreEdit, ...] = ()
    rules: tuple[StoreRule, ...] = ()
