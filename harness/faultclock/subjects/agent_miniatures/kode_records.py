"""Miniatures of KODE SDK agents: what is on record of a tool call and of its error."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Next, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, ErrorType

__all__: list[str] = []

# What is on record.


class _OtherRecord(KodeAgent):
    """Puts an error on record with another context."""

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        context = {"target": record.id, "tool": record.name, "message": message}
        self.host.audit(
            error_class="tool", code=error_type, context={**context, **self.more(error_type)}
        )

    def more(self, error_type: ErrorType) -> dict[str, Any]:
        return {}


@kode(
    "validation-without-a-flag",
    "Records a validation error without its flag",
    fails="ordering.validation-is-flagged",
    shown_by="wrong-type-of-argument",
)
class _ValidationWithoutAFlag(_OtherRecord):
    """Which layer caught it, nobody can tell."""

    def more(self, error_type: ErrorType) -> dict[str, Any]:
        return {"_thrownError": True} if error_type == "runtime" else {}


@kode(
    "thrown-without-a-flag",
    "Records a runtime error without its flag",
    fails="ordering.thrown-is-flagged",
    shown_by="tool-throws",
)
class _ThrownWithoutAFlag(_OtherRecord):
    """Which layer caught it, nobody can tell."""

    def more(self, error_type: ErrorType) -> dict[str, Any]:
        return {"_validationError": True} if error_type == "validation" else {}


@kode(
    "everything-was-thrown",
    "Records an expected failure as thrown",
    fails="ordering.logical-is-not-flagged",
    shown_by="command-failed",
)
class _EverythingWasThrown(_OtherRecord):
    """The wrapper throws what the tool returned, and catches it."""

    def more(self, error_type: ErrorType) -> dict[str, Any]:
        return {"_validationError" if error_type == "validation" else "_thrownError": True}


@kode(
    "no-record-of-calls",
    "Keeps no ToolCallRecord",
    fails="ordering.call-is-recorded",
    shown_by="good-turn-with-two-tools",
)
class _NoRecordOfCalls(KodeAgent):
    """What was done in the user's name can be read nowhere."""

    def keep(self, record: CallRecord) -> None:
        pass


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


@kode(
    "everything-is-runtime",
    "Takes what a tool reports for a runtime error",
    fails="failures.classified",
    shown_by="busy-and-forbidden",
)
class _EverythingIsRuntime(KodeAgent):
    """The five types are one."""

    def error_type(self, outcome: Outcome) -> ErrorType:
        return "runtime" if outcome.kind == "failed" else super().error_type(outcome)


@kode(
    "records-without-a-code",
    "Records an error without its type",
    fails="audience.audit",
    shown_by="tool-throws",
)
class _RecordsWithoutACode(KodeAgent):
    """It is on record that something was wrong."""

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        self.host.audit(error_class="tool", code=None, context={"target": record.id})


@kode(
    "silent-about-refusals",
    "Audits nothing that fails before it is executed",
    fails="failures.classified",
    shown_by="unknown-tool",
)
class _SilentAboutRefusals(KodeAgent):
    """An attack with made-up tools leaves no trace."""

    refusing = False

    def call_refused(self, turn: Turn, call: Call, outcome: Outcome, step: Next) -> None:
        self.refusing = True
        super().call_refused(turn, call, outcome, step)
        self.refusing = False

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        if not self.refusing:
            super().audit_error(record, error_type, message)
