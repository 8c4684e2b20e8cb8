"""Miniatures of KODE SDK agents: what user and model are told of an error."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord

__all__: list[str] = []

# Who is told what.


@kode(
    "hides-it-from-the-user",
    "Tells the user nothing of a tool error",
    fails="failures.told-user",
    shown_by="tool-throws",
)
class _HidesItFromTheUser(KodeAgent):
    """The user waits for something that has failed long ago."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        host, self.host = self.host, _Mute(self.host)
        super().fail(record, call, outcome)
        self.host = host


class _Mute:
    """A host without a screen."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def show_user(self, message: str) -> None:
        """Show nothing."""


@kode(
    "tells-the-model-a-secret",
    "Tells the model the text of an exception as it is",
    fails="audience.model",
    shown_by="secret-in-an-exception",
    origin="modelcontextprotocol/typescript-sdk#1651",
)
class _TellsTheModelASecret(KodeAgent):
    """modelcontextprotocol/typescript-sdk#1651: hosts and keys go out with the next request."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        super().fail(record, call, outcome)
        record.content = {**(record.content or {}), "error": outcome.message}
        self.host.tell_model(record.content)
