"""Evidence: whether a run shows anything at all. Nothing here is ever the subject's fault.

A trace that is not whole, or into which something real leaked, makes every other finding
inconclusive; a planned fault that was not met, or a call without a request, leaves them judged and
spoils the pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from faultclock.model.duration import SECOND_NS
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.cut_short import STILL_ANSWERED
from faultclock.model.scenario.rule import rules_in
from faultclock.model.scenario.scenario import ASKING_ROLES
from faultclock.model.scenario.service_host import would_answer_in_one_line
from faultclock.model.trace.trace import Trace, TraceEvent, TraceFooter
from faultclock.oracle.check import Verdicts, Violation, check, held, unproven
from faultclock.oracle.checks.run.unserved import unserved
from faultclock.oracle.checks.run.unused import contradicted, unused
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.chain import error_of, outermost
from faultclock.oracle.wire.stops import HANGS

#: What is said of each of CUT_SHORT.
_CUT_SHORT = {
    "watchdog": "the watchdog ended the run",
    "harness_error": "the run came to no result",
    "escape": "the subject left the simulation",
    "event_limit": "the run was ended at its limit of events",
    "log_cut": "the log may have been cut: --complete was not given",
}
#: Endings by a limit of ours: what the run shows until then, it shows.
_LIMITS = ("watchdog", "event_limit")
#: What a run has shown stands for these, whatever would have come next.
STANDS = frozenset({"retries.bounded"})
#: An answer of which something came this long before the end was still coming.
_STILL_NS = 60 * SECOND_NS
#: Roles whose process may be killed and started again.
_ROLES_WITH_LIVES = ("runtime", "session_store")
#: What the nodes of a workflow do, beside asking the model.
_NODES_ACT = ("node.called", "program.started", "program.missing", "tool.called")


@check(
    "evidence.whole",
    title="The trace is whole",
    says="The trace is complete and unchanged, and every act belongs to a call.",
)
def whole(history: History, _model: ErrorModel) -> Verdicts:
    """Judge that the trace is whole."""
    yield held(None)
    hint = _what_would_answer(history)
    for observed, events in _gaps(history):
        expected = "a whole trace, with every act attributed to a call"
        cause = _why_cut(history)
        cause = cause if cause and observed.startswith(cause) else ""
        yield unproven(expected, observed, *events, hint=hint, cause=cause)
        hint = ""


def _what_would_answer(history: History) -> str:
    """Return what answers the request that ended the run, as a person would write it."""
    for event in history.of("service.unanswered"):
        asked = f"{event.method} {str(event.target).partition('?')[0]}"
        answer = would_answer_in_one_line(str(event.host), asked)
        return f"--services FILE says what other hosts answer: {answer}"
    return ""


@once
def _gaps(history: History) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return what is missing in words, with the `seq` of the events that show it."""
    return tuple(_found_gaps(history))


def _found_gaps(history: History) -> Iterator[tuple[str, tuple[int, ...]]]:
    trace, footer = history.trace, history.trace.footer
    if cut := _why_cut(history):
        yield f"{cut}{_detail(footer)}", ()
    yield from ((problem, ()) for problem in _inconsistencies(history.recorded))
    if footer.ending == "completed" and trace.header.foreign is None:
        yield from ((gap, ()) for gap in _unasked(history))
    if history.observation.problems:
        yield "; ".join(history.observation.problems), history.observation.problem_events


def _why_cut(history: History) -> str:
    """Return why a run was ended by force; empty where it was not."""
    ending = history.trace.footer.ending
    if ending == "event_limit" and _is_still_answered(history):
        return STILL_ANSWERED
    return _CUT_SHORT.get(ending, "")


def _is_still_answered(history: History) -> bool:
    """Return whether a part of an answer came shortly before the end of the run."""
    since_ns = history.trace.footer.ended_at_ns - _STILL_NS
    ended = {event.exchange for event in history.of("http.exchange_ended")}
    connections = {
        event.connection for event in history.of("http.response") if event.exchange not in ended
    }
    return any(
        event.at_ns >= since_ns and event.connection in connections
        for event in history.of("net.delivered")
    )


def stands_for(history: History, spoilers: Iterable[Violation]) -> frozenset[str]:
    """Return the checks whose violations stand, although the run does not prove what held.

    Args:
        spoilers: what is against the evidence.
    """
    is_only_cut = all(violation.cause for violation in spoilers)
    return STANDS if is_only_cut and history.trace.footer.ending in _LIMITS else frozenset()


def _detail(footer: TraceFooter) -> str:
    return f": {'; '.join(footer.detail)}" if footer.detail else ""


def _unasked(history: History) -> Iterator[str]:
    """Yield in words what was asked for less, or more, than the scenario says."""
    tasks = history.trace.header.scenario.tasks
    if history.trace.header.scenario.role not in _ROLES_WITH_LIVES:
        started, wanted = len(history.calls), sum(task.copies for task in tasks)
        if started != wanted:
            yield f"{started} calls were started, the scenario has {wanted}"
        return
    # A crash may have a task asked again; one that could not be asked says so.
    asked = Counter(call.task for call in history.calls)
    asked.update(event.task or "" for event in history.of("call.skipped"))
    for task in tasks:
        if asked[task.id] < task.copies:
            yield f"the task {task.id} was asked {asked[task.id]} times, not {task.copies}"
    begun = {call.life for call in history.calls if call.do == "start"}
    for life in history.lives:
        # One that is killed at its first instant is asked for nothing.
        if life.number not in begun and life.crash is None:
            yield f"process {life.number} was not asked to start"


def _inconsistencies(trace: Trace) -> Iterator[str]:
    if trace.footer.events != len(trace.events):
        yield f"the footer counts {trace.footer.events} events, there are {len(trace.events)}"
    if trace.footer.digest != trace.digest:
        yield "the digest in the footer is not that of the trace"
    seq, at_ns = 0, 0
    for event in trace.events:
        if event.seq != seq + 1:
            yield f"event {event.seq} follows event {seq}"
            return
        if event.at_ns < at_ns:
            yield f"event {event.seq} is earlier than the one before it"
            return
        seq, at_ns = event.seq, event.at_ns


@check(
    "evidence.faults-met",
    title="The planned faults were met",
    says="Every fault that is not optional was met by a request.",
    unjudged="the scenario plans no fault",
)
def faults_met(history: History, _model: ErrorModel) -> Verdicts:
    """Judge that what was planned came about."""
    unmet = history.of("fault.unmet")
    # A subject that cannot be given what the scenario is about leaves that unmet, too.
    if not unmet and not any(True for _ in rules_in(history.trace.header.scenario)):
        return
    yield held(None)
    for event in history.of("cancel.unsupported"):
        yield unproven(
            f"the cancel {event.cancel!r} reaches the subject",
            "the runtime has no method `cancel`, so it was never asked",
            event.seq,
            hint="Give the runtime `cancel(scope, target)`.",
        )
    hint = "Did the subject stop earlier than the fault, or does its trigger never fit?"
    if _ignores_stream(history):
        hint = "The task asks for a stream, and no request does: pass on `request.stream`."
    for event in unmet:
        if not event.optional:
            yield unproven(f"the fault {event.fault!r} is met", _unmet(event), event.seq, hint=hint)


def _unmet(event: TraceEvent) -> str:
    """Return in words why a fault was not met, by what it was planned for."""
    of = event.of or "provider"
    match of.partition(" ")[0]:
        case "crash":
            return "the run did not reach the point of the kill, so nothing was killed"
        case "contract":
            return "the subject's contract has no such fixture, so the situation never came about"
        case "cancel":
            return "the run did not reach the point of the cancel, so nothing was cancelled"
        case "tool" | "node" | "program":
            return f"no execution of {of} met it"
        case "interactor":
            return f"no request to the {of} met it"
        case "store":
            return "no operation of the store met it"
        case "hook":
            return f"no call of {of} met it"
        case "telemetry" | "queue" as port:
            return f"nothing that was given to the {port} met it"
        case "disk":
            return "no act on the disk met it"
    return "no request met it, so the situation never came about"


def _ignores_stream(history: History) -> bool:
    wanted = any(task.stream for task in history.trace.header.scenario.tasks)
    requests = history.of("http.request")
    return wanted and bool(requests) and not any(event.stream for event in requests)


@check(
    "evidence.exercised",
    title="Every call reached the provider",
    says="Every call began and made an attempt, what was ready was used, what is attached was"
    " asked, and nothing was cut short after the last one.",
    unjudged="no call has ended",
)
def exercised(history: History, model: ErrorModel) -> Verdicts:
    """Judge that the run shows what its scenario is about."""
    if history.trace.footer.ending in HANGS:
        yield from _judge_cut(history)
    asks = history.trace.header.scenario.role in ASKING_ROLES
    for call in history.calls:
        if call.over is None:
            continue
        yield held(None)
        if asks and not call.attempts and not _has_a_reason(history, call):
            yield unproven(
                "the call asks the provider",
                f"it {_ended(call)} without a single attempt, so nothing was shown",
                call.start.seq,
                call.over.seq,
                call=call.id,
                hint="Is the client pointed at another host, or the answer cached?",
            )
    if history.is_runtime:
        yield from unused(history)
    yield from unserved(history, model)
    yield from contradicted(history)


def _ended(call: Call) -> str:
    """Return in words how a call that asked for nothing ended."""
    raised = outermost(call.end).get("type")
    return f"raised {raised}" if raised and call.raised else "ended"


def _has_a_reason(history: History, call: Call) -> bool:
    """Return whether a runtime's call may well have asked the provider for nothing."""
    if not history.is_runtime or call.end is None:
        return False
    services = (event for event in history.of("fault.fired") if event.actor == "service")
    if call.raised and any(event.seq < call.end.seq for event in services):
        # What it needs before it asks the model has failed, such as the list of its tools.
        return True
    if not call.is_turn or call.stop is not None:
        return True
    if any(event.call == call.id for event in history.of(*_NODES_ACT)):
        # A workflow need not have a node that asks the model.
        return True
    # The state machine may end a turn before anything acts, and a typed error says why.
    staged = any(visit.call == call.id for visit in history.stage_visits)
    return staged or (call.raised and error_of(call.end) is not None)


def _judge_cut(history: History) -> Verdicts:
    """Look for what a run that was ended early leaves unsaid, beside the call that hung."""
    footer = history.trace.footer
    tasks = history.trace.header.scenario.tasks
    names = {task.id for task in tasks}
    started = sum(call.task in names for call in history.calls)
    wanted = sum(task.copies for task in tasks)
    by = footer.ending.replace("_", " ")
    if started < wanted:
        observed = f"the run ended by {by} before {wanted - started} of {wanted} calls began"
        hint = "Is the scenario's limit of virtual time below the start of a task?"
    elif all(call.end is not None or call.crashed is not None for call in history.calls):
        observed = f"every call had ended, and the run still ended by {by}"
        hint = "Something that a call left running spins, or a limit of the scenario is too tight."
    else:
        return
    expected = "all calls begin, and nothing of them runs on"
    yield unproven(expected, f"{observed}{_detail(footer)}", hint=hint)


@check(
    "evidence.no-leaks",
    title="Nothing real leaked in",
    says="The subject reached nothing outside the simulation.",
)
def no_leaks(history: History, _model: ErrorModel) -> Verdicts:
    """Judge that the subject stayed within the simulation."""
    yield held(None)
    seen: dict[tuple[str | None, str | None], list[int]] = {}
    for event in history.of("leak"):
        seen.setdefault((event.what, event.site), []).append(event.seq)
    for (what, site), events in seen.items():
        expected = "time, chance, network and threads come from the simulation alone"
        yield unproven(expected, f"{what} at {site}", *events[:10])


#: Checks whose violation makes all other findings of the run inconclusive.
SPOILERS = (whole, no_leaks)
SPOILING = tuple(item.id for item in SPOILERS)
