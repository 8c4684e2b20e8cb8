"""When something happens to a run as a whole: at a virtual time, or on an event of its trace."""

from __future__ import annotations

from pydantic import Field, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import DurationNs


class EventTrigger(Value):
    """The nth event of a kind, or the event with a number."""

    kind: str | None = None
    """Canonical kind, such as `interaction.shown`."""
    where: dict[str, str | int | bool] = {}
    """Payload field (dotted where it is nested) to the value it must have."""
    nth: int = Field(default=1, ge=1)
    """1-based, of the events that match."""
    seq: int | None = Field(default=None, ge=1)
    """The 1-based number of the event in the trace; a sweep over all events uses it."""

    @model_validator(mode="after")
    def _one_way(self) -> EventTrigger:
        if (self.kind is None) == (self.seq is None):
            raise ValueError("give exactly one of kind and seq")
        if self.seq is not None and (self.where or self.nth != 1):
            raise ValueError("seq names one event: where and nth say nothing more")
        return self


class Moment(Value):
    """A moment of a run: give exactly one of `at` and `on`."""

    at: DurationNs | None = None
    """Virtual time from the start of the run."""
    on: EventTrigger | None = None
    """Right after this event was recorded, before anything else happens."""
    delay: DurationNs = 0
    """How much later than the event; only with `on`."""

    @model_validator(mode="after")
    def _one_moment(self) -> Moment:
        if (self.at is None) == (self.on is None):
            raise ValueError("give exactly one of at and on")
        if self.at is not None and self.delay:
            raise ValueError("delay goes with on; write the later time in at")
        return self
