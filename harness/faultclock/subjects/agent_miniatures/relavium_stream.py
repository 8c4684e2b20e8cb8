"""Miniatures of Relavium runtimes whose error events carry too little or too much."""

from __future__ import annotations

from typing import Any

from faultclock.subjects.agent_miniatures.relavium_events import adding, altered, lacking, without
from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError
from faultclock.subjects.reference_agents.relavium_run import Run

__all__: list[str] = []


@relavium(
    "fails-without-a-correlation",
    "Emits run:failed without a correlation id",
    fails="ordering.run-failed-is-whole",
    shown_by="handler-throws",
)
class _FailsWithoutACorrelation(RelaviumAgent):
    run_type = lacking("run:failed", "correlationId")


@relavium(
    "loses-partial-outputs",
    "Emits run:failed without what was done before",
    fails="ordering.run-failed-is-whole",
    shown_by="tool-fails-for-good",
)
class _LosesPartialOutputs(RelaviumAgent):
    run_type = lacking("run:failed", "partialOutputs")


@relavium(
    "fails-nodes-without-a-correlation",
    "Emits node:failed without a correlation id",
    fails="ordering.node-failed-is-whole",
    shown_by="handler-throws",
)
class _FailsNodesWithoutACorrelation(RelaviumAgent):
    run_type = lacking("node:failed", "correlationId")


@relavium(
    "has-its-own-names",
    "Emits run:error in place of the canonical events",
    fails="ordering.error-events-are-canonical",
    shown_by="handler-throws",
)
class _HasItsOwnNames(RelaviumAgent):
    run_type = altered(
        lambda _, name, fields: (
            ("run:error" if name in ("run:failed", "node:failed") else name, fields),
        )
    )


@relavium(
    "correlates-with-nothing",
    "Gives run:failed a correlation id that no record of the log has",
    fails="ordering.correlation-leads-to-the-log",
    shown_by="handler-throws",
)
class _CorrelatesWithNothing(RelaviumAgent):
    run_type = adding("run:failed", correlationId="corr-elsewhere")


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
    "shows-the-exception",
    "Puts the text of the exception into the stream (modelcontextprotocol/typescript-sdk PR#1651)",
    fails="ordering.error-events-hold-no-internals",
    shown_by="tool-fails-for-good",
    origin="modelcontextprotocol/typescript-sdk PR#1651",
)
class _ShowsTheException(RelaviumAgent):
    def shown(self, error: RunError) -> dict[str, Any]:
        return {**super().shown(error), "message": str(error.cause.get("message") or error)}


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


@relavium(
    "shows-the-arguments",
    "Tells the arguments of the tool that failed",
    fails="ordering.tool-message-is-scrubbed",
    shown_by="tool-fails-for-good",
)
class _ShowsTheArguments(RelaviumAgent):
    def shown(self, error: RunError) -> dict[str, Any]:
        arguments = '{"card": "4111 1111 1111 1111"}'
        return {**super().shown(error), "message": f"charge_card({arguments}) did not work"}


@relavium(
    "calls-everything-retryable",
    "Says of a fatal error that it is retryable",
    fails="ordering.fatal-error-says-so",
    shown_by="handler-throws",
)
class _CallsEverythingRetryable(RelaviumAgent):
    def shown(self, error: RunError) -> dict[str, Any]:
        return {**super().shown(error), "retryable": True}


@relavium(
    "names-no-field",
    "Fails a validation without the field",
    fails="ordering.validation-names-its-field",
    shown_by="output-is-not-json",
)
class _NamesNoField(RelaviumAgent):
    def shown(self, error: RunError) -> dict[str, Any]:
        fields = super().shown(error)
        fields.pop("field", None)
        return fields


@relavium(
    "counts-no-cost",
    "Emits no cost:updated",
    fails="ordering.cost-follows-each-answer",
    shown_by="healthy-run",
)
class _CountsNoCost(RelaviumAgent):
    run_type = without("cost:updated")


@relavium(
    "tells-results-alone",
    "Emits agent:tool_result without an agent:tool_call",
    fails="ordering.tool-result-has-its-call",
    shown_by="healthy-run",
)
class _TellsResultsAlone(RelaviumAgent):
    run_type = without("agent:tool_call")
