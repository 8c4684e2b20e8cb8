"""How turns stand to their limits: what they used of each, and which they came to needing more.

A limit that is reached by the last thing that the turn needed ends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import SECOND_NS, format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.nodes import node_acts_of
from faultclock.oracle.facts.permissions import refusal_of
from faultclock.oracle.facts.run_end import end_of
from faultclock.oracle.facts.tool_fates import is_fit
from faultclock.oracle.facts.turn_facts import Execution
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Attempt
from faultclock.oracle.wire.timing import SLACK_NS


class Use(Struct, frozen=True, kw_only=True):
    """How a turn stands to one of its limits.

    Attributes:
        name: `steps`, `tool_calls`, `tokens`, `cost`, `wall_time` or `turns`.
        limit: the limit in words.
        last: the last event of the turn within the limit.
        over: what went beyond it; None for nothing.
        reached: whether the turn had to stop there, though it needed more.
    """

    call: str
    name: str
    limit: str
    last: TraceEvent
    over: TraceEvent | None
    reached: bool


@once
def limits_reached(history: History, model: ErrorModel) -> tuple[Use, ...]:
    """Return how turns stand to the limits that they came to while they needed more, in order."""
    found = [
        use
        for call in history.calls
        if call.is_turn
        for use in uses_of(history, model, call)
        if _came_to(call, use) and not _in_time(history, model, call, use)
    ]
    return tuple(sorted(found, key=lambda use: use.last.seq))


def _came_to(call: Call, use: Use) -> bool:
    """Return whether a turn came to its limit before anything else stopped it."""
    # The limit of time is a stop as well, and then the stop is the end.
    stop = call.crashed or (None if call.stop is call.end else call.stop)
    if use.over is not None:
        return stop is None or use.over.seq < stop.seq
    return use.reached and stop is None


def _in_time(history: History, model: ErrorModel, call: Call, use: Use) -> bool:
    """Return whether the time of a turn was not over yet when it was done, or the trace ended."""
    limit_ns = history.limit_ns(call)
    if use.name != "wall_time" or use.over is not None or limit_ns is None:
        return False
    end = end_of(model, call)
    if end is None:
        return history.trace.footer.ended_at_ns < limit_ns
    return end.state == "completed" and end.event.at_ns <= limit_ns + SLACK_NS


def uses_of(history: History, model: ErrorModel, call: Call) -> Iterator[Use]:
    """Yield how a turn stands to each of its limits, by the name that the model has for it."""
    budgets, named = history.session.budgets, {rule.limit for rule in model.limits}
    rounds = _rounds(history, call)
    if rounds is not None:
        yield rounds
    answers = [attempt for attempt in call.attempts if attempt.outcome == "ok"]
    executions = [item for item in history.executions if item.call == call.id]
    # A turn that ended with a text needed nothing more.
    wants_more = bool(answers) and bool(answers[-1].tool_calls)
    if budgets.steps_max is not None:
        most, asked = budgets.steps_max, [item.start for item in answers]
        due = wants_more and len(asked) >= most
        turns = rounds is None and "turns" in named and "steps" not in named
        name = "turns" if turns else "steps"
        yield _count(history, call, name, "answers", asked, most, "of the provider", due)
    if budgets.tool_calls_max is not None:
        most, called = budgets.tool_calls_max, [item.called for item in executions]
        due = len(called) + _pending(history, call) > most
        yield _count(history, call, "tool_calls", "executions", called, most, "of tools", due)
    if budgets.tokens_max is not None:
        yield _tokens(history, call, budgets.tokens_max, wants_more=wants_more)
    if budgets.cost_max_usd is not None:
        price = budgets.usd_per_million_tokens
        # It is spent by the first token at which the money is no less than the limit.
        limit = math.ceil(budgets.cost_max_usd * 1_000_000 / price)
        use = _tokens(history, call, limit, wants_more=wants_more)
        yield replace(use, name="cost", limit=f"{budgets.cost_max_usd} USD ({use.limit})")
    limit_ns = history.limit_ns(call)
    if limit_ns is not None:
        yield _use(
            history,
            call,
            "wall_time",
            limit=f"{format_duration(limit_ns - call.start.at_ns)} for a turn",
            over=_late(model, call, executions, limit_ns),
            reached=call.end is None or call.end.at_ns >= limit_ns,
        )


def _rounds(history: History, call: Call) -> Use | None:
    """Return how a workflow that goes back to its coder stands to the number of its rounds."""
    workflow = history.world.workflow
    if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
        return None
    begun: list[TraceEvent] = []
    worked = True
    for act in node_acts_of(history):
        if act.call != call.id:
            continue
        if act.node.role != "coder":
            worked = True
        elif worked and act.begins:
            # Another one had its turn in between: this is no other try of the same round.
            begun.append(act.event)
            worked = False
    most = workflow.iterations_max
    due = len(begun) == most and _ended_badly(history, call, begun[-1])
    return _count(history, call, "turns", "rounds", begun, most, "of the coder", due)


def _ended_badly(history: History, call: Call, since: TraceEvent) -> bool:
    """Return whether the last command after `since` failed, so that the coder was due again."""
    ended = [
        event
        for event in history.of("program.ended")
        if event.call == call.id and event.seq > since.seq
    ]
    return bool(ended) and ended[-1].status != 0


def _use(
    history: History,
    call: Call,
    name: str,
    *,
    limit: str,
    over: TraceEvent | None,
    reached: bool,
) -> Use:
    until = over or call.end
    within = history.trace.events[: None if until is None else until.seq - 1]
    last = next((event for event in reversed(within) if event.call == call.id), call.start)
    return Use(call=call.id, name=name, limit=limit, last=last, over=over, reached=reached)


def _count(
    history: History,
    call: Call,
    name: str,
    noun: str,
    begun: Sequence[TraceEvent],
    most: int,
    whose: str,
    due: bool,
) -> Use:
    """Return how a turn stands to a limit of what it may begin; `due`: it needed more."""
    return _use(
        history,
        call,
        name,
        limit=f"{most} {noun} {whose}",
        over=begun[most] if len(begun) > most else None,
        reached=due,
    )


def _pending(history: History, call: Call) -> int:
    """Return how many tool calls of the turn could have run, and did not."""
    return sum(
        is_fit(history, item) and not item.executions and refusal_of(history, item) is None
        for answer in history.answers
        if answer.in_call is call
        for item in answer.tool_calls
    )


def _tokens(history: History, call: Call, limit: int, *, wants_more: bool) -> Use:
    used = 0
    spent_by: Attempt | None = None
    for attempt in call.attempts:
        if attempt.outcome == "ok" and attempt.answered is not None:
            used += int(attempt.answered.usage.get("total_tokens") or 0)
            if spent_by is None and used >= limit:
                spent_by = attempt
    after = (
        item.start
        for item in call.attempts
        if spent_by is not None and item.start.seq > spent_by.events[-1]
    )
    return _use(
        history,
        call,
        "tokens",
        limit=f"{limit} tokens",
        over=next(after, None),
        reached=spent_by is not None and wants_more,
    )


def _late(
    model: ErrorModel, call: Call, executions: list[Execution], limit_ns: int
) -> TraceEvent | None:
    """Return the first work that began after the time was over, or an end that is too late."""
    began = [item.start for item in call.attempts] + [item.called for item in executions]
    for event in sorted(began, key=lambda event: event.seq):
        if event.at_ns > limit_ns + SLACK_NS:
            return event
    end, rules = call.end, (*model.limits, *model.budget_limits)
    within_ns = next((rule.within for rule in rules if rule.limit == "wall_time"), SECOND_NS)
    return end if end is not None and end.at_ns > limit_ns + within_ns else None
