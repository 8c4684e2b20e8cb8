"""Failures of tool calls: those that were never executed, and executions that were not good.

A subagent is called like a tool; what fails of it has kinds of its own. Whether arguments and
values are fit, and what a cancel hit, `tool_fates` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from faultclock.model.error_model import ErrorModel, FailureKind
from faultclock.model.trace import TraceEvent
from faultclock.oracle.failure import Failure, Target
from faultclock.oracle.failure_nodes import node_at
from faultclock.oracle.history import History, aims_at
from faultclock.oracle.timing import SLACK_NS
from faultclock.oracle.tool_fates import arguments_of, came_of, due_ns_of, fits, works_until
from faultclock.oracle.turn_facts import Execution, ToolCall

#: Failures of a subagent, by what they are for any other tool. The rest keeps its name.
_OF_AGENTS: Mapping[FailureKind, FailureKind] = {
    "tool_exception": "subagent_failed",
    "tool_failed": "subagent_failed",
    "tool_unavailable": "subagent_failed",
    "tool_output_malformed": "subagent_failed",
    "tool_timeout": "subagent_timeout",
    "tool_denied_by_policy": "subagent_denied",
    "tool_denied_by_user": "subagent_denied",
}
#: Failures that a tool reports, by their codes.
_BY_CODE: Mapping[str, FailureKind] = {
    "ExecutionTimeout": "tool_timeout",
    "CapabilityAbsent": "tool_unavailable",
}
_DENIALS = ("tool_denied_by_policy", "tool_denied_by_user", "approval_timed_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was seen of a tool call.

    Attributes:
        at_ns: when it could be known; None: as soon as `event` was there.
        event: what shows it; what comes at `at_ns` comes after it.
    """

    kind: FailureKind
    event: TraceEvent
    cause: str | None = None
    at_ns: int | None = None
    message: str = ""


# ---------------------------------------------------------------------- never executed


def refused_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the tool calls of the model that could not, or were not allowed to, be executed.

    The last of as many denials in a row as the session allows is a failure of its own kind,
    where the error model knows such a one.
    """
    looped = any("tool_denial_loop" in rule.when.kinds for rule in model.signals)
    limit = history.session.denials_max if looped else None
    in_a_row: Counter[str] = Counter()
    for answer in history.answers:
        for tool_call in answer.tool_calls:
            seen = _refused(history, tool_call)
            denied = seen is not None and seen.kind in _DENIALS
            in_a_row[tool_call.call] = in_a_row[tool_call.call] + 1 if denied else 0
            if seen is None:
                continue
            if limit is not None and in_a_row[tool_call.call] == limit:
                seen = replace(seen, kind="tool_denial_loop")
            own = [item for item in tool_call.executions if item.call == tool_call.call]
            call = (tool_call.name, tool_call.id, tool_call.call)
            yield _failure(history, seen, *call, tool_call.answer, own, answer.attempt.start)


def _refused(history: History, tool_call: ToolCall) -> _Seen | None:
    script = history.tool_scripts.get(tool_call.name)
    if script is None:
        return _Seen(kind="tool_unknown", event=tool_call.answer)
    given = arguments_of(tool_call)
    if given is None or not fits(script.input_schema, given):
        return _Seen(kind="tool_input_invalid", event=tool_call.answer)
    decided = [
        event for event in history.of("policy.decided") if _is_about(history, event, tool_call)
    ]
    denied = next((event for event in decided if event.decision == "deny"), None)
    if denied is not None:
        return _Seen(kind="tool_denied_by_policy", event=denied)
    executed = any(item.call == tool_call.call for item in tool_call.executions)
    if script.policy == "deny" and executed and not decided:
        # A subject that does not ask the policy engine is denied all the same.
        return _Seen(kind="tool_denied_by_policy", event=tool_call.answer)
    return _not_approved(history, tool_call)


def _not_approved(history: History, tool_call: ToolCall) -> _Seen | None:
    asked = history.prompts_about(tool_call)
    if not asked:
        return None
    last = asked[-1]
    if last.said == "denied" and last.accepted is not None:
        return _Seen(kind="tool_denied_by_user", event=last.accepted)
    if not last.is_unanswered or last.due_ns is None:
        return None
    if last.settled is None and not works_until(history, tool_call.call, last.due_ns):
        return None
    event = last.settled or _last_before(history, last.due_ns)
    return _Seen(kind="approval_timed_out", event=event, at_ns=last.due_ns)


def _is_about(history: History, event: TraceEvent, tool_call: ToolCall) -> bool:
    """Return whether a fact is about this call, and not a later one with the same id."""
    if event.tool_call != tool_call.id or event.call != tool_call.call:
        return False
    later = (
        other.answer.seq
        for other in history.tool_calls
        if other.id == tool_call.id and other.answer.seq > tool_call.answer.seq
    )
    return tool_call.answer.seq < event.seq < min(later, default=len(history.trace.events) + 1)


# ---------------------------------------------------------------------- executed


def execution_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the executions that were not good, those of nodes that are tools included."""
    asked = {
        execution.called.seq: (answer.attempt.start, tool_call.executions)
        for answer in history.answers
        for tool_call in answer.tool_calls
        for execution in tool_call.executions
    }
    unasked = tuple(item for item in history.executions if item.called.seq not in asked)
    for execution in history.executions:
        seen = None if execution.call is None else _executed(history, execution)
        if seen is None:
            continue
        begun, like = asked.get(execution.called.seq, (execution.called, unasked))
        call = (execution.tool, execution.tool_call, str(execution.call))
        own = [item for item in like if (item.tool, item.tool_call, item.call) == call]
        yield _failure(history, seen, *call, execution.called, own, begun)


def _executed(history: History, execution: Execution) -> _Seen | None:
    end, fate = execution.end, came_of(history, execution)
    due_ns = due_ns_of(history, execution)
    if fate.kind in ("timed_out", "late"):
        if end is not None and end.kind == "tool.stopped" and end.at_ns <= due_ns + SLACK_NS:
            # What is stopped before its time is up was stopped for a reason that is no failure.
            in_time = end.at_ns < due_ns - SLACK_NS
            return None if in_time else _Seen(kind="tool_timeout", event=end)
        # It went on for longer than it may, with any result in the end.
        if not works_until(history, execution.call, due_ns):
            return None
        return _Seen(kind="tool_timeout", event=_last_before(history, due_ns), at_ns=due_ns)
    if end is None:
        return None
    message = _message(history, execution)
    match fate.kind:
        case "cancelled":
            mine = _tool_was_cancelled(history, execution)
            return _Seen(kind="tool_cancelled", event=end) if mine else None
        case "raised":
            return _Seen(kind="tool_exception", event=end, message=message)
        case "failed":
            code = str(end.code)
            kind = _BY_CODE.get(code, "tool_failed")
            return _Seen(kind=kind, event=end, cause=code, message=message)
        case "malformed":
            return _Seen(kind="tool_output_malformed", event=end)
        case "partial":
            return _Seen(kind="tool_partial", event=end)
    return None


def _tool_was_cancelled(history: History, execution: Execution) -> bool:
    """Return whether the cancel of a tool, not that of its turn, stopped it."""
    end = execution.end
    return end is not None and any(
        event.scope == "tool"
        and aims_at(event, execution)
        and execution.called.seq < event.seq < end.seq
        for event in history.of("cancel.requested")
    )


def _message(history: History, execution: Execution) -> str:
    """Return the text that the tool gave; it is in the script of the fault that it met."""
    script = history.tool_scripts.get(execution.tool)
    rules = {} if script is None else {rule.id: rule for rule in reversed(script.rules)}
    met = (event.fault for event in history.of("fault.fired") if event.execution == execution.id)
    found = (rules[fault] for fault in met if fault in rules)
    return next((str(getattr(rule.then.fault, "message", "")) for rule in found), "")


# ---------------------------------------------------------------------- both


def _failure(
    history: History,
    seen: _Seen,
    tool: str,
    tool_call: str,
    call: str,
    asked: TraceEvent,
    own: Sequence[Execution],
    begun: TraceEvent,
) -> Failure:
    script = history.tool_scripts.get(tool)
    kind, cause = seen.kind, seen.cause
    if script is not None and script.agent and kind in _OF_AGENTS:
        if kind != "tool_failed" and cause is None:
            cause = kind.removeprefix("tool_")
        kind = _OF_AGENTS[kind]
    node = node_at(history, begun)
    return Failure(
        kind=kind,
        cause=cause,
        call=call,
        at_ns=seen.event.at_ns if seen.at_ns is None else seen.at_ns,
        seq=seen.event.seq,
        events=tuple(dict.fromkeys((asked.seq, seen.event.seq))),
        target=Target(layer="tool", id=tool_call),
        names=(tool,) if node is None else (tool, node.id),
        acts=tuple(item.called for item in own),
        node=node,
        tool=tool,
        tool_call=tool_call,
        message=seen.message,
    )


def _last_before(history: History, at_ns: int) -> TraceEvent:
    """Return the last fact before a time, after which everything that it caused comes."""
    before = (event for event in reversed(history.trace.events) if event.at_ns < at_ns)
    return next(before, history.trace.events[0])
