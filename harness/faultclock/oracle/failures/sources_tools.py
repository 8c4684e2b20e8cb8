"""Failures of tool calls: those that were never executed, and executions that were not good.

What became of a tool call, `tool_fates` says; here each such fate is a kind of failure. A subagent
is called like a tool; what fails of it has kinds of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from faultclock.model.error_model.error_model import ErrorModel, FailureKind
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.nodes import node_at
from faultclock.oracle.facts.tool_fates import Fate, Kind, came_of, due_ns_of, refusal_in
from faultclock.oracle.facts.turn_facts import Execution
from faultclock.oracle.failures.failure import Failure

#: What a fate is as a failure.
_KINDS: Mapping[Kind, FailureKind] = {
    "unknown": "tool_unknown",
    "unfit": "tool_input_invalid",
    "denied": "tool_denied_by_policy",
    "unanswered": "approval_timed_out",
    "timed_out": "tool_timeout",
    "late": "tool_timeout",
    "cancelled": "tool_cancelled",
    "raised": "tool_exception",
    "failed": "tool_failed",
    "malformed": "tool_output_malformed",
    "partial": "tool_partial",
}
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
            fate = refusal_in(history, tool_call)
            kind = _kind_of(fate)
            denied = kind in _DENIALS and fate.shown is not None
            in_a_row[tool_call.call] = in_a_row[tool_call.call] + 1 if denied else 0
            if limit is not None and in_a_row[tool_call.call] == limit:
                kind = "tool_denial_loop"
            own = [item for item in tool_call.executions if item.call == tool_call.call]
            call = (tool_call.name, tool_call.id, tool_call.call)
            yield from _failure(
                history, kind, fate, *call, tool_call.answer, own, answer.attempt.start
            )


def _kind_of(fate: Fate) -> FailureKind | None:
    if fate.kind == "denied" and fate.shown is not None and fate.shown.kind.startswith("inter"):
        return "tool_denied_by_user"
    if fate.kind == "failed" and fate.end is not None:
        return _BY_CODE.get(str(fate.end.code), "tool_failed")
    return _KINDS.get(fate.kind)


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
        fate = came_of(history, execution)
        if execution.call is None:
            continue
        begun, like = asked.get(execution.called.seq, (execution.called, unasked))
        call = (execution.tool, execution.tool_call, execution.call)
        own = [item for item in like if (item.tool, item.tool_call, item.call) == call]
        yield from _failure(history, _kind_of(fate), fate, *call, execution.called, own, begun)


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
    kind: FailureKind | None,
    fate: Fate,
    tool: str,
    tool_call: str,
    call: str,
    asked: TraceEvent,
    own: Sequence[Execution],
    begun: TraceEvent,
) -> Iterator[Failure]:
    shown, end, script = fate.shown, fate.end, history.tool_scripts.get(tool)
    if kind is None or shown is None:
        return
    cause = str(end.code) if fate.kind == "failed" and end is not None else None
    if script is not None and script.agent and kind in _OF_AGENTS:
        if kind != "tool_failed" and cause is None:
            cause = kind.removeprefix("tool_")
        kind = _OF_AGENTS[kind]
    at_ns = shown.at_ns
    if fate.execution is None:
        at_ns = at_ns if fate.at_ns is None else fate.at_ns
    elif shown is not end:
        at_ns = due_ns_of(history, fate.execution)
    said = fate.execution if fate.kind in ("raised", "failed") else None
    node = node_at(history, begun)
    yield Failure(
        kind=kind,
        cause=cause,
        call=call,
        at_ns=at_ns,
        seq=shown.seq,
        events=tuple(dict.fromkeys((asked.seq, shown.seq))),
        layer="tool",
        target=tool_call,
        names=(tool,) if node is None else (tool, node.id),
        acts=tuple(item.called for item in own),
        node=node,
        tool=tool,
        tool_call=tool_call,
        message="" if said is None else _message(history, said),
    )
