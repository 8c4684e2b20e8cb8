"""Swallowing: a failure never turns into a good answer, and a good answer stays whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import Trace, TraceEvent
from faultclock.oracle.attempts import Call, Request
from faultclock.oracle.chain import is_degraded
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History

__all__ = ["CHECKS"]

#: Longest part of an answer that a finding shows, in characters.
_SHORT = 60


def _silent(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "swallow.silent")
    yield otherwise("no call returned a reply of the provider")
    for call in history.calls:
        if not call.returned or call.end is None or not call.attempts:
            continue
        # What a turn returns is the last answer; what came before led to it.
        request = call.requests[-1]
        if request.outcome != "returned" or _is_turn_without_answer(history.trace, request):
            continue
        if _answers_for_another_node(history.trace, call):
            continue
        if is_degraded(call.end):
            # It says itself that it is not what it should be.
            continue
        yield held(*requirements)
        fault = _fault(history.trace, request, call.end)
        # Ignoring an error may be announced; changing an answer that was good may not.
        failed = not any(attempt.outcome == "ok" for attempt in request.attempts)
        if fault is None or (failed and call.id in history.suppressed):
            continue
        expected, observed, events, hint = fault
        if failed:
            expected += ", or a SuppressedError event with the reason"
        yield broken(
            requirements,
            call=call.id,
            expected=expected,
            observed=observed,
            events=(*events, call.end.seq),
            hint=hint,
        )


def _answers_for_another_node(trace: Trace, call: Call) -> bool:
    # A workflow comes to what its last node gave, which need not be the model.
    if trace.header.scenario.workflow is None:
        return False
    acts = [
        event.kind
        for event in trace.of_kind("http.request", "node.called", "tool.called", "program.started")
        if event.call == call.id
    ]
    return bool(acts) and acts[-1] != "http.request"


def _is_turn_without_answer(trace: Trace, request: Request) -> bool:
    # A turn may end where the model still wanted tools: at a limit, or with no person to ask.
    several = trace.header.scenario.role == "runtime"
    return several and request.attempts[-1].outcome == "ok" and request.attempts[-1].tool_calls


def _fault(
    trace: Trace, request: Request, end: TraceEvent
) -> tuple[str, str, tuple[int, ...], str] | None:
    """Return what was expected, what was observed, the events that prove it, and a hint."""
    hint = "Often an `except` that returns a default, or a stream that just stops."
    good = [attempt for attempt in request.attempts if attempt.outcome == "ok"]
    if not good:
        last = request.attempts[-1]
        how = f"failed ({last.signal})" if last.failed else "had not ended"
        observed = f"attempt {last.number} {how}, and the call returned {_excerpt(end)}"
        return "an error", observed, last.events, hint
    # An answer that only asks for tools has no text: none and an empty one are the same.
    text = end.text_sha256 or hashlib.sha256(b"").hexdigest()
    complete = {attempt.text_sha256 for attempt in good} - {None}
    events = good[-1].events
    if complete and text not in complete:
        return "the provider's whole text", f"the call returned {_excerpt(end)}", events, hint
    asked = trace.header.scenario.provider.tool_calls
    if good[-1].tool_calls and asked:
        wanted = [(tool.name, tool.arguments) for tool in asked]
        given = [
            (str(tool.get("name")), str(tool.get("arguments"))) for tool in end.tool_calls or ()
        ]
        if _calls(given) != _calls(wanted):
            observed = f"the call returned {_listed(given)}"
            hint = "Return `Reply(text, tool_calls)`, with a `ToolCall(name, arguments)` for each."
            return f"the provider's tool calls: {_listed(wanted)}", observed, events, hint
    return None


def _excerpt(end: TraceEvent) -> str:
    text = end.text
    if not isinstance(text, str):
        kind = end.type
        return f"no text, but {kind}" if kind else "no text"
    return f"{len(text)} characters of text: {_short(text)!r}"


def _listed(calls: Iterable[tuple[str, str]]) -> str:
    return ", ".join(_short(f"{name}({arguments})") for name, arguments in calls) or "no tool calls"


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def _calls(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, object]]:
    return [(name, _loaded(arguments)) for name, arguments in pairs]


def _loaded(arguments: str) -> object:
    # A client may parse the arguments and write them anew: equal JSON is equal.
    try:
        loaded: object = json.loads(arguments)
    except ValueError:
        return arguments
    return loaded


CHECKS = (
    Check(
        id="swallow.silent",
        title="No failure is swallowed",
        says="A call returns the whole answer of a good attempt, or reports a failure.",
        run=_silent,
    ),
)
