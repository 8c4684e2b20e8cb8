"""Traces of tools and extensions made by hand, on top of the builder for provider adapters."""

from __future__ import annotations

from typing import Any, Literal

from faultclock.model.duration import parse_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.check import Check, Outcome
from faultclock.oracle.checks.rules import ordering
from faultclock.oracle.facts.history import History
from tests.oracle.trace_builder import TraceBuilder

RETRY = {
    "attempts_max": 3,
    "backoff": "exponential",
    "base_ns": parse_duration("1s"),
    "factor": 2,
    "cap_ns": None,
    "jitter_percent": 20,
    "retryable": ["ExecutionTimeout", "ResourceBusy"],
}


def outcome(model: ErrorModel, checks: tuple[Check, ...], id_: str, trace: Trace) -> Outcome:
    """Return what one check makes of a trace, its rules included."""
    (check,) = (check for check in ordering.checks(model, checks) if check.id == id_)
    return check.outcome(History(trace), model)


def _as_role(builder: TraceBuilder, role: Literal["tool", "extension"]) -> None:
    header = builder.header
    scenario = scenario_of({**header.scenario.model_dump(mode="json"), "role": role})
    subject = header.subject.model_copy(update={"role": role})
    builder.header = header.model_copy(update={"scenario": scenario, "subject": subject})


class ToolTrace(TraceBuilder):
    """One call of a tool."""

    def __init__(self, *, retry: dict[str, Any] | None = RETRY, timeout: str = "30s") -> None:
        super().__init__()
        _as_role(self, "tool")
        self.timeout_ns = parse_duration(timeout)
        contract = {"name": "t", "retry": retry, "timeout_ns": self.timeout_ns}
        self.event("harness", "contract.declared", call=None, contract=contract)

    def begin(self, *, misfit: str | None = None) -> ToolTrace:
        """Begin the call."""
        self.event(
            "harness",
            "call.started",
            call="ask/1",
            task="ask",
            copy=1,
            stream=False,
            prompt="",
            do="call",
            life=1,
            arguments={},
            input_problem=misfit,
            timeout_ns=self.timeout_ns,
        )
        return self

    def item(self, target: str, status: int = 200, retry_after: str | None = None) -> ToolTrace:
        """One attempt at one thing that the service is asked."""
        connection = self.connect()
        exchange = self.ask(connection)
        self.events[-1].payload.update(  # type: ignore[attr-defined]
            method="GET", target=target, body_sha256="none"
        )
        headers = {} if retry_after is None else {"retry-after": retry_after}
        self.answer(connection, exchange, status=status, headers=headers)
        self.end_exchange(connection, exchange, "complete")
        self.deliver(connection)
        self.close(connection)
        return self

    def replies(
        self,
        pair: str | None = None,
        *,
        errors: tuple[tuple[str | None, str], ...] = (),
        message: str = "",
        **facts: Any,
    ) -> Trace:
        """End the call: with a value, or with `Class/Code`; `errors` are pairs of item and pair."""
        class_name, _, code = (pair or "").partition("/")
        listed = [
            {"item": item, "class": own.split("/")[0], "code": own.split("/")[-1], "message": ""}
            for item, own in errors
        ]
        said = {
            "ok": pair is None,
            "partial": bool(listed),
            "class": class_name or None,
            "code": code or None,
            "message": message,
            "errors": listed,
            "output_problem": None,
            "untyped": None,
        }
        self.event("tool", "tool.replied", call="ask/1", **{**said, **facts})
        self.returns(None)
        return self.build()


class ExtensionTrace(TraceBuilder):
    """A walk through phases."""

    def __init__(self, capabilities: tuple[str, ...] = ()) -> None:
        super().__init__()
        _as_role(self, "extension")
        contract = {"capabilities": list(capabilities)}
        self.event("harness", "contract.declared", call=None, contract=contract)

    def phase(
        self, do: str, pair: str | None = "ok", *, config: str | None = None, act: bool = False
    ) -> ExtensionTrace:
        """One phase: `ok`, `Class/Code` for a typed error, None for an untyped one."""
        count = sum(e.kind == "call.started" and e.payload["do"] == do for e in self.events)
        call = f"{do}-{count + 1}/1"
        self.event(
            "harness",
            "call.started",
            call=call,
            task=call.split("/")[0],
            copy=1,
            stream=False,
            prompt="",
            do=do,
            life=1,
            config_problem=config,
        )
        if act:
            self.good(call=call)
        if pair == "ok":
            self.returns(None, call=call)
        else:
            link = {"type": "E", "message": "", "class": None, "code": None, "link": "outer"}
            if pair is not None:
                link["class"], link["code"] = pair.split("/")
            self.raises(link, call=call)
        return self
