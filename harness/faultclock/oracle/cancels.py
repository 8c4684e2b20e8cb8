"""Cancels: the cancelled work ends, promptly and by name, and nothing else does.

A cancel goes down: of the turn, to its stage, its tools and its open dialogs; never up, never
sideways. It is a cooperative exit and no error, so the audit trail has it as what it is. That
nothing new begins after it is what the model's ordering rules say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from faultclock.model.duration import format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import CancellationRules, split
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.stops import killed_by
from faultclock.oracle.turn_facts import Execution

__all__ = ["CHECKS"]

#: What went wrong, and the events that show it.
_Fault = tuple[str, tuple[int, ...]]


#: What the world may tell a turn, so that it ends by itself.
_ARRIVALS = (
    "net.connect_failed",
    "net.delivered",
    "net.eof",
    "net.reset",
    "tool.replied",
    "tool.raised",
    "store.answered",
    "interaction.answered",
)


#: What a turn begins: an execution, a question, a request.
_BEGINNINGS = ("tool.called", "interaction.shown", "http.request")


def _outcome(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing was cancelled while it ran")
    rules = model.cancellation
    if rules is None:
        yield otherwise("the error model says nothing of cancels")
        return
    for cancel in _first_requests(history):
        scope = str(cancel.scope)
        requirements = also(model, f"cancel.outcome.{scope}")
        if not requirements:
            continue
        faults = (
            _judge_tool(history, rules, cancel)
            if scope == "tool"
            else _judge_turn(history, model, rules, cancel)
        )
        for expected, call, fault in faults:
            yield held(*requirements)
            if fault is None:
                continue
            yield broken(
                requirements,
                call=call,
                expected=f"after the cancel of the {scope}: {expected}",
                observed=fault[0],
                events=(cancel.seq, *fault[1]),
                hint="Does every wait end when the signal comes?",
            )
    yield from _judge_begun(history, model)
    yield from _judge_dismissals(history, model, rules)


def _judge_begun(history: History, model: ErrorModel) -> Verdicts:
    """Judge that nothing new begins for a turn when its cancel has had its time."""
    requirements = also(model, "cancel.begun")
    cancels = _first_requests(history) if requirements else ()
    for cancel in cancels:
        if cancel.scope not in ("turn", "session"):
            continue
        due_ns = _due_ns(history, model, cancel)
        for call in _open_turns(history, cancel):
            yield held(*requirements)
            late = [
                event
                for event in history.of(*_BEGINNINGS)
                if event.call == call.id and event.at_ns > due_ns
            ]
            if not late:
                continue
            after = format_duration(late[0].at_ns - cancel.at_ns)
            yield broken(
                requirements,
                call=call.id,
                expected="the cancelled turn starts nothing new",
                observed=f"{late[0].kind}, {after} after the cancel",
                events=(cancel.seq, *(event.seq for event in late[:3])),
                hint="Look at the signal before each step, and not only in a wait.",
            )


def _judge_dismissals(history: History, model: ErrorModel, rules: CancellationRules) -> Verdicts:
    """Judge that a turn whose dialog the person closes ends there, as cancelled."""
    requirements = also(model, "cancel.outcome.dismissed")
    if rules.turn is None:
        # To close a dialog is a denial for some, and a cancel for others.
        return
    for event in history.of("interaction.answered"):
        payload = event.payload
        call = history.call(None if payload.get("call") is None else str(payload["call"]))
        dismissed = payload.get("answer") == "dismissed" and bool(payload.get("accepted"))
        if call is None or not dismissed or not call.is_turn or call.stop is not event:
            continue
        due_ns = event.at_ns + rules.within + _round_trip_ns(history)
        yield held(*requirements)
        fault = None if call.crashed else _turn_fault(history, call, event, rules.turn, due_ns)
        if fault is None:
            continue
        yield broken(
            requirements,
            call=call.id,
            expected=f"the person has closed the dialog: the turn ends with {rules.turn}",
            observed=fault[0],
            events=(event.seq, *fault[1]),
            hint="A closed dialog is not a denial: it cancels the turn.",
        )


def _first_requests(history: History) -> Iterator[TraceEvent]:
    # To cancel again changes nothing, so it is the first that counts. What a model says of turns
    # and tools is not about a call of an adapter.
    return (
        event
        for event in history.of("cancel.requested")
        if event.payload.get("n", 1) == 1 and event.scope != "call"
    )


_Judged = tuple[str, str | None, _Fault | None]


def _judge_turn(
    history: History, model: ErrorModel, rules: CancellationRules, cancel: TraceEvent
) -> Iterator[_Judged]:
    scope = str(cancel.scope)
    pair = {"session": rules.session, "turn": rules.turn, "stage": rules.stage}[scope]
    due_ns = _due_ns(history, model, cancel)
    for call in _open_turns(history, cancel):
        if _is_done(history, call, cancel, due_ns) or (
            scope == "stage" and not _in_stage(history, call, cancel)
        ):
            continue
        named = "" if pair is None else f" with {pair}"
        expected = f"the turn ends{named} by {format_duration(due_ns)}"
        yield expected, call.id, _turn_fault(history, call, cancel, pair, due_ns)


def _life_of(event: TraceEvent) -> int:
    return event.life


def _open_turns(history: History, cancel: TraceEvent) -> Iterator[Call]:
    for call in history.calls:
        begun = call.is_turn and call.life == _life_of(cancel) and call.start.seq < cancel.seq
        ended = call.end is not None and call.end.seq < cancel.seq
        if begun and not ended and call.crashed is None:
            yield call


def _due_ns(history: History, model: ErrorModel, cancel: TraceEvent) -> int:
    """Return by when a turn that is cancelled has to have ended."""
    rules = model.cancellation
    within_ns = 0 if rules is None else rules.within
    return cancel.at_ns + within_ns + _round_trip_ns(history)


def _round_trip_ns(history: History) -> int:
    """Return how long the network takes at most, there and back."""
    network = history.trace.header.scenario.provider
    return 2 * (network.latency + network.jitter)


def _is_done(history: History, call: Call, cancel: TraceEvent, due_ns: int) -> bool:
    """Return whether the turn had its last answer, so that only saving it was left.

    Then it ends by `due_ns`, or as soon as the store lets it. It may also have come to its own end
    at the very instant of the cancel, when something else arrived in that instant.
    """
    last = call.attempts[-1] if call.attempts else None
    end = call.end
    if last is not None and last.outcome == "ok" and not last.tool_calls:
        prompt = end is not None and end.at_ns <= due_ns
        answered = last.known_ns is not None and last.known_ns <= cancel.at_ns
        return answered and (prompt or _is_saving(history, call, cancel))
    if end is None or end.at_ns != cancel.at_ns:
        return False
    return any(
        event.at_ns == cancel.at_ns and event.call in (call.id, None)
        for event in history.of(*_ARRIVALS)
    )


def _is_saving(history: History, call: Call, cancel: TraceEvent) -> bool:
    """Return whether the store was asked for the turn after the cancel, or had not answered."""
    return any(
        event.seq > cancel.seq and event.call == call.id
        for event in history.of("store.asked", "store.answered")
    )


def _in_stage(history: History, call: Call, cancel: TraceEvent) -> bool:
    target = cancel.target
    return any(
        visit.call == call.id
        and target in (None, visit.stage)
        and visit.tries[0].begun.seq < cancel.seq
        and (visit.left is None or visit.left.seq > cancel.seq)
        for visit in history.stage_visits
    )


def _turn_fault(
    history: History, call: Call, cancel: TraceEvent, pair: str | None, due_ns: int
) -> _Fault | None:
    end = call.end
    if end is None:
        return "it never ended", ()
    if call.returned and pair is not None:
        return "it returned, as if nothing had been said", (end.seq,)
    if end.at_ns > due_ns:
        late = format_duration(end.at_ns - cancel.at_ns)
        return f"it ended only {late} after the cancel", (end.seq,)
    chain: list[Any] = list(chain_of(end))
    named = {found for found in (typed(origin(chain)), typed(next(iter(chain), None))) if found}
    if pair is not None and split(pair) not in named:
        said = " and ".join("/".join(item) for item in sorted(named)) or "an untyped error"
        return f"it ended with {said}", (end.seq,)
    return _left_running(history, call, cancel, due_ns)


def _left_running(history: History, call: Call, cancel: TraceEvent, due_ns: int) -> _Fault | None:
    """Return what the cancel did not reach: a tool or a dialog of the turn."""
    if killed_by(history.trace, _life_of(cancel), due_ns):
        return None
    for execution in _running(history, cancel):
        if execution.call == call.id and not _stopped(history, execution, due_ns):
            return f"{execution.tool} ({execution.tool_call}) went on", execution.events
    for prompt in history.prompts:
        opened = prompt.call == call.id and prompt.shown.seq < cancel.seq
        if not opened or (prompt.settled is not None and prompt.settled.seq < cancel.seq):
            continue
        if prompt.settled is None or prompt.settled.at_ns > due_ns:
            return f"the request {prompt.id} stayed open", (prompt.shown.seq,)
    return None


def _running(history: History, cancel: TraceEvent) -> Iterator[Execution]:
    for execution in history.executions:
        ended = execution.end is not None and execution.end.seq < cancel.seq
        if execution.life == _life_of(cancel) and execution.called.seq < cancel.seq and not ended:
            yield execution


def _stopped(history: History, execution: Execution, due_ns: int) -> bool:
    script = history.tool_scripts.get(execution.tool)
    if script is not None and script.on_cancel == "goes_on":
        return True
    # One that came to its own end in that time needed no stop.
    return execution.end is not None and execution.end.at_ns <= due_ns


# ---------------------------------------------------------------------- one tool


def _judge_tool(
    history: History, rules: CancellationRules, cancel: TraceEvent
) -> Iterator[_Judged]:
    target = cancel.target
    due_ns = cancel.at_ns + rules.within
    if killed_by(history.trace, _life_of(cancel), due_ns):
        return
    running = list(_running(history, cancel))
    hit = [item for item in running if target in (None, item.tool, item.tool_call)]
    for execution in hit:
        stopped = _stopped(history, execution, due_ns)
        fault = None if stopped else ("it went on", execution.events)
        yield f"{execution.tool} ({execution.tool_call}) stops", execution.call, fault
    if not hit or rules.tool is None:
        # Whether a cancel of one tool ends its turn as well, runtimes differ on.
        return
    for sibling in running:
        if sibling in hit:
            continue
        name = f"{sibling.tool} ({sibling.tool_call})"
        yield f"{name} goes on", sibling.call, _sibling_fault(history, sibling, cancel)
    call = history.call(hit[0].call)
    if call is not None and call.raised and call.stop is None and call.end is not None:
        named = typed(origin(chain_of(call.end)))
        went_up = named is not None and named[0] == split(rules.tool)[0]
        fault = ("it ended with " + "/".join(named), (call.end.seq,)) if went_up and named else None
        yield "the turn goes on", call.id, fault


def _sibling_fault(history: History, sibling: Execution, cancel: TraceEvent) -> _Fault | None:
    end = sibling.end
    if end is None or end.kind != "tool.stopped":
        return None
    script = history.tool_scripts.get(sibling.tool)
    timed_out = script is not None and end.at_ns >= sibling.called.at_ns + script.timeout - SLACK_NS
    call = history.call(sibling.call)
    if timed_out or (call is not None and call.stop is not None and call.stop.seq <= end.seq):
        return None
    others = [
        event
        for event in history.of("cancel.requested")
        if event.seq != cancel.seq
        and event.cancel != cancel.cancel
        and event.target in (None, sibling.tool, sibling.tool_call)
    ]
    return None if others else ("it was stopped, too", sibling.events)


# ---------------------------------------------------------------------- audit


def _audited(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "cancel.audited")
    yield otherwise("nothing was cancelled while it ran")
    if "audit" not in history.trace.header.subject.declares:
        yield otherwise("the subject's binding does not declare 'audit'")
        return
    rules = model.cancellation
    if rules is None or rules.turn is None:
        yield otherwise("the error model says nothing of cancels")
        return
    class_name = split(rules.turn)[0]
    for cancel in _first_requests(history):
        for call in _hit_calls(history, model, cancel):
            yield held(*requirements)
            fault = _audit_fault(history, call, cancel, class_name)
            if fault is not None:
                yield broken(
                    requirements,
                    call=call.id,
                    expected="the audit trail has the cancel as a cancel, and not as an error",
                    observed=fault[0],
                    events=(cancel.seq, *fault[1]),
                    hint="A cancel is a cooperative exit: audit it, and not as a failure.",
                )


def _hit_calls(history: History, model: ErrorModel, cancel: TraceEvent) -> Iterator[Call]:
    if cancel.scope == "tool":
        target = cancel.target
        hit = [
            item
            for item in _running(history, cancel)
            if target in (None, item.tool, item.tool_call)
        ]
        calls = [history.call(item.call) for item in hit if item.end is not None]
    else:
        due_ns = _due_ns(history, model, cancel)
        calls = [
            call
            for call in _open_turns(history, cancel)
            if call.raised and not _is_done(history, call, cancel, due_ns)
        ]
    yield from {call.id: call for call in calls if call is not None}.values()


def _audit_fault(
    history: History, call: Call, cancel: TraceEvent, class_name: str
) -> _Fault | None:
    """Return what is wrong with the audit trail of a cancel.

    That a turn which ended as cancelled has a record at all is what the ordering rules say.
    """
    of_tool = cancel.scope == "tool"
    said = False
    for event in history.of("declared.audit", "declared.audit_event"):
        if event.seq < cancel.seq or event.call not in (call.id, None):
            continue
        if event.kind == "declared.audit_event":
            fields = event.fields or {}
            said |= event.name == class_name
            said |= fields.get("decision") == "cancelled"
            continue
        record = event.record or {}
        if record.get("class") == class_name:
            said = True
        elif not of_tool:
            return f"it has {record.get('class')}/{record.get('code')} instead", (event.seq,)
    return ("it has nothing of it", ()) if of_tool and not said else None


CHECKS = (
    Check(
        id="cancel.outcome",
        title="A cancel ends its target",
        says="What is cancelled ends soon, as cancelled, with all its parts and nothing else.",
        run=_outcome,
    ),
    Check(
        id="cancel.audited",
        title="A cancel is audited as one",
        says="The audit trail records a cancel as a cancel, and not as an error.",
        run=_audited,
    ),
)
