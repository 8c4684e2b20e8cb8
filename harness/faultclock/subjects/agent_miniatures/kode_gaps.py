"""Miniatures of KODE SDK agents whose defects stood between two rules: each had once been green."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.kode_table import Edited, Fields, kode
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, ErrorType

__all__: list[str] = []


@kode(
    "shows-keys-in-an-event",
    "Emits tool:error with the text of the exception as it is",
    fails="audience.user",
    shown_by="secret-in-an-exception",
)
class _ShowsKeysInAnEvent(Edited):
    """What is shown is clean, and what the screen is drawn from is not."""

    raw = ""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        self.raw = outcome.message
        super().fail(record, call, outcome)

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {**fields, "error": self.raw} if type_ == "tool:error" else fields


@kode(
    "records-every-type",
    "Records each error once with every type that there is",
    fails="failures.classified",
    shown_by="tool-throws",
)
class _RecordsEveryType(KodeAgent):
    """One of them will be the right one."""

    def audit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        types: tuple[ErrorType, ...] = ("runtime", "logical", "aborted", "exception")
        for type_ in types:
            super().audit_error(record, type_, message)


@kode(
    "remembers-a-permission",
    "Takes one permission for every later call of the tool",
    fails="ordering.user-decides",
    shown_by="same-tool-in-two-answers",
)
class _RemembersAPermission(KodeAgent):
    """Whoever has once allowed a write has allowed them all."""

    allowed: frozenset[str] = frozenset()

    async def refusal(self, call: Call) -> Outcome | None:
        if call.name in self.allowed:
            return None
        found = await super().refusal(call)
        if found is None:
            self.allowed |= {call.name}
        return found
