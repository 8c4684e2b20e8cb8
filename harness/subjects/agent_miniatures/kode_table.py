"""How a miniature of a KODE SDK agent is made: one step of the reference, or one of its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from harness.subjects.agent_miniatures.table import wrong
from harness.subjects.reference_agents.kode import KodeAgent
from harness.subjects.reference_agents.kode_events import Timeline

__all__ = ["Edited", "Fields", "kode"]

Fields = dict[str, Any]
_AgentT = TypeVar("_AgentT", bound=type[Any])


def kode(
    name: str, title: str, *, fails: str, shown_by: str, origin: str | None = None
) -> Callable[[_AgentT], _AgentT]:
    """Register the decorated agent as `mini-kode-sdk-NAME`, shown by a scenario of the family."""
    return wrong(
        name,
        title,
        fails=fails,
        model="kode-sdk",
        shown_by=f"kode-sdk/{shown_by}",
        origin=origin,
    )


class Edited(KodeAgent):
    """An agent whose events pass through `edit` before they are emitted."""

    def make_timeline(self, epoch: int = 1) -> Timeline:
        """Return a timeline that edits."""
        return _EditedTimeline(self, epoch)

    def edit(self, type_: str, fields: Fields) -> Fields | None:  # noqa: ARG002
        """Return what is emitted in place of an event; None for nothing."""
        return fields


class _EditedTimeline(Timeline):
    def __init__(self, agent: Edited, epoch: int) -> None:
        super().__init__(agent.host, epoch)
        self.agent = agent

    def put(self, type_: str, fields: Mapping[str, Any]) -> None:
        edited = self.agent.edit(type_, dict(fields))
        if edited is not None:
            super().put(type_, edited)
