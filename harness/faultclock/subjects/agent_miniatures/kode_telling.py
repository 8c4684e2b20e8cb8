"""Miniatures of KODE SDK agents: what user and model are told of an error."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.kode_table import kode
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.kode import KodeAgent
from faultclock.subjects.reference_agents.kode_events import CallRecord, ErrorType

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


@kode(
    "shows-the-user-a-key",
    "Shows the user the text of an exception as it is",
    fails="audience.user",
    shown_by="key-in-a-url",
    origin="BerriAI/litellm#15799",
)
class _ShowsTheUserAKey(KodeAgent):
    """BerriAI/litellm#15799: the key in the address is in the text of the exception."""

    def fail(self, record: CallRecord, call: Call, outcome: Outcome) -> None:
        super().fail(record, call, outcome)
        self.host.show_user(outcome.message)


class _TellsLess(KodeAgent):
    """Leaves something out of what the model is told."""

    def failed_content(self, tool: str, error_type: ErrorType, message: str) -> dict[str, Any]:
        return self.less(super().failed_content(tool, error_type, message))

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        return content


@kode(
    "says-that-it-failed",
    "Tells the model that something failed, and not what",
    fails="failures.told-model",
    shown_by="generic-message",
    origin="vaadin/flow-components#9957",
)
class _SaysThatItFailed(_TellsLess):
    """vaadin/flow-components#9957: the model sends the same call dozens of times."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "error": "the tool call failed"}


@kode(
    "no-recommendations",
    "Tells the model nothing that it could do",
    fails="failures.told-model",
    shown_by="file-not-found",
)
class _NoRecommendations(_TellsLess):
    """Visible, and not actionable."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "recommendations": []}


@kode(
    "recommendations-alone",
    "Tells the model of wrong arguments without type and flag",
    fails="failures.told-model",
    shown_by="invalid-arguments-corrected",
)
class _RecommendationsAlone(_TellsLess):
    """The schema check of the agent has a shape of its own."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        if content["errorType"] != "validation":
            return content
        return {name: content[name] for name in ("ok", "error", "recommendations")}


@kode(
    "recommends-to-send-it-again",
    "Tells the model that an abort can be retried",
    fails="failures.told-model",
    shown_by="acts-then-hangs",
    origin="ComposioHQ/composio#3654",
)
class _RecommendsToSendItAgain(_TellsLess):
    """ComposioHQ/composio#3654: a timeout after the act, and the hint to run it again."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        if content["errorType"] != "aborted":
            return content
        return {**content, "retryable": True, "recommendations": ["Run the tool again"]}


@kode(
    "says-ok",
    "Tells the model of a failure as if it were a result",
    fails="failures.told-model",
    shown_by="tool-throws",
)
class _SaysOk(_TellsLess):
    """The text of the error is taken for what the tool returned."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "ok": True}


@kode(
    "recommends-the-same-always",
    "Recommends the same whatever has failed",
    fails="failures.told-model",
    shown_by="busy-and-forbidden",
)
class _RecommendsTheSameAlways(_TellsLess):
    """It is a list, and it is there."""

    def less(self, content: dict[str, Any]) -> dict[str, Any]:
        return {**content, "recommendations": ["Please try again later"]}
