"""Miniatures of Relavium runtimes whose error events carry too little or too much."""

from __future__ import annotations

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.relavium_run import Run

__all__: list[str] = []


@relavium(
    "correlates-by-the-key",
    "Makes the correlation id of the API key",
    fails="ordering.correlation-holds-no-secret",
    shown_by="handler-throws",
)
class _CorrelatesByTheKey(RelaviumAgent):
    def new_run(self, number: int) -> Run:
        key = self.world.api_key

        class Keyed(Run):
            @property
            def correlation_id(self) -> str:
                return f"corr-{key}"

        return Keyed(self.host, f"run-{number}", 0)


@relavium(
    "shows-the-expression",
    "Tells what stands in the expression that failed",
    fails="ordering.sandbox-message-is-generic",
    shown_by="expression-names-what-is-not-there",
)
class _ShowsTheExpression(RelaviumAgent):
    def tell_user(self, error: RunError) -> None:
        said = str(error.cause.get("message") or "").replace("ReferenceError", "problem")
        self.host.show_user(f"An expression could not be evaluated: {said}")
