"""Tools: executions that failed are tried again as the tool's contract says, in time, side by side.

The core of a runtime imposes no policy of its own on tools: without one in the contract a failed
execution is not tried again, and a code that the contract does not name is terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.history import History
from faultclock.oracle.port_facts import Prompt
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.redo import (
    Series,
    Try,
    busy_times,
    judge_attempts,
    judge_disposition,
    judge_waits,
    policy_of,
    series_check,
)
from faultclock.oracle.tool_fates import ended_as, is_cancelled, pair_of
from faultclock.oracle.turn_facts import Answer, Execution, ToolCall


def series_of_tools(
    history: History, model: ErrorModel, requirements: tuple[str, ...]
) -> Iterator[Series]:
    """Yield the executions of each tool call, in each life that had any."""
    for answer in history.answers:
        for call in answer.tool_calls:
            for life in sorted({item.life for item in call.executions}):
                own = tuple(item for item in call.executions if item.life == life)
                yield _series(history, model, answer, call, own, requirements)


def _series(
    history: History,
    model: ErrorModel,
    answer: Answer,
    call: ToolCall,
    executions: tuple[Execution, ...],
    requirements: tuple[str, ...],
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
        requirements=requirements,
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
    judge_disposition,
    title="Tools: retried or not",
    says="A failed tool is tried again as its contract says, and not otherwise.",
    unjudged="no tool was executed",
)
attempts = series_check(
    "tools.attempts",
    series_of_tools,
    judge_attempts,
    title="Tools: number of executions",
    says="A tool call that is tried again gets as many executions as the contract gives.",
    unjudged="no execution that may be tried again failed",
)
waits = series_check(
    "tools.wait",
    series_of_tools,
    judge_waits,
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
    requirements = also(model, "tools.deadline")
    for execution in history.executions:
        script = history.tool_scripts.get(execution.tool)
        if script is None or is_cancelled(history, execution):
            continue
        called, end = execution.called, execution.end
        due_ns = called.at_ns + script.timeout
        stopped = end is not None and end.kind == "tool.stopped"
        life = history.life(execution.life)
        until_ns = history.trace.footer.ended_at_ns if life is None else life.until_ns
        overdue = (until_ns if end is None else end.at_ns) > due_ns + SLACK_NS
        if not stopped and not overdue:
            continue
        if overdue and not stopped and end is not None and end.seen is False:
            # It goes on unseen after the runtime has turned away: when that was is not in sight.
            continue
        yield held(*requirements)
        if stopped and end is not None and abs(end.at_ns - due_ns) <= SLACK_NS:
            continue
        observed = "it was never given up"
        if end is not None:
            how = "stopped" if stopped else "still waited for"
            observed = f"it was {how} {format_duration(end.at_ns - called.at_ns)} after its start"
        yield broken(
            requirements,
            call=execution.call,
            expected=f"{execution.tool} ({execution.tool_call}) is given up exactly"
            f" {format_duration(script.timeout)} after its execution began",
            observed=observed,
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
    requirements = also(model, "tools.concurrent")
    for answer in history.answers:
        firsts = [
            next((item for item in call.executions if item.life == call.life), None)
            for call in answer.tool_calls
        ]
        own = [item for item in firsts if item is not None]
        if len(own) < 2:
            continue
        yield held(*requirements)
        ids = {item.id for item in answer.tool_calls}
        prompts = [
            item
            for item in history.prompts
            if item.tool_call in ids and item.life == answer.in_call.life
        ]
        waited = _waited(own, prompts)
        if waited is not None:
            who, event, before = waited
            yield broken(
                requirements,
                call=answer.in_call.id,
                expected="the approved calls of one answer run side by side",
                observed=f"{who} only when {before.tool} ({before.tool_call}) had ended",
                events=(*before.events, event.seq),
                hint="Ask for every approval first, then begin all before any is awaited.",
            )


def _waited(
    executions: list[Execution], prompts: list[Prompt]
) -> tuple[str, TraceEvent, Execution] | None:
    """Return what waited for the end of another tool: in words, its event, and that tool."""
    # An approval that comes late is no waiting for another tool.
    approvals = [item.settled.at_ns for item in prompts if item.settled is not None]
    ready_ns = max(approvals, default=0)
    for one in executions:
        end = one.end
        if end is None or end.at_ns <= one.called.at_ns:
            continue
        for other in executions:
            after = max(one.called.at_ns, ready_ns) < end.at_ns <= other.called.at_ns
            if other is not one and after:
                return f"{other.tool} ({other.tool_call}) began", other.called, one
        for prompt in prompts:
            if prompt.tool_call != one.tool_call and end.at_ns <= prompt.shown.at_ns:
                return f"the approval of {prompt.tool_call} was asked for", prompt.shown, one
    return None
