"""Miniatures of KODE SDK agents: what is on record of a tool call and of its error."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord

__all__: list[str] = []

# What is on record.


@kode(
    "records-failures-as-completed",
    "Keeps a ToolCallRecord without the failure",
    fails="ordering.failure-is-recorded",
    shown_by="tool-throws",
)
class _RecordsFailuresAsCompleted(KodeAgent):
    """The audit says that all went well."""

    def keep(self, record: CallRecord) -> None:
        snapshot = {**record.snapshot(), "state": "COMPLETED", "error": None}
        self.host.audit_event("ToolCallRecord", call=snapshot)
