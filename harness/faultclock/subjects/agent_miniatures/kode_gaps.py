"""Miniatures of KODE SDK agents whose defects stood between two rules: each had once been green."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import Edited, Fields, kode
from faultclock.subjects.ports import CancelScope
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Ended, Pair, Turn
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, ErrorType, advice

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


@kode(
    "one-text-for-what-it-finds",
    "Tells the model of wrong arguments, aborts and unknown tools in the same words",
    fails="failures.told-model",
    shown_by="every-type-at-once",
)
class _OneTextForWhatItFinds(KodeAgent):
    """What a tool says is handed on, and what the runtime finds by itself has no words."""

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        own = error_type in ("validation", "aborted", "exception")
        return super().failed_content(tool, error_type, "The tool failed" if own else message)


@kode(
    "absent-is-an-exception",
    "Takes a tool that reports a missing capability for an exception",
    fails="failures.classified",
    shown_by="capability-is-absent",
)
class _AbsentIsAnException(KodeAgent):
    """A code that is not in its table is unexpected, and somebody is called at night."""

    def error_type(self, outcome: Outcome) -> ErrorType:
        return "exception" if outcome.kind == "unavailable" else super().error_type(outcome)


@kode(
    "done-without-a-reason",
    "Emits `done` without a reason after a failure",
    fails="ordering.done-has-a-reason",
    shown_by="model-500",
)
class _DoneWithoutAReason(Edited):
    """There are two reasons in its type, and a failure is neither."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        if type_ == "done" and fields["reason"] == "failed":
            del fields["reason"]
        return fields


@kode(
    "done-is-just-over",
    "Emits `done` with one reason for whatever it was",
    fails="ordering.done-says-completed",
    shown_by="good-turn-with-two-tools",
)
class _DoneIsJustOver(Edited):
    """There is a reason, as the type demands."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        return {**fields, "reason": "over"} if type_ == "done" else fields


@kode(
    "interrupted-is-done-as-completed",
    "Emits `done` as completed when the user has interrupted",
    fails="ordering.done-says-interrupted",
    shown_by="interrupted-at-the-model",
)
class _InterruptedIsDoneAsCompleted(KodeAgent):
    """The turn has one end, and all is well there."""

    def done(self, turn: Turn, end: Ended) -> None:
        super().done(turn, Ended("completed", None, ""))


@kode(
    "nobody-decided",
    "Emits permission_decided without saying who decided",
    fails="ordering.decision-has-its-decider",
    shown_by="permission-unanswered",
)
class _NobodyDecided(Edited):
    """A person's answer and a wait that was over look alike."""

    def edit(self, type_: str, fields: Fields) -> Fields | None:
        fields.pop("decidedBy", None)
        return fields


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


@kode(
    "an-interrupt-is-a-failure",
    "Ends a turn that the user interrupts as one that failed",
    fails="failures.outcome",
    shown_by="interrupted-at-the-model",
)
class _AnInterruptIsAFailure(KodeAgent):
    """The user presses Escape, and reads that something went wrong."""

    def cancelled(self, turn: Turn) -> Ended:
        end = super().cancelled(turn)
        return Ended("failed", end.pair, str(end))
