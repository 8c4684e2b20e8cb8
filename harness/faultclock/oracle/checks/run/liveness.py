"""Liveness: once the faults have stopped, everything ends, and later calls are answered again.

Safety is judged all along; this asks whether a subject ever finds out that the outage is over. A
breaker that never closes, a cool-down that only grows and a lock that a failure left behind all
look like patience until then. A breaker may refuse calls while it cools down, and has closed when
the time to settle is over. By when that is, is the scenario's word, as `settle`, and no sentence of
an error model: without it nothing is judged.
"""

from __future__ import annotations

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.vary import Settle
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Call

#: Id of the check.
SETTLES = "liveness.settles"


@check(
    SETTLES,
    title="Calls end after the faults are over",
    says="Where a scenario says that its faults stop, each call ends within the time to settle, and"
    " each that begins after that time is answered.",
    unjudged="the scenario does not say when its faults are over, as `settle`",
)
def settles(history: History, _model: ErrorModel) -> Verdicts:
    """Judge that everything comes to an end once the faults have stopped."""
    settle = history.trace.header.scenario.settle
    if settle is None:
        return
    yield otherwise("no call could settle: each one, or the run, was cut off")
    last_fault = _last_fault(history, settle)
    for call in history.calls:
        due_ns = max(settle.faults_end, call.start.at_ns) + settle.within
        if call.crashed is not None or (call.over is None and _is_unknown(history, call, due_ns)):
            continue
        yield held(None)
        fault = _fault(history, settle, call, due_ns)
        if fault is None:
            continue
        expected, observed = fault
        proof = (last_fault, call.start, call.over)
        yield broken(
            (None,),
            call=call.id,
            expected=expected,
            observed=observed,
            events=tuple(event.seq for event in proof if event is not None),
            hint="Is the state that a failure set, such as a cool-down or a breaker, ever reset?",
        )


def _last_fault(history: History, settle: Settle) -> TraceEvent | None:
    """Return the last fault before the time of peace."""
    before = [
        event
        for event in history.of("fault.fired")
        if event.actor == "provider" and event.at_ns < settle.faults_end
    ]
    return before[-1] if before else None


def _is_unknown(history: History, call: Call, due_ns: int) -> bool:
    """Return whether a call without an end may still have been about to come to one in time."""
    if call.left is not None:
        return True
    footer = history.trace.footer
    return footer.ending == "virtual_time_limit" and footer.ended_at_ns <= due_ns


def _fault(history: History, settle: Settle, call: Call, due_ns: int) -> tuple[str, str] | None:
    """Return what was expected and what happened; None where it settled."""
    peace, settled_ns = format_duration(settle.faults_end), settle.faults_end + settle.within
    within = format_duration(settle.within)
    ends = f"no fault fires from {peace} on: the call ends within {within}"
    ends += " of its start" if call.start.at_ns >= settle.faults_end else " of that"
    if call.over is None:
        return ends, "it never ended"
    if call.over.at_ns > due_ns:
        late = format_duration(call.over.at_ns - due_ns)
        return ends, f"it ended at {format_duration(call.over.at_ns)}, {late} too late"
    is_late = call.start.at_ns >= settled_ns
    if is_late and call.is_turn and call.raised and not _is_disturbed(history, call):
        began = format_duration(call.start.at_ns)
        expected = f"no fault fires from {peace} on: a call that begins at {began} is answered"
        return expected, "it ended with an error, and met no fault"
    return None


def _is_disturbed(history: History, call: Call) -> bool:
    """Return whether something else than the provider kept an answer from a call, or a limit."""
    if call.stop is not None:
        return True
    return any(event.call == call.id for event in history.of("fault.fired"))
