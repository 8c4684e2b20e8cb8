"""Miniatures of KODE SDK agents whose defects stood between two rules: each had once been green."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.subjects.agent_miniatures.kode_table import Edited, Fields, kode
from harness.subjects.ports import CancelScope
from harness.subjects.reference_agents.calls import Call, Outcome
from harness.subjects.reference_agents.core import Pair
from harness.subjects.reference_agents.kode import KodeAgent
from harness.subjects.reference_agents.kode_events import CallRecord, ErrorType, advice

__all__: list[str] = []


@kode(
    "recommends-by-the-name-alone",
    "Recommends the same for whatever happens to one tool",
    fails="failures.told-model",
    shown_by="same-tool-fails-otherwise",
)
class _RecommendsByTheNameAlone(KodeAgent):
    """A table of hints with one row for each tool."""

    def recommendations(self, error_type: ErrorType, tool: str) -> list[str]:
        return advice("logical", tool, ())


@kode(
    "throws-without-words",
    "Tells the model that a tool has thrown, and not what",
    fails="failures.told-model",
    shown_by="tool-throws",
)
class _ThrowsWithoutWords(KodeAgent):
    """Something went wrong, and here is what you could do."""

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        said = "The tool failed" if error_type == "runtime" else message
        return super().failed_content(tool, error_type, said)


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
    "says-nothing-in-tool-error",
    "Emits tool:error with an empty message",
    fails="ordering.tool-error-says-why",
    shown_by="tool-throws",
)
class _SaysNothingInToolError(Edited):
    """The field is there, as the type demands."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {**fields, "error": ""} if type_ == "tool:error" else fields


@kode(
    "no-abort-of-one-tool",
    "Ignores that the user aborts a tool",
    fails="ordering.abort-stops-the-tool",
    shown_by="user-aborts-one-tool",
)
class _NoAbortOfOneTool(KodeAgent):
    """There is a button, and it does nothing."""

    def cancel(self, scope: CancelScope, target: str | None) -> None:
        if scope != "tool":
            super().cancel(scope, target)


@kode(
    "every-flag-at-once",
    "Records a thrown error with the flag of the schema check as well",
    fails="ordering.one-flag-for-each-layer",
    shown_by="tool-throws",
)
class _EveryFlagAtOnce(KodeAgent):
    """Which layer caught it, the flags were to say."""

    def put_on_record(
        self, pair: Pair | None, context: Mapping[str, Any], attempt: int | None = None
    ) -> None:
        flags = {"_validationError": True, "_thrownError": True} if "tool" in context else {}
        super().put_on_record(pair, {**context, **flags}, attempt)


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
