"""Where a run is ended by force, and how a run ended."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from faultclock.sim.kernel.clock import SECOND_NS

EndingReason = Literal[
    "completed",
    "deadlock",
    "livelock",
    "virtual_time_limit",
    "event_limit",
    "escape",
    "raised",
    "crashed",
]


class Limits(Struct, frozen=True, kw_only=True):
    """Where a run is ended by force.

    Attributes:
        virtual_ns_max: virtual time of the last event that may happen.
        events_max: events in all. It is soft: a wait inside a coroutine counts for itself first.
        events_per_instant_max: events without the clock moving; more is a livelock.
    """

    virtual_ns_max: int = 24 * 3_600 * SECOND_NS
    events_max: int = 1_000_000
    events_per_instant_max: int = 100_000


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended.

    Attributes:
        reason: `escape` if anything was refused, even if the subject hid it and went on;
            `crashed` if the process was killed on purpose.
        detail: for a hang, what each thread and task waits for; for an escape, what and where.
        value: what the main function returned.
        error: what it raised, or what our own callback raised.
    """

    reason: EndingReason
    detail: tuple[str, ...] = ()
    value: Any = None
    error: BaseException | None = None
