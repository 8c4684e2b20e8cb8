"""How turns and sessions end: with the model's last word, or for a reason that ends turns.

All of it is read from what the world saw, so that it holds for a runtime that declares nothing.
Why a session may have to be refused is the business of `resume.decision` and `extensions.resolved`.
"""

from __future__ import annotations

from collections.abc import Iterable

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, broken, check, held
from faultclock.oracle.checks.agent.extension_set import set_faults
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.stored_state import conditions_of, opening_of
from faultclock.oracle.facts.tool_fates import FAILED, Fate, arguments_of, fate_of
from faultclock.oracle.facts.turn_facts import Answer, ToolCall
from faultclock.oracle.failures.engine import was_cut
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of, outermost

#: What ends a turn that a tool call ended; whichever way a tool fails is one cause.
_CAUSES = {
    "unknown": "a tool that does not exist ends the turn",
    "unfit": "arguments that do not fit end the turn",
    **dict.fromkeys(("malformed", "denied", "unanswered"), ""),
}
_FAILING = "a failing tool ends the turn"
_REFUSED = "a tool that raises at a no ends the turn"
_AT_A_NO = "{} raised at the person's no"
#: What became of the tool call that ended a turn, where it did not just fail.
_BECAME = {
    "timed_out": "a call of {} did not end in time",
    "unknown": "the model asked for {}, which does not exist",
    "unfit": "the arguments for {} do not fit",
    "malformed": "{} returned what does not fit",
    "denied": "a call of {} was not approved",
    "unanswered": "a call of {} was not approved in time",
}


@check(
    "turns.go-on",
    title="A turn goes on to its end",
    says="A turn ends with the model's last word; a tool call that fails does not end it.",
    unjudged="no turn ended by itself",
    role="runtime",
)
def go_on(history: History, model: ErrorModel) -> Verdicts:
    """Judge the end of each turn that nothing stopped, and how sessions begin and end."""
    for call in history.calls:
        if not call.is_turn or call.end is None or call.stop is not None:
            continue
        if call.last is None:
            yield from _judge_refused(history, model, call)
        elif call.last.outcome == "ok" and not _is_excused(history, model, call):
            yield from _judge_end(history, model, call, call.end)
    yield from _judge_bounds(history, model)


def _judge_end(history: History, model: ErrorModel, call: Call, end: TraceEvent) -> Verdicts:
    own = [answer for answer in history.answers if answer.in_call is call]
    last = next((answer for answer in own if answer.attempt is call.last), None)
    failed = _failures(history, model, [last] if last is not None else [])
    survived = _failures(history, model, [item for item in own if item.next is not None])
    yield held(*also(model, "turns.go-on.end"))
    if failed or survived:
        yield held(*also(model, "turns.go-on.tool"))
    if _all_by_themselves(history, failed) or _all_by_themselves(history, survived):
        yield held(*also(model, "turns.go-on.broken"))
    if last is not None and any(arguments_of(item) is None for item in last.tool_calls):
        # Whether the answer as a whole is malformed, the documents do not agree on.
        return
    name, observed, cause = "end", f"it ended with {_said_of(end)}", ""
    shown = () if call.last is None else call.last.events[-1:]
    if call.raised and failed:
        refused = _raised_at_a_no(history)
        # It ended the turn, and cut off whatever else was under way.
        item, fate = next((it for it in failed if it[0].id in refused), failed[0])
        expected = f"the model gets the failure of {item.name}, and the turn goes on"
        at_a_no = item.id in refused
        became = _AT_A_NO if at_a_no else _BECAME.get(fate.kind, "a call of {} failed")
        cause = _REFUSED if at_a_no else _CAUSES.get(fate.kind, _FAILING)
        observed = f"{became.format(item.name)}, and the turn ended with {_said_of(end)}"
        name, shown = "tool", fate.events
    elif call.raised and (last is None or _all_good(last)):
        expected = "the turn goes on to its answer: nothing had failed"
    elif call.returned and last is not None:
        expected = f"the model gets its {len(last.tool_calls)} results, and its last word"
        observed = "the turn returned without asking it again"
    else:
        return
    requirements = also(model, f"turns.go-on.{name}")
    if name == "tool" and _all_by_themselves(history, failed):
        requirements += also(model, "turns.go-on.broken")
    if requirements:
        yield broken(
            requirements,
            call=call.id,
            expected=expected,
            observed=observed,
            events=tuple(sorted({*shown, end.seq})),
            hint="What fails within a tool call is a result for the model, not an exception.",
            cause=cause,
        )


def _judge_refused(history: History, model: ErrorModel, call: Call) -> Verdicts:
    """Judge that a turn is not refused where nothing is in its way."""
    if call.raised and not _is_refusable(history, model, call):
        yield from _judge_free(model, call, "end", "the turn asks the model")


def _is_excused(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether something else may have ended the turn, that other checks judge."""
    limits = model.budgets.steps if model.budgets is not None else ()
    return any(
        (
            history.session.stages,
            # A runtime without a person to ask halts the turn.
            history.session.headless and history.session.mode != "yolo",
            was_cut(history, model, call),
            error_of(call.end) in limits,
            any(not item.ok for item in history.store_operations if item.call == call.id),
            _within(history, call, "cancel.requested", "interaction.broken"),
        )
    )


def _within(history: History, call: Call, *kinds: str) -> bool:
    until = len(history.trace.events) if call.end is None else call.end.seq
    return any(call.start.seq < event.seq < until for event in history.of(*kinds))


def _failures(
    history: History, model: ErrorModel, answers: Iterable[Answer]
) -> list[tuple[ToolCall, Fate]]:
    """Return the tool calls of these answers whose failure the model gets."""
    calls = (item for answer in answers for item in answer.tool_calls)
    fates = ((item, fate_of(history, model, item)) for item in calls)
    return [(item, fate) for item, fate in fates if fate.kind in (*FAILED, "malformed")]


def _all_by_themselves(history: History, failed: list[tuple[ToolCall, Fate]]) -> bool:
    """Return whether calls failed, and neither a refusal nor a setting may end their turn.

    A turn may well end where a person said no, or where it was set up to end with a failure. That
    a tool asks by itself and raises at a no is a failure of the tool.
    """
    session, scripts = history.session, history.tool_scripts
    if session.join or any(what != "continue" for what in session.policies.values()):
        return False
    raised = _raised_at_a_no(history)
    return bool(failed) and not any(
        (fate.kind in ("denied", "unanswered") and item.id not in raised)
        or (item.name in scripts and scripts[item.name].agent)
        for item, fate in failed
    )


def _raised_at_a_no(history: History) -> set[str]:
    """Return the ids of the calls whose tool asked a person itself, and raised at the no."""
    return {str(event.tool_call) for event in history.of("tool.refused")}


def _all_good(answer: Answer) -> bool:
    ends = [item.executions[-1].is_good for item in answer.tool_calls if item.executions]
    return len(ends) == len(answer.tool_calls) and all(ends)


# ---------------------------------------------------------------------- sessions


def _judge_bounds(history: History, model: ErrorModel) -> Verdicts:
    """Judge that new sessions open, and that sessions close."""
    for life in history.lives:
        start = opening_of(history, life.number)
        if start is None or life.resumes or start.is_turn:
            continue
        if not _is_in_the_way(history, model, start):
            yield from _judge_free(model, start, "start", "a new session opens")
    for call in history.calls:
        opened = any(
            item.do == "start" and item.life == call.life and item.returned
            for item in history.calls
        )
        if call.do == "close" and opened and not _is_in_the_way(history, model, call):
            yield from _judge_free(model, call, "close", "the session is closed")


def _is_refusable(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether something may have kept a turn from asking the model."""
    life = history.life(call.life)
    before = [
        item for item in history.calls if item.life == call.life and item.start.seq < call.start.seq
    ]
    if life is None or history.session.stages or not str(call.start.prompt).strip():
        return True
    if any(item.do == "close" or (item.do == "start" and not item.returned) for item in before):
        return True
    if _is_in_the_way(history, model, call):
        return True
    if not life.resumes or opening_of(history, life.number) is not call:
        return False
    # A session that is opened lazily is refused in its first turn.
    found = conditions_of(history, model, life)
    return found is None or bool({*found} - {"sound", "slot_drift", "extension_gone"})


def _is_in_the_way(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether the store, a cancel or an extension may have kept a call from its work."""
    until = len(history.trace.events) if call.end is None else call.end.seq
    failed = [item.asked for item in history.store_operations if not item.ok]
    if call.do in ("start", "close"):
        # A phase is a part of either, and of no turn.
        failed += [event for event in history.of("extension.phase") if not event.ok]
    cancels = history.of("cancel.requested")
    return (
        any(event.life == call.life and event.seq < until for event in failed)
        or any(event.seq < until for event in cancels)
        or (call.do != "close" and bool(set_faults(history, model, call)))
    )


def _judge_free(model: ErrorModel, call: Call, name: str, expected: str) -> Verdicts:
    """Judge that a call with nothing in its way does not end with an error."""
    requirements = also(model, f"turns.go-on.{name}")
    if not requirements or call.end is None or call.stop is not None:
        return
    yield held(*requirements)
    if call.raised:
        yield broken(
            requirements,
            call=call.id,
            expected=f"{expected}: nothing had failed",
            observed=f"it ended with {_said_of(call.end)}",
            events=(call.start.seq, call.end.seq),
        )


def _said_of(end: TraceEvent | None) -> str:
    """Return the error that a call ended with, in words."""
    return error_of(end) or str(outermost(end).get("type") or "an error")
