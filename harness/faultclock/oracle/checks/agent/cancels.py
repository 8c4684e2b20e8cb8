"""Cancels: the cancelled work ends, promptly and by name, and nothing else does.

A cancel goes down: of the turn, to its stage, its tools and its open dialogs; never up, never
sideways. It is a cooperative exit and no error, so the audit trail has it as what it is. A person
who closes a dialog cancels the turn, where the model says how it ends then. That nothing new begins
after a cancel is what the model's ordering rules say, for models that have such rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from faultclock.model.duration import format_duration, format_roughly
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.role_rules import ExtensionRules, ToolRules
from faultclock.model.error_model.turn_rules import CancellationRules, split
from faultclock.model.trace.events import EVENTS, happened
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, also, check, otherwise, verdict
from faultclock.oracle.checks.roles.executions import said, tool_runs
from faultclock.oracle.checks.roles.extension_role import is_bare_cancel, walked
from faultclock.oracle.facts.history import History, aims_at
from faultclock.oracle.facts.turn_facts import Execution
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of, errors_of
from faultclock.oracle.wire.stops import NETWORK_ACTS, acts_after, is_dismissal, killed_by
from faultclock.oracle.wire.timing import SLACK_NS

#: What went wrong, empty for nothing, and the events that show it.
_Fault = tuple[str, tuple[int, ...]]
#: What is expected of a piece of work, the call that it is part of, and what is wrong with it.
_Judged = tuple[str, str | None, _Fault]
_RIGHT: _Fault = ("", ())
_UNENDED = "the turn never ended after its cancel"

#: What may reach a turn, so that it ends by itself.
_ARRIVALS = tuple(name for name, kind in EVENTS.items() if kind.arrives)
#: What is said of each expectation after the cancel of a tool.
_TOOL = "after the cancel of the tool: "
#: What a turn begins, by the rule that speaks of it.
_REQUESTS = ("http.request",)
_WORK = ("tool.called", "interaction.shown")


@check(
    "cancel.outcome",
    role="runtime",
    title="A cancel ends its target",
    says="What is cancelled ends soon, as cancelled, with all its parts and nothing else.",
    unjudged="nothing was cancelled while it ran",
)
def outcome(history: History, model: ErrorModel) -> Verdicts:
    """Judge how what is cancelled ends, and that it begins nothing more."""
    rules = model.cancellation
    if rules is None:
        yield otherwise("the error model says nothing of cancels")
        return
    for scopes, name, judge, hint in _ROWS:
        for scope, cancel in _stops(history, rules):
            requirements = also(model, name.format(scope)) if scope in scopes else ()
            unended = also(model, f"{name.format(scope)}.unended")
            for expected, call, fault in judge(history, rules, cancel) if requirements else ():
                observed, seqs = fault
                # A turn that never ends is worse than one that ends late.
                cited = (*unended, *requirements) if observed == _UNENDED else requirements
                events = (cancel.seq, *seqs)
                yield verdict(
                    cited, observed, call=call, expected=expected, events=events, hint=hint
                )


def _stops(history: History, rules: CancellationRules) -> Iterator[tuple[str, TraceEvent]]:
    """Yield what cancels work, with its scope: each cancel, and each dialog that was closed."""
    yield from ((str(event.scope), event) for event in _first_requests(history))
    # To close a dialog is a denial for some, and a cancel for others.
    closed = history.of("interaction.answered") if rules.turn is not None else ()
    yield from (("dismissed", event) for event in closed if is_dismissal(event))


def _first_requests(history: History) -> Iterator[TraceEvent]:
    # To cancel again changes nothing, so it is the first that counts. What a model says of turns
    # and tools is not about a call of an adapter.
    cancels = history.of("cancel.requested")
    return (event for event in cancels if event.n == 1 and event.scope != "call")


# ---------------------------------------------------------------------- turns


def _judge_turns(
    history: History, rules: CancellationRules, cancel: TraceEvent
) -> Iterator[_Judged]:
    """Judge that a cancelled turn ends in time and by name, with all that is part of it."""
    pair = {"session": rules.session, "turn": rules.turn, "stage": rules.stage}[str(cancel.scope)]
    due_ns = _due_ns(history, rules, cancel)
    ends = "the turn ends" if pair is None else f"the turn ends with {pair}"
    within = format_duration(due_ns - cancel.at_ns)
    expected = f"after the cancel of the {cancel.scope}: {ends} within {within}"
    for call in _open_turns(history, cancel):
        is_hit = cancel.scope != "stage" or _in_stage(history, call, cancel)
        if is_hit and not _is_done(history, call, cancel, due_ns):
            yield expected, call.id, _turn_fault(history, call, cancel, pair, due_ns)


def _judge_dismissed(
    history: History, rules: CancellationRules, closed: TraceEvent
) -> Iterator[_Judged]:
    """Judge that a turn whose dialog the person closes ends there, as cancelled."""
    call, due_ns = history.call(closed.call), _due_ns(history, rules, closed)
    if call is not None and call.is_turn and call.stop is closed:
        fault = _RIGHT if call.crashed else _turn_fault(history, call, closed, rules.turn, due_ns)
        yield f"the person has closed the dialog: the turn ends with {rules.turn}", call.id, fault


def _judge_begun(
    kinds: tuple[str, ...], history: History, rules: CancellationRules, cancel: TraceEvent
) -> Iterator[_Judged]:
    """Judge that nothing new begins for a turn when its cancel has had its time."""
    since_ns = _due_ns(history, rules, cancel) + 1
    for call in _open_turns(history, cancel):
        late = acts_after(history.of(*kinds), call.id, cancel, since_ns)[:3]
        observed = ""
        if late:
            after = format_roughly(late[0].at_ns - cancel.at_ns)
            observed = f"{happened(late[0])} {after} after the {cancel.scope} was cancelled"
        fault = observed, tuple(event.seq for event in late)
        yield "the cancelled turn starts nothing new", call.id, fault


def _open_turns(history: History, cancel: TraceEvent) -> Iterator[Call]:
    for call in history.calls:
        begun = call.is_turn and call.life == cancel.life and call.start.seq < cancel.seq
        ended = call.end is not None and call.end.seq < cancel.seq
        if begun and not ended and call.crashed is None:
            yield call


def _due_ns(history: History, rules: CancellationRules, cancel: TraceEvent) -> int:
    """Return by when a cancelled turn has to have ended: the network may take a round trip."""
    network = history.trace.header.scenario.provider
    return cancel.at_ns + rules.within + 2 * (network.latency + network.jitter)


def _is_done(history: History, call: Call, cancel: TraceEvent, due_ns: int) -> bool:
    """Return whether the turn had its last answer, so that only saving it was left.

    Then it ends by `due_ns`, or as soon as the store lets it. It may also have come to its own end
    at the very instant of the cancel, when something else arrived in that instant.
    """
    last = call.last
    end = call.end
    if last is not None and last.outcome == "ok" and not last.tool_calls:
        answered = last.known_ns is not None and last.known_ns <= cancel.at_ns
        in_time = end is not None and end.at_ns <= due_ns
        # The store was asked for the turn after the cancel, or had not answered.
        saving = history.of("store.asked", "store.answered")
        return answered and (in_time or bool(acts_after(saving, call.id, cancel)))
    if end is None or end.at_ns != cancel.at_ns:
        return False
    return any(
        event.at_ns == cancel.at_ns and event.call in (call.id, None)
        for event in history.of(*_ARRIVALS)
    )


def _in_stage(history: History, call: Call, cancel: TraceEvent) -> bool:
    return any(
        visit.call == call.id
        and cancel.target in (None, visit.stage)
        and visit.tries[0].begun.seq < cancel.seq
        and (visit.left is None or visit.left.seq > cancel.seq)
        for visit in history.stage_visits
    )


def _turn_fault(
    history: History, call: Call, cancel: TraceEvent, pair: str | None, due_ns: int
) -> _Fault:
    """Return what is wrong with the end of a turn, or what of it the cancel did not reach."""
    end = call.end
    if end is None:
        return _UNENDED, ()
    if call.returned and pair is not None:
        return "it returned, as if nothing had been said", (end.seq,)
    if end.at_ns > due_ns:
        late = format_roughly(end.at_ns - cancel.at_ns)
        return f"the turn ended only {late} after the cancel", (end.seq,)
    if pair is not None and pair not in errors_of(end):
        said = " and ".join(errors_of(end)) or "an untyped error"
        return f"it ended with {said}", (end.seq,)
    if killed_by(history.trace, cancel.life, due_ns):
        return _RIGHT
    for execution in _running(history, cancel):
        if execution.call == call.id and not _stopped(history, execution, due_ns):
            return f"{execution} went on", execution.events
    for prompt in history.prompts:
        over = prompt.settled
        in_time = over is not None and (over.seq < cancel.seq or over.at_ns <= due_ns)
        if prompt.call == call.id and prompt.shown.seq < cancel.seq and not in_time:
            return f"the request {prompt.id} stayed open", (prompt.shown.seq,)
    return _RIGHT


# ---------------------------------------------------------------------- one tool


def _judge_tools(
    history: History, rules: CancellationRules, cancel: TraceEvent
) -> Iterator[_Judged]:
    due_ns = cancel.at_ns + rules.within
    if killed_by(history.trace, cancel.life, due_ns):
        return
    running = list(_running(history, cancel))
    hit = [item for item in running if aims_at(cancel, item)]
    for execution in hit:
        stopped = _stopped(history, execution, due_ns)
        fault = _RIGHT if stopped else ("it went on", execution.events)
        yield f"{_TOOL}{execution} stops", execution.call, fault
    if not hit or rules.tool is None:
        # Whether a cancel of one tool ends its turn as well, runtimes differ on.
        return
    for sibling in (item for item in running if item not in hit):
        fault = _sibling_fault(history, sibling, cancel)
        yield f"{_TOOL}{sibling} goes on", sibling.call, fault
    call = history.call(hit[0].call)
    if call is not None and call.raised and call.stop is None and call.end is not None:
        named = error_of(call.end) or ""
        went_up = split(named)[0] == split(rules.tool)[0]
        fault = (f"it ended with {named}", (call.end.seq,)) if went_up else _RIGHT
        yield f"{_TOOL}the turn goes on", call.id, fault


def _running(history: History, cancel: TraceEvent) -> Iterator[Execution]:
    for execution in history.executions:
        ended = execution.end is not None and execution.end.seq < cancel.seq
        if execution.life == cancel.life and execution.called.seq < cancel.seq and not ended:
            yield execution


def _stopped(history: History, execution: Execution, due_ns: int) -> bool:
    script = history.tool_scripts.get(execution.tool)
    if script is not None and script.on_cancel == "goes_on":
        return True
    # One that came to its own end in that time needed no stop.
    return execution.end is not None and execution.end.at_ns <= due_ns


def _sibling_fault(history: History, sibling: Execution, cancel: TraceEvent) -> _Fault:
    """Return that a cancel stopped what it was not for, and nothing else did."""
    end = sibling.end
    if end is None or end.kind != "tool.stopped":
        return _RIGHT
    script = history.tool_scripts.get(sibling.tool)
    timed_out = script is not None and end.at_ns >= sibling.called.at_ns + script.timeout - SLACK_NS
    call = history.call(sibling.call)
    if timed_out or (call is not None and call.stop is not None and call.stop.seq <= end.seq):
        return _RIGHT
    others = any(
        aims_at(event, sibling) and event.seq != cancel.seq and event.cancel != cancel.cancel
        for event in history.of("cancel.requested")
    )
    return _RIGHT if others else ("it was stopped, too", sibling.events)


_ENDS = "Does every wait end when the signal comes?"
_BEFORE = "Look at the signal before each step, and not only in a wait."
#: What is judged of each scope: the name of the rule, the judge, and a hint.
_ROWS = (
    (("session", "turn", "stage"), "cancel.outcome.{}", _judge_turns, _ENDS),
    (("tool",), "cancel.outcome.{}", _judge_tools, _ENDS),
    (("session", "turn"), "cancel.begun.work", partial(_judge_begun, _WORK), _BEFORE),
    (("session", "turn"), "cancel.begun.request", partial(_judge_begun, _REQUESTS), _BEFORE),
    (
        ("dismissed",),
        "cancel.outcome.{}",
        _judge_dismissed,
        "A closed dialog is not a denial: it cancels the turn.",
    ),
)


# ---------------------------------------------------------------------- audit


@check(
    "cancel.audited",
    role="runtime",
    title="A cancel is audited as one",
    says="The audit trail records a cancel as a cancel, and not as an error.",
    unjudged="nothing was cancelled while it ran",
    declares=("audit",),
)
def audited(history: History, model: ErrorModel) -> Verdicts:
    """Judge what the audit trail has of a cancel."""
    rules = model.cancellation
    if rules is None or rules.turn is None:
        yield otherwise("the error model says nothing of cancels")
        return
    requirements = also(model, "cancel.audited")
    class_name = split(rules.turn)[0]
    for cancel in _first_requests(history):
        for call in _hit_calls(history, rules, cancel):
            observed, seqs = _audit_fault(history, call, cancel, class_name)
            yield verdict(
                requirements,
                observed,
                call=call.id,
                expected="the audit trail has the cancel as a cancel, and not as an error",
                events=(cancel.seq, *seqs),
                hint="A cancel is a cooperative exit: audit it, and not as a failure.",
            )


def _hit_calls(history: History, rules: CancellationRules, cancel: TraceEvent) -> list[Call]:
    """Return the turns that a cancel ended, or those of the executions that it hit."""
    if cancel.scope != "tool":
        due_ns = _due_ns(history, rules, cancel)
        turns = [call for call in _open_turns(history, cancel) if call.raised]
        return [call for call in turns if not _is_done(history, call, cancel, due_ns)]
    hit = [item for item in _running(history, cancel) if aims_at(cancel, item) and item.end]
    ids = dict.fromkeys(item.call for item in hit)
    return [call for id_ in ids if (call := history.call(id_)) is not None]


def _audit_fault(history: History, call: Call, cancel: TraceEvent, class_name: str) -> _Fault:
    """Return what is wrong with the audit trail of a cancel.

    That a turn which ended as cancelled has a record at all is what the ordering rules say.
    """
    later = [
        event
        for event in history.of("declared.audit", "declared.audit_event")
        if event.seq >= cancel.seq and event.call in (call.id, None)
    ]
    if cancel.scope == "tool":
        said = any(
            event.record.get("class") == class_name
            if event.kind == "declared.audit"
            else event.name == class_name or event.fields.get("decision") == "cancelled"
            for event in later
        )
        return _RIGHT if said else ("it has nothing of it", ())
    for event in later:
        if event.kind == "declared.audit" and event.record.get("class") != class_name:
            pair = f"{event.record.get('class')}/{event.record.get('code')}"
            return f"it has {pair} instead", (event.seq,)
    return _RIGHT


# ---------------------------------------------------------------------- of a tool or an extension


def calls_cancelled(history: History, model: ErrorModel) -> Iterator[TraceEvent]:
    """Yield `call.cancelled` for each cancelled call of a tool or an extension under test."""
    for run in () if (tool := model.tools) is None else tool_runs(history):
        if run.cancel is not None and tool is not None:
            other = tool.cancelled and (run.ok or run.pair not in (None, split(tool.cancelled)))
            wrong = said(run) if other else ""
            work = "asked its service again"
            yield _cancelled(history, run.call, run.cancel, tool, tool.cancelled, work, wrong)
    for step in () if (rules := model.extensions) is None else walked(history, model):
        if step.cancel is not None and rules is not None:
            named = rules.cancelled_class
            other = step.is_other(named) and not is_bare_cancel(step.call)
            wrong = step.said if named is not None and (step.call.returned or other) else ""
            yield _cancelled(history, step.call, step.cancel, rules, named, "acted", wrong)


def _cancelled(
    history: History,
    call: Call,
    cancel: TraceEvent,
    rules: ToolRules | ExtensionRules,
    named: str | None,
    work: str,
    wrong: str,
) -> TraceEvent:
    """Return how a cancelled call ended; `wrong` says what is wrong with an end in time."""
    end, within_ns = call.end, rules.stops_within
    # Where only the time counts, what blocks may take that time to look at the signal.
    since_ns = cancel.at_ns + (within_ns if named is None else 0)
    acts = acts_after(history.of(*NETWORK_ACTS), call.id, cancel, since_ns)[:3]
    if acts:
        wrong = f"it {work} after the cancel"
    elif end is None:
        wrong = "it never ended"
    elif end.at_ns > cancel.at_ns + within_ns:
        wrong = f"it went on for {format_duration(end.at_ns - cancel.at_ns)}"
    replies = (event for event in history.of("tool.replied") if event.call == call.id)
    shown = (cancel, *acts, call.start, *replies, *(() if end is None else (end,)))
    payload = {
        "call": call.id,
        "asked": f"{named or 'an end'} within {format_duration(within_ns)}",
        "right": not wrong,
        "said": wrong,
        "shown_by": tuple(event.seq for event in shown),
    }
    return TraceEvent(cancel.seq, cancel.at_ns, "oracle", "call.cancelled", payload)
