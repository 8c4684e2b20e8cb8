"""Bounds of a rule as numbers: as they are written, or looked up in an event or in the scenario."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from faultclock.model.duration import parse_duration
from faultclock.model.error_model.lookup import CountLookup, TimeLookup, is_setting
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.match import field_of

#: What lookups find: `scenario`, and `network` with its `round_trip` in nanoseconds.
Settings = Mapping[str, object]


def settings_of(scenario: Scenario) -> Settings:
    """Return what the lookups of a rule may find beside the events of a run of `scenario`."""
    provider = scenario.provider
    return {
        "scenario": scenario,
        "network": {"round_trip": 2 * (provider.latency + provider.jitter)},
    }


class Figure(Struct):
    """One bound of a rule, in nanoseconds or as a count.

    Attributes:
        written: as the rule has it; None for no bound.
        known: the figure of every event of this run; None where it differs or is not there.
        missing: why no event of this run has one; empty where some may.
    """

    written: int | TimeLookup | CountLookup | None
    known: int | None = None
    missing: str = ""
    _settings: Settings | None = None

    def begin(self, settings: Settings) -> None:
        """Look up what is the same for all events of a run."""
        written, self.missing, self._settings = self.written, "", settings
        if written is None or isinstance(written, int):
            self.known = written
        elif is_setting(written.of) and "{" not in written.of:
            self.known = self._raised(_setting(settings, written.of.split(".")))
            if self.known is None:
                self.missing = f"there is no {written.of}, and the rule has no default for it"
        else:
            self.known = None

    def at(self, event: TraceEvent) -> int | None:
        """Return the figure of `event`; None where there is none."""
        written = self.written
        if written is None or isinstance(written, int) or self.known is not None or self.missing:
            return self.known
        if not is_setting(written.of):
            return self._raised(_figure(field_of(event.payload, written.of)))
        assert self._settings is not None, "a run has begun"
        parts = []
        for part in written.of.split("."):
            value = field_of(event.payload, part[1:-1]) if part.startswith("{") else part
            parts.append(str(value))
        return self._raised(_setting(self._settings, parts))

    def _raised(self, found: int | None) -> int | None:
        written = self.written
        assert isinstance(written, TimeLookup | CountLookup), "it was looked up"
        value = written.default if found is None else found
        return None if value is None else max(0, value + written.plus)


def _setting(settings: Settings, parts: list[str]) -> int | None:
    value: object = settings
    for part in parts:
        if isinstance(value, Mapping):
            value = next((value[key] for key in value if str(key) == part), None)
        elif isinstance(value, tuple):
            value = next((item for item in value if part in _names_of(item)), None)
        else:
            # The path was followed through the types of the scenario when the rule was read.
            value = getattr(value, part, None)
    return _figure(value)


def _names_of(item: object) -> tuple[object, object]:
    return getattr(item, "id", None), getattr(item, "name", None)


def _figure(value: object) -> int | None:
    """Return the number that a value is, or the nanoseconds of a duration in words."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        return None
