"""What else surrounds a runtime and may fail: hooks, a telemetry sink, a queue."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faultclock.model._base import Value
from faultclock.model.duration import MILLISECOND_NS, DurationNs
from faultclock.model.scenario.rule import EVERY, CountedRule, RangeField

HookSlot = Literal["pre_tool", "post_tool", "pre_model", "post_model"]


class ServiceRule(CountedRule):
    """Which uses of a service fail, and how; the first rule that matches decides."""

    uses: RangeField = EVERY
    """1-based, over all uses in the run: `2`, `1-3`, `3+` or `every`."""
    then: Literal["raises", "hangs"] = "raises"
    message: str = "connection refused by redis://user:pw@10.0.0.7:6379"
    """Text of what it raises, with an internal that must not get out."""


class HookScript(Value):
    """A fake hook that the runtime calls in one of its slots."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    slot: HookSlot
    takes: DurationNs = 0
    rules: tuple[ServiceRule, ...] = ()


class TelemetryScript(Value):
    """A fake sink that spans and metrics are exported to."""

    takes: DurationNs = MILLISECOND_NS
    rules: tuple[ServiceRule, ...] = ()


class QueueScript(Value):
    """A fake queue that the runtime pushes its result to at the end of each turn."""

    takes: DurationNs = MILLISECOND_NS
    rules: tuple[ServiceRule, ...] = ()
