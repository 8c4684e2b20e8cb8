"""Traces of failures made by hand, and a small error model that has an opinion on each of them.

The world's facts are written as the fakes write them; the model says nothing of any real system.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Self

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.facts.history import History
from faultclock.oracle.judge import judge
from tests.oracle.trace_builder import sha256
from tests.oracle.turn_builder import TurnBuilder

#: What a subject declares that can say everything.
ALL = ("errors", "audit", "events", "user", "model", "operator")

PASS = {Verdict.PASS}
FAIL = {Verdict.FAIL}
NOTHING = {Verdict.NOT_APPLICABLE}

_SOURCE = {"title": "By hand", "system": "test", "document": "none", "read_on": "2026-11-21"}


def _class(id_: str, disposition: str, *codes: str, **more: str) -> dict[str, Any]:
    return {
        "id": id_,
        "recoverable": "as it says",
        "handler": "nobody",
        "disposition": disposition,
        "codes": codes,
        "dispositions": more,
        "requirement": "BY-CLASS",
    }


def _signal(kind: str, pair: str, *causes: str, **when: Any) -> dict[str, Any]:
    class_name, _, code = pair.partition("/")
    named = (*causes, *when, *when.get("statuses", ()))
    id_ = "-".join((kind.replace("_", "-"), *named))
    return {
        "id": id_.lower().replace(".", "-"),
        "when": {"kinds": [kind], "causes": causes, **when},
        "class": class_name,
        "code": code,
        "requirement": "BY-SIGNAL",
    }


def _policy(id_: str, *pairs: str, layer: str = "tool", **more: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "applies_to": pairs,
        "layer": layer,
        "attempts_max": 3,
        "backoff": {"kind": "exponential", "base": "1s"},
        "requirements": {"attempts": "BY-ATTEMPTS", "wait": "BY-WAIT"},
        **more,
    }


_CHECKS = [
    f"failures.{name}"
    for name in (
        "redone",
        "wait",
        "outcome",
        "classified",
        "told-model",
        "told-operator",
        "told-user",
        "kept",
    )
]
_CHECKS.append("audience.model")
_MODEL: dict[str, Any] = {
    "id": "by-hand",
    "title": "By hand",
    "revision": "1",
    "source": _SOURCE,
    "classes": [
        _class("Again", "retry", "Busy", "Limit", "Queue", "Sandbox", "Cut"),
        _class("Never", "terminal", "Broken", "Loop", "Timeout", "Test", "Filtered"),
        _class("Told", "surface_to_model", "Input", "Denied", "Logical", "Unknown"),
        _class("Mild", "degrade", "Hook", "Memory", "Telemetry"),
        _class("Once", "regenerate_once", "Form"),
        _class("Owner", "owner_decides", "Child"),
        _class("Stopped", "not_an_error", "Cancelled"),
    ],
    "signals": [
        _signal("http_error", "Again/Limit", statuses=["429"]) | {"disposition": "retry"},
        _signal("http_error", "Never/Broken", statuses=["401"]) | {"disposition": "terminal"},
        _signal("tool_failed", "Again/Busy", "ResourceBusy"),
        _signal("tool_failed", "Told/Logical"),
        _signal("tool_exception", "Never/Broken"),
        _signal("tool_timeout", "Never/Timeout"),
        _signal("tool_input_invalid", "Told/Input"),
        _signal("tool_unknown", "Told/Unknown"),
        _signal("tool_denied_by_policy", "Told/Denied"),
        _signal("tool_denied_by_user", "Told/Denied"),
        _signal("approval_timed_out", "Told/Denied"),
        _signal("tool_denial_loop", "Never/Loop"),
        _signal("subagent_failed", "Owner/Child"),
        _signal("hook_failed", "Mild/Hook"),
        _signal("memory_unavailable", "Mild/Memory"),
        _signal("telemetry_failed", "Mild/Telemetry"),
        _signal("queue_refused", "Again/Queue"),
        _signal("sandbox_failed", "Again/Sandbox", "wall_clock"),
        _signal("sandbox_failed", "Never/Broken"),
        _signal("handler_failed", "Never/Broken"),
        _signal("program_cut", "Never/Broken", where={"node.idempotent": False}),
        _signal("program_cut", "Again/Cut"),
        _signal("program_missing", "Never/Broken"),
        _signal("program_timeout", "Never/Timeout"),
        _signal("output_not_json", "Mild/Hook", roles=["discussion"]),
        _signal("output_not_json", "Once/Form"),
        _signal("output_schema_invalid", "Once/Form"),
        _signal("command_failed", "Never/Test"),
        _signal("content_filtered", "Never/Filtered"),
        _signal("cancelled", "Stopped/Cancelled"),
    ],
    "policies": [
        _policy("request", "Again/Limit", layer="transport"),
        _policy("tool", "Again/Busy"),
        _policy("queue", "Again/Queue", layer="queue"),
        _policy("node", "Again/Sandbox", "Again/Cut", layer="node", attempts_from="node"),
    ],
    "requirements": [
        {"id": id_, "level": "MUST", "place": "none", "sentence": "It must.", "checks": _CHECKS}
        for id_ in (
            "BY-CLASS",
            "BY-SIGNAL",
            "BY-ATTEMPTS",
            "BY-WAIT",
            "BY-RULE",
            "BY-TELLING",
            "BY-KEPT",
        )
    ],
}


def model_of(**sections: Any) -> ErrorModel:
    """Return the model with more sections; rules without a requirement and an id get one."""
    cited = {"consequences": "BY-RULE", "telling": "BY-TELLING", "kept": "BY-KEPT"}
    filled = {
        name: [
            {"id": f"rule-{number}", "requirement": cited[name], **rule}
            for number, rule in enumerate(rules)
        ]
        if name in cited
        else rules
        for name, rules in sections.items()
    }
    return ErrorModel.model_validate(_MODEL | filled)


class FailureBuilder(TurnBuilder):
    """Writes a trace of a runtime that meets failures of what surrounds it."""

    def __init__(self, *, declares: tuple[str, ...] = ALL, **scenario: Any) -> None:
        super().__init__(declares=declares, **scenario)
        self._uses = 0
        self._runs = 0

    def _use(self, actor: str, kinds: tuple[str, str], error: object, **facts: Any) -> Self:
        self._uses += 1
        facts |= {"n": self._uses, "call": self.call}
        self.event(actor, kinds[0], **facts)
        self.after("1ms")
        self.event(actor, kinds[1], ok=error is None, error=error, **facts)
        return self

    def hook(self, error: str | None = None, *, id_: str = "audit") -> Self:
        """Call a hook, which may fail."""
        said = None if error is None else {"message": error}
        kinds = ("hook.called", "hook.replied")
        return self._use("hook", kinds, said, hook=id_, slot="pre_tool")

    def exports(self, error: str | None = None) -> Self:
        """Export a span, which may fail."""
        said = None if error is None else {"message": error}
        kinds = ("telemetry.asked", "telemetry.answered")
        return self._use("telemetry", kinds, said, name="span")

    def pushes(self, error: str | None = None, *, item: str = "i1") -> Self:
        """Push to the queue, which may refuse it."""
        said = None if error is None else {"message": error}
        return self._use("queue", ("queue.asked", "queue.answered"), said, item=item)

    def node(self, id_: str, error: Mapping[str, Any] | None = None) -> Self:
        """Do a node of the host's, which may fail."""
        return self._use("workflow", ("node.called", "node.replied"), error, node=id_)

    def program(
        self,
        *argv: str,
        status: int = 0,
        means: str = "",
        writes: str = "",
        stderr: str = "",
        takes: str = "100ms",
        killed: bool = False,
    ) -> Self:
        """Run a program to its end, or kill it."""
        self._runs += 1
        facts = {"program": argv[0], "run": f"p{self._runs}", "call": self.call}
        self.event("program", "program.started", argv=list(argv), n=1, means=means, **facts)
        self.after(takes)
        for stream, text in (("stdout", writes), ("stderr", stderr)):
            if text:
                self.event("program", "program.wrote", stream=stream, text=text + "\n", **facts)
        if killed:
            self.event("program", "program.signalled", signal="SIGKILL", by="subject", **facts)
        signal = "SIGKILL" if killed else None
        self.event("program", "program.ended", status=status, signal=signal, means=means, **facts)
        return self

    def misses(self, *argv: str) -> Self:
        """Fail to start a program, because there is none."""
        facts = {"program": argv[0], "argv": list(argv), "n": 1, "call": self.call}
        self.event("program", "program.missing", **facts)
        return self

    def decides(self, tool_call: str, decision: str = "deny", tool: str = "ls") -> Self:
        """Let the policy engine decide on a call."""
        facts = {"tool": tool, "tool_call": tool_call, "decision": decision, "call": self.call}
        self.event("policy", "policy.decided", **facts)
        return self

    def raises_in(self, tool_call: str, tool: str = "ls", *, takes: str = "100ms") -> Self:
        """Execute a tool that an exception leaves."""
        execution = self.calls(tool_call, tool)
        self.after(takes)
        self._tool("raised", execution, tool_call, tool, type="RuntimeError", seen=True)
        return self

    def asks(self, prompt: str, text: str) -> Self:
        """Ask the model in a conversation of its own, and let it answer with a text."""
        self.messages = [{"role": "user", "content_sha256": sha256(prompt)}]
        return self.says(text)

    def tells_json(self, tool_call: str, **fields: Any) -> Self:
        """Tell the model of a tool call."""
        return self.tells(tool_call, json.dumps(fields))

    # What the subject says.

    def notes(self, pair: str, target: str = "c1") -> Self:
        """Add an error about a target to the audit trail."""
        class_name, _, code = pair.partition("/")
        record = {"class": class_name, "code": code, "context": {"target": target}}
        self.event("subject", "declared.audit", call=self.call, record=record)
        return self

    def operator(self, message: str, *actions: str, pill: str | None = None) -> Self:
        """Show the operator something."""
        facts = {"message": message, "actions": list(actions), "pill": pill, "call": self.call}
        self.event("subject", "declared.operator_message", **facts)
        return self

    def user(self, message: str) -> Self:
        """Show the user something."""
        self.event("subject", "declared.user_message", message=message, call=self.call)
        return self

    def saves(self, name: str, content: Mapping[str, Any] | None = None, text: str = "x") -> Self:
        """Keep a file."""
        shown = text if content is None else json.dumps(content)
        facts = {"name": name, "text": shown, "json": content, "call": self.call}
        self.event("archive", "archive.saved", **facts)
        return self

    def ends_as(
        self, state: str = "completed", pair: str | None = None, *, recoverable: bool = True
    ) -> Self:
        """End the turn with a result."""
        class_name, _, code = (pair or "").partition("/")
        result = {
            "state": state,
            "class": class_name or None,
            "code": code or None,
            "recoverable": recoverable,
        }
        self.event(
            "harness", "call.returned", call=self.call, text="", tool_calls=[], result=result
        )
        return self


def paired(trace: Trace | TurnBuilder) -> History:
    """Return the history of a trace."""
    return History(trace if isinstance(trace, Trace) else trace.build())


def found(model: ErrorModel, trace: Trace | TurnBuilder, check: str) -> tuple[Finding, ...]:
    """Return the findings of one check."""
    built = trace if isinstance(trace, Trace) else trace.build()
    return tuple(item for item in judge(model, built).findings if item.check == check)


def verdicts(model: ErrorModel, trace: Trace | TurnBuilder, check: str) -> set[Verdict]:
    """Return the verdicts of one check."""
    return {item.verdict for item in found(model, trace, check)}


def called(**scenario: Any) -> FailureBuilder:
    """Return a turn in which the model asks for a tool."""
    return FailureBuilder(**scenario).turn().wants("c1 ls")


def cited(model: ErrorModel, trace: Trace | TurnBuilder, check: str) -> list[str | None]:
    """Return the requirements that a check finds broken; each such finding must show its events."""
    broken = [item for item in found(model, trace, check) if item.verdict is Verdict.FAIL]
    assert all(item.events and item.expected and item.observed and item.hint for item in broken)
    return [item.requirement for item in broken]
