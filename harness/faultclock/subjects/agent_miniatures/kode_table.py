"""How a miniature of a KODE SDK agent is made: one step of the reference, or one of its events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.table import wrong_in
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import Timeline

__all__ = ["Edited", "Fields", "Muted", "kode"]

Fields = dict[str, Any]

kode = wrong_in("kode-sdk")


class Edited(KodeAgent):
    """An agent whose events pass through `edit` before they are emitted."""

    def make_timeline(self, epoch: int = 1) -> Timeline:
        """Return a timeline that edits."""
        return _EditedTimeline(self, epoch)

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        """Return what is emitted in place of an event; None for nothing."""
        return fields


class Muted(Edited):
    """An agent that does not emit the events in which one field has one value."""

    muted: tuple[str, str] = ("type", "")

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        """Leave out what is muted."""
        name, value = self.muted
        return None if fields.get(name) == value else fields


class _EditedTimeline(Timeline):
    def __init__(self, agent: Edited, epoch: int) -> None:
        super().__init__(agent.host, epoch)
        self.agent = agent

    def put(self, type_: str, fields: Mapping[str, Any]) -> None:
        edited = self.agent.edit(type_, dict(fields))
        if edited is not None:
            super().put(type_, edited)
