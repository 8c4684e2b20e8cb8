"""Tools: executions that failed are tried again as the tool's contract says, in time, side by side.

The core of a runtime imposes no policy of its own on tools: without one in the contract a failed
execution is not tried again, and a code that the contract does not name is terminal.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, check, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.port_facts import Prompt
from faultclock.oracle.facts.tool_fates import came_of, due_ns_of, ended_as, pair_of
from faultclock.oracle.facts.turn_facts import Answer, Execution, ToolCall
from faultclock.oracle.retries.redo import (
    ATTEMPTS,
    DISPOSITION,
    Series,
    Try,
    busy_times,
    policy_of,
    series_check,
)
from faultclock.oracle.wire.timing import SLACK_NS


def series_of_tools(history: History, model: ErrorModel) -> Iterator[Series]:
    """Yield the executions of each tool call, in each life that had any."""
    for answer in history.answers:
        for call in answer.tool_calls:
            for life in sorted({item.life for item in call.executions}):
                own = tuple(item for item in call.executions if item.life == life)
                yield _series(history, model, answer, call, own)


def _series(
    history: History,
    model: ErrorModel,
    answer: Answer,
    call: ToolCall,
    executions: tuple[Execution, ...],
) -> Series:
    script = history.tool_scripts.get(call.name)
    retry = None if script is None else script.retry
    retryable = () if retry is None else retry.retryable
    return Series(
        what=f"tool call {call}",
        call=executions[0].call,
        tries=tuple(
            replace(
                _try(history, model, item, retryable),
                repeats_effect=_repeats(executions[:index], item),
            )
            for index, item in enumerate(executions)
        ),
        policy=policy_of(call.name, retry),
        source="the tool's contract, which has no retry" if retry is None else "its contract",
        given_up=_given_up(history, answer, executions[-1]),
        slack_ns=history.timing.slack_ns,
        busy=busy_times(history, executions[0].call),
    )


def _repeats(before: tuple[Execution, ...], execution: Execution) -> bool:
    done = {effect.key for item in before for effect in item.effects}
    return any(effect.key in done for effect in execution.effects)


def _try(
    history: History, model: ErrorModel, execution: Execution, retryable: tuple[str, ...]
) -> Try:
    begun, end, kind = execution.called, execution.end, ended_as(history, execution)
    if kind == "open" or end is None:
        return Try(begun=begun, ended=None, outcome="open")
    if kind in ("cancelled", "good", "partial"):
        return Try(begun=begun, ended=end, outcome="open" if kind == "cancelled" else "good")
    failure = execution.pair or "a failure"
    if kind == "raised":
        failure = f"an exception ({end.type})"
    elif kind != "failed":
        failure = pair_of(model, kind) or ""
    is_retryable = failure.rpartition("/")[2] in retryable
    return Try(begun=begun, ended=end, outcome="failed", failure=failure, retryable=is_retryable)


def _given_up(history: History, answer: Answer, last: Execution) -> TraceEvent | None:
    """Return what shows that no further execution was to come, unless something prevented it."""
    call = history.call(last.call)
    if call is None or last.end is None:
        return None
    following = None if answer.next is None else answer.next.asked
    if last.life != call.life or (call is not answer.in_call):
        following = None
    shown = following or call.end
    if shown is None or shown.seq < last.end.seq:
        return None
    if call.stop is not None and call.stop.seq <= shown.seq:
        return None
    limit = history.session.budgets.tool_calls_max
    if limit is not None and sum(item.call == call.id for item in history.executions) >= limit:
        return None
    if any(
        event.target in (None, last.tool, last.tool_call)
        for event in history.of("cancel.requested")
        if event.scope == "tool" and last.called.seq < event.seq < shown.seq
    ):
        return None
    return shown


disposition = series_check(
    "tools.disposition",
    series_of_tools,
    DISPOSITION,
    title="Tools: retried or not",
    says="A failed tool is tried again as its contract says, and not otherwise.",
    unjudged="no tool was executed",
)
attempts = series_check(
    "tools.attempts",
    series_of_tools,
    ATTEMPTS,
    title="Tools: number of executions",
    says="A tool call that is tried again gets as many executions as the contract gives.",
    unjudged="no execution that may be tried again failed",
)
waits = series_check(
    "tools.wait",
    series_of_tools,
    None,
    title="Tools: waits between executions",
    says="Each wait before a further execution lies within the interval of the tool's contract.",
    unjudged="no execution was tried again",
)


@check(
    "tools.deadline",
    title="The time limit of a tool",
    says="An execution is given up exactly when the time in its contract is over, counted"
    " from its start.",
    unjudged="no execution reached the time limit of its tool",
    role="runtime",
)
def deadline(history: History, model: ErrorModel) -> Verdicts:
    """Judge when executions were given up that reached their limit."""
    for execution in history.executions:
        fate, called, end = came_of(history, execution), execution.called, execution.end
        # One that goes on unseen was turned away from: when that was is not in sight.
        if fate.kind not in ("timed_out", "late") or (end is not None and end.seen is False):
            continue
        due_ns, observed = due_ns_of(history, execution), "it was never given up"
        if end is not None:
            exact = end.kind == "tool.stopped" and abs(end.at_ns - due_ns) <= SLACK_NS
            how = "stopped" if end.kind == "tool.stopped" else "still waited for"
            after = format_duration(end.at_ns - called.at_ns)
            observed = "" if exact else f"it was {how} {after} after its start"
        yield verdict(
            also(model, "tools.deadline"),
            observed,
            call=execution.call,
            expected=f"{execution} is given up exactly"
            f" {format_duration(due_ns - called.at_ns)} after its execution began",
            events=execution.events,
            hint="Does the tool's timer start with the proposal, or with the approval?",
        )


@check(
    "tools.concurrent",
    title="Approved tools run in parallel",
    says="No tool call of an answer waits for the execution of another one.",
    unjudged="no answer asked for several tools that all ran",
    role="runtime",
)
def concurrent(history: History, model: ErrorModel) -> Verdicts:
    """Judge that no execution of an answer waited for another one."""
    for answer in history.answers:
        firsts = [
            next((item for item in call.executions if item.life == call.life), None)
            for call in answer.tool_calls
        ]
        own = [item for item in firsts if item is not None]
        if len(own) < 2:
            continue
        ids = {item.id for item in answer.tool_calls}
        prompts = [
            item
            for item in history.prompts
            if item.tool_call in ids and item.life == answer.in_call.life
        ]
        observed, events = _waited(own, prompts)
        yield verdict(
            also(model, "tools.concurrent"),
            observed,
            call=answer.in_call.id,
            expected="the approved calls of one answer run side by side",
            events=events,
            hint="Ask for every approval first, then begin all before any is awaited.",
        )


def _waited(executions: list[Execution], prompts: list[Prompt]) -> tuple[str, tuple[int, ...]]:
    """Return in words what waited for the end of another tool, and what shows it."""
    # An approval that comes late is no waiting for another tool.
    approvals = [item.settled.at_ns for item in prompts if item.settled is not None]
    ready_ns = max(approvals, default=0)
    for one in executions:
        end = one.end
        if end is None or end.at_ns <= one.called.at_ns:
            continue
        when = f"only when {one} had ended"
        for other in executions:
            after = max(one.called.at_ns, ready_ns) < end.at_ns <= other.called.at_ns
            if other is not one and after:
                observed = f"{other} began {when}"
                return observed, (*one.events, other.called.seq)
        for prompt in prompts:
            if prompt.tool_call != one.tool_call and end.at_ns <= prompt.shown.at_ns:
                observed = f"the approval of {prompt.tool_call} was asked for {when}"
                return observed, (*one.events, prompt.shown.seq)
    return "", ()
