"""Miniatures of Relavium runtimes that tell the log or the person something wrong, or too much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node, Surroundings
from faultclock.subjects.reference_agents.core import Ended, FailedAttempt, Next, Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []


class _Log:
    """A host whose log goes through `change` first."""

    def __init__(self, host: Any, change: Any) -> None:
        self._host = host
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def audit(self, **record: Any) -> None:
        changed = self._change(record)
        if changed is not None:
            self._host.audit(**changed)


class _Logging(RelaviumAgent):
    """Its records go through `record`."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.host = _Log(surroundings.host, self.record)

    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return record

    def lacking(self, record: dict[str, Any], *lost: str) -> dict[str, Any]:
        context: Mapping[str, Any] = record["context"]
        left = {name: value for name, value in context.items() if name not in lost}
        return {**record, "context": left}


# The log.


@relavium(
    "logs-bare-errors",
    "Logs errors without class and code",
    fails="audience.audit",
    shown_by="handler-throws",
)
class _LogsBareErrors(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return {**record, "error_class": None, "code": None}


@relavium(
    "logs-no-run",
    "Logs errors without the id of their run",
    fails="ordering.error-names-its-run",
    shown_by="handler-throws",
)
class _LogsNoRun(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return self.lacking(record, "runId")


@relavium(
    "logs-no-provider",
    "Logs failed attempts without the provider",
    fails="ordering.error-names-its-provider",
    shown_by="limited-then-next-provider",
)
class _LogsNoProvider(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return self.lacking(record, "providerId")


@relavium(
    "logs-no-usage",
    "Logs failed attempts without what they used",
    fails="ordering.failed-attempt-has-its-usage",
    shown_by="limited-then-next-provider",
)
class _LogsNoUsage(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return self.lacking(record, "usage")


@relavium(
    "logs-no-cause",
    "Raises a vaguer error anew, without its cause",
    fails="ordering.wrapped-error-keeps-its-cause",
    shown_by="wrong-key",
)
class _LogsNoCause(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return self.lacking(record, "cause")


@relavium(
    "logs-no-detail",
    "Logs an internal error without its cause",
    fails="ordering.internal-error-is-logged-whole",
    shown_by="handler-throws",
)
class _LogsNoDetail(_LogsNoCause):
    pass


@relavium(
    "logs-at-the-end",
    "Logs failed attempts when the answer is there",
    fails="ordering.failed-attempt-is-recorded-first",
    shown_by="retried-at-its-entry",
)
class _LogsAtTheEnd(_Logging):
    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(surroundings)
        self.late: list[dict[str, Any]] = []

    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        if record["error_class"] == "llm":
            self.late.append(record)
            return None
        return record

    async def turn_over(self, turn: Turn, end: Ended) -> None:
        for record in self.late:
            self.world.host.audit(**record)
        await super().turn_over(turn, end)


@relavium(
    "catches-and-forgets",
    "Has an empty catch around a failed tool",
    fails="failures.classified",
    shown_by="tool-fails-within-its-budget",
)
class _CatchesAndForgets(_Logging):
    def record(self, record: dict[str, Any]) -> dict[str, Any] | None:
        return None if record["code"] == "tool_failed" else record


# The person.


@relavium(
    "tells-twice",
    "Tells the person of one failure in two layers",
    fails="ordering.user-is-told-once",
    shown_by="tool-fails-for-good",
)
class _TellsTwice(RelaviumAgent):
    def node_failed(self, node: Node, error: RunError, nodes: tuple[Node, ...]) -> None:
        super().node_failed(node, error, nodes)
        self.tell_user(error)


@relavium(
    "shows-the-payload",
    "Shows the person the provider's own words",
    fails="ordering.user-sees-no-payload",
    shown_by="wrong-key",
)
class _ShowsThePayload(RelaviumAgent):
    payload = ""

    def attempt_failed(self, turn: Turn, attempt: FailedAttempt, step: Next) -> None:
        super().attempt_failed(turn, attempt, step)
        self.payload = f'{{"error": {{"type": "{attempt.error.seen.provider_type}"}}}}'

    def tell_user(self, error: RunError) -> None:
        self.host.show_user(f"Check the key in Settings: {self.payload}")


@relavium(
    "shows-the-key",
    "Shows the person an exception with a key in it (BerriAI/litellm#15799)",
    fails="audience.user",
    shown_by="handler-throws",
    origin="BerriAI/litellm#15799",
)
class _ShowsTheKey(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        self.host.show_user(f"It failed: {error.cause.get('message') or error}")


@relavium(
    "names-no-next-step",
    "Does not say what a person can do about a refused key",
    fails="failures.told-user",
    shown_by="wrong-key",
)
class _NamesNoNextStep(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        self.host.show_user("It did not work.")
