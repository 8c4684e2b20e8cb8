"""Miniatures of KODE SDK agents: the events of an error, and their shape."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import Edited, Fields, Muted, kode
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, ErrorType

__all__: list[str] = []

# Is it emitted at all?


class _SilentAbout(KodeAgent):
    """Emits nothing of errors of one type."""

    type_: ErrorType = "aborted"

    def emit_error(self, record: CallRecord, error_type: ErrorType, message: str) -> None:
        if error_type != self.type_:
            super().emit_error(record, error_type, message)


@kode(
    "silent-about-aborts",
    "Emits no tool:error for a tool that was stopped",
    fails="ordering.failed-execution-is-told",
    shown_by="every-type-at-once",
)
class _SilentAboutAborts(_SilentAbout):
    """The user sees a tool that just ends."""

    type_ = "aborted"


@kode(
    "silent-about-validation",
    "Emits no tool:error for arguments that do not fit",
    fails="ordering.each-error-is-told",
    shown_by="wrong-type-of-argument",
)
class _SilentAboutValidation(_SilentAbout):
    """The path of the schema check has no events."""

    type_ = "validation"


@kode(
    "silent-about-unknown-tools",
    "Ends a call of an unknown tool as FAILED without an error",
    fails="ordering.failed-call-had-an-error",
    shown_by="unknown-tool",
)
class _SilentAboutUnknownTools(_SilentAbout):
    """FAILED, and nobody says why."""

    type_ = "exception"


@kode(
    "not-monitored",
    "Emits tool:error and not the monitor's error",
    fails="ordering.tool-error-is-monitored",
    shown_by="tool-throws",
)
class _NotMonitored(Muted):
    """The user knows, and operators do not."""

    muted = ("phase", "tool")


# The shape of the two events.


class _OtherFields(Edited):
    """Gives one field of one event another value, or changes it as `change` says."""

    of = ""
    other: tuple[str, Any] = ("", None)

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return self.change(fields) if type_ == self.of else fields

    def change(self, fields: Fields) -> Fields:
        name, value = self.other
        return {**fields, name: value}


@kode(
    "error-on-the-control-channel",
    "Emits tool:error on another channel",
    fails="ordering.tool-error-channel",
    shown_by="tool-throws",
)
class _ErrorOnTheControlChannel(_OtherFields):
    """Who listens to progress hears nothing."""

    of = "tool:error"
    other = ("channel", "control")


@kode(
    "error-of-another-type",
    "Emits tool:error with another type",
    fails="ordering.tool-error-type",
    shown_by="tool-throws",
)
class _ErrorOfAnotherType(_OtherFields):
    """Who reads the stream looks at the type."""

    of = "tool:error"
    other = ("type", "tool_error")


@kode(
    "error-without-a-name",
    "Emits tool:error without the name of the tool",
    fails="ordering.tool-error-shape",
    shown_by="tool-throws",
)
class _ErrorWithoutAName(_OtherFields):
    """Something failed."""

    of = "tool:error"

    def change(self, fields: Fields) -> Fields:
        return {**fields, "call": {**fields["call"], "name": None}}


@kode(
    "error-without-a-message",
    "Emits tool:error without a message",
    fails="ordering.tool-error-says-why",
    shown_by="tool-throws",
)
class _ErrorWithoutAMessage(_OtherFields):
    """The notification is empty."""

    of = "tool:error"
    other = ("error", None)


@kode(
    "error-of-a-call-that-runs",
    "Shows the call in tool:error as if it still ran",
    fails="ordering.tool-error-is-failed",
    shown_by="tool-throws",
)
class _ErrorOfACallThatRuns(_OtherFields):
    """The application offers a retry for FAILED alone."""

    of = "tool:error"

    def change(self, fields: Fields) -> Fields:
        return {**fields, "call": {**fields["call"], "state": "EXECUTING"}}


@kode(
    "error-of-nobody",
    "Monitors a tool error without the call that it is of",
    fails="ordering.error-names-its-call",
    shown_by="tool-throws",
)
class _ErrorOfNobody(_OtherFields):
    """Of ten calls at once, one has failed."""

    of = "error"

    def change(self, fields: Fields) -> Fields:
        detail = {name: item for name, item in fields["detail"].items() if name != "callId"}
        return {**fields, "detail": detail}


@kode(
    "monitors-on-progress",
    "Emits the monitor's error on another channel",
    fails="ordering.monitor-error-channel",
    shown_by="tool-throws",
)
class _MonitorsOnProgress(_OtherFields):
    """The user reads what is for operators."""

    of = "error"
    other = ("channel", "progress")


@kode(
    "monitors-as-fatal",
    "Emits the monitor's error with a severity of its own",
    fails="ordering.monitor-error-severity",
    shown_by="tool-throws",
)
class _MonitorsAsFatal(_OtherFields):
    """No alert is made for a word that nobody knows."""

    of = "error"
    other = ("severity", "fatal")


@kode(
    "monitors-without-a-message",
    "Emits the monitor's error without a message",
    fails="ordering.monitor-error-message",
    shown_by="tool-throws",
)
class _MonitorsWithoutAMessage(_OtherFields):
    """There is a line in the log, and nothing in it."""

    of = "error"
    other = ("message", None)


@kode(
    "monitors-hooks-as-hooks",
    "Emits the monitor's error with a phase of its own",
    fails="ordering.monitor-error-phase",
    shown_by="hook-fails-pre-tool",
)
class _MonitorsHooksAsHooks(_OtherFields):
    """Filters by phase pass it over."""

    of = "error"

    def change(self, fields: Fields) -> Fields:
        return {**fields, "phase": "hook"} if fields["phase"] == "system" else fields


@kode(
    "monitors-without-a-type",
    "Emits the monitor's error without the error type",
    fails="ordering.monitor-error-detail",
    shown_by="tool-throws",
)
class _MonitorsWithoutAType(_OtherFields):
    """Statistics count it as unknown."""

    of = "error"

    def change(self, fields: Fields) -> Fields:
        return {**fields, "detail": {**fields["detail"], "errorType": None}}


class _Mistyped(_OtherFields):
    """Monitors one type as another."""

    of = "error"
    wrong: ErrorType = "runtime"
    instead: ErrorType = "runtime"

    def change(self, fields: Fields) -> Fields:
        detail = fields["detail"]
        if detail.get("errorType") != self.wrong:
            return fields
        return {**fields, "detail": {**detail, "errorType": self.instead}}


@kode(
    "monitors-validation-as-aborted",
    "Monitors a validation error as aborted",
    fails="ordering.validation-is-monitored",
    shown_by="wrong-type-of-argument",
)
class _MonitorsValidationAsAborted(_Mistyped):
    """Nobody checks the schema of the tool."""

    wrong, instead = "validation", "aborted"


@kode(
    "monitors-runtime-as-exception",
    "Monitors a runtime error as an exception",
    fails="ordering.runtime-is-monitored",
    shown_by="tool-throws",
)
class _MonitorsRuntimeAsException(_Mistyped):
    """Each file that is not there is an alarm."""

    wrong, instead = "runtime", "exception"


@kode(
    "monitors-logical-as-runtime",
    "Monitors a logical error as a runtime error",
    fails="ordering.logical-is-monitored",
    shown_by="command-failed",
)
class _MonitorsLogicalAsRuntime(_Mistyped):
    """What a tool says of the world is counted as a fault of the tool."""

    wrong, instead = "logical", "runtime"


@kode(
    "monitors-aborted-as-validation",
    "Monitors an abort as a validation error",
    fails="ordering.aborted-is-monitored",
    shown_by="tool-times-out",
)
class _MonitorsAbortedAsValidation(_Mistyped):
    """Time is up, and somebody looks at the arguments."""

    wrong, instead = "aborted", "validation"


@kode(
    "monitors-exception-as-logical",
    "Monitors an exception as a logical error",
    fails="ordering.exception-is-monitored",
    shown_by="unknown-tool",
)
class _MonitorsExceptionAsLogical(_Mistyped):
    """What nobody expects looks like what everybody does."""

    wrong, instead = "exception", "logical"


class _Flagged(_OtherFields):
    """Monitors the other flag for some types."""

    of = "error"
    types: tuple[str, ...] = ()

    def change(self, fields: Fields) -> Fields:
        detail = fields["detail"]
        if detail.get("errorType") not in self.types:
            return fields
        return {**fields, "detail": {**detail, "retryable": not detail["retryable"]}}


@kode(
    "monitors-validation-as-retryable",
    "Monitors a validation error as retryable",
    fails="ordering.not-retryable-is-monitored",
    shown_by="wrong-type-of-argument",
)
class _MonitorsValidationAsRetryable(_Flagged):
    """An application that retries by the flag sends the same again."""

    types = ("validation",)


@kode(
    "monitors-runtime-as-final",
    "Monitors a runtime error as not retryable",
    fails="ordering.retryable-is-monitored",
    shown_by="tool-throws",
)
class _MonitorsRuntimeAsFinal(_Flagged):
    """An application that retries by the flag gives up."""

    types = ("runtime",)


@kode(
    "alarms-for-everything",
    "Monitors an expected failure as an error",
    fails="ordering.expected-is-a-warning",
    shown_by="command-failed",
)
class _AlarmsForEverything(KodeAgent):
    """Whoever is called at night for a failed test does not come the next time."""

    def severity(self, error_type: ErrorType) -> Any:
        return "error"


@kode(
    "alarms-for-nothing",
    "Monitors an exception as a warning",
    fails="ordering.unexpected-is-an-error",
    shown_by="unknown-tool",
)
class _AlarmsForNothing(KodeAgent):
    """Nobody is called at all."""

    def severity(self, error_type: ErrorType) -> Any:
        return "warn"
