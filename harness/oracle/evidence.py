"""Evidence: whether a run shows anything at all. Nothing here is ever the subject's fault.

A trace that is not whole, or into which something real leaked, makes every other finding
inconclusive; a planned fault that nobody met, or a call that asked nobody, leaves them judged and
spoils the pass.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.trace import Trace, trace_digest
from harness.oracle.check import Case, Check, Outcome, Violation

__all__ = ["CHECKS", "SPOILING"]

#: Endings by force or by our own fault: what the subject would have done next is not known.
_CUT_SHORT = {
    "watchdog": "the watchdog ended the run in real time",
    "harness_error": "Faultclock itself failed",
    "escape": "the subject left the simulation",
    "event_limit": "the run was ended at its limit of events",
}
#: Endings that are the subject's own doing, when a call is what did not end.
_HANGS = ("deadlock", "livelock", "virtual_time_limit")
#: Checks whose violation makes all other findings of the run inconclusive.
SPOILING = ("evidence.whole", "evidence.no-leaks")


def _whole(case: Case) -> Outcome:
    outcome = Outcome()
    outcome.looked_at(None)
    for observed, events in _gaps(case):
        outcome.violate(
            Violation(
                requirement=None,
                expected="a whole trace, with every act attributed to a call",
                observed=observed,
                events=events,
                inconclusive=True,
            )
        )
    return outcome


def _gaps(case: Case) -> Iterator[tuple[str, tuple[int, ...]]]:
    trace = case.trace
    footer = trace.footer
    if footer.ending in _CUT_SHORT:
        detail = f": {'; '.join(footer.detail)}" if footer.detail else ""
        yield f"{_CUT_SHORT[footer.ending]}{detail}", ()
    yield from ((problem, ()) for problem in _inconsistencies(trace))
    started = len(case.calls)
    wanted = sum(task.copies for task in trace.header.scenario.tasks)
    if footer.ending == "completed" and started != wanted:
        yield f"{started} calls were started, the scenario has {wanted}", ()
    if case.observation.problems:
        yield "; ".join(case.observation.problems), case.observation.problem_events


def _inconsistencies(trace: Trace) -> Iterator[str]:
    if trace.footer.events != len(trace.events):
        yield f"the footer counts {trace.footer.events} events, there are {len(trace.events)}"
    if trace.footer.digest != trace_digest(trace.header, trace.events):
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


def _faults_met(case: Case) -> Outcome:
    outcome = Outcome(reason="the scenario plans no fault")
    if not case.trace.header.scenario.provider.faults:
        return outcome
    outcome.looked_at(None)
    hint = "Did the subject stop earlier than the fault, or does its trigger never fit?"
    if _ignores_stream(case.trace):
        hint = "A stream was asked for, and no request asks for one: heed `request.stream`."
    for event in case.trace.of_kind("fault.unmet"):
        if event.payload.get("optional"):
            continue
        outcome.violate(
            Violation(
                requirement=None,
                expected=f"the fault {event.payload.get('fault')!r} is met",
                observed="no request met it, so the situation never came about",
                events=(event.seq,),
                hint=hint,
                inconclusive=True,
            )
        )
    return outcome


def _ignores_stream(trace: Trace) -> bool:
    wanted = any(task.stream for task in trace.header.scenario.tasks)
    requests = list(trace.of_kind("http.request"))
    return wanted and bool(requests) and not any(event.payload["stream"] for event in requests)


def _exercised(case: Case) -> Outcome:
    outcome = Outcome(reason="no call has ended")
    if case.trace.footer.ending in _HANGS:
        _judge_cut(case, outcome)
    for call in case.calls:
        if call.end is None:
            continue
        outcome.looked_at(None)
        if not call.attempts:
            outcome.violate(
                Violation(
                    requirement=None,
                    call=call.id,
                    expected="the call asks the provider",
                    observed="it ended without a single attempt, so nothing was shown",
                    events=(call.start.seq, call.end.seq),
                    hint="Is the client pointed at another host, or the answer cached?",
                    inconclusive=True,
                )
            )
    return outcome


def _judge_cut(case: Case, outcome: Outcome) -> None:
    """Look for what a run that was ended early leaves unsaid, beside the call that hung."""
    footer = case.trace.footer
    started = len(case.calls)
    wanted = sum(task.copies for task in case.trace.header.scenario.tasks)
    by = footer.ending.replace("_", " ")
    if started < wanted:
        observed = f"the run ended by {by} before {wanted - started} of {wanted} calls began"
        hint = "Is the scenario's limit of virtual time below the start of a task?"
    elif all(call.end is not None for call in case.calls):
        observed = f"every call had ended, and the run still ended by {by}"
        hint = "Something that a call left running spins, or a limit of the scenario is too tight."
    else:
        return
    detail = f": {'; '.join(footer.detail)}" if footer.detail else ""
    outcome.violate(
        Violation(
            requirement=None,
            expected="all calls begin, and what they leave behind comes to rest",
            observed=f"{observed}{detail}",
            hint=hint,
            inconclusive=True,
        )
    )


def _no_leaks(case: Case) -> Outcome:
    outcome = Outcome()
    outcome.looked_at(None)
    seen: dict[tuple[str, str], list[int]] = {}
    for event in case.trace.of_kind("leak"):
        what, site = str(event.payload.get("what")), str(event.payload.get("site"))
        seen.setdefault((what, site), []).append(event.seq)
    for (what, site), events in seen.items():
        outcome.violate(
            Violation(
                requirement=None,
                expected="time, chance, network and threads come from the simulation alone",
                observed=f"{what} at {site}",
                events=tuple(events[:10]),
                inconclusive=True,
            )
        )
    return outcome


CHECKS = (
    Check(
        id="evidence.whole",
        title="The trace is whole",
        says="The trace is complete and unchanged, and every act belongs to a call.",
        run=_whole,
    ),
    Check(
        id="evidence.faults-met",
        title="The planned faults were met",
        says="Every fault that is not optional was met by a request.",
        run=_faults_met,
    ),
    Check(
        id="evidence.exercised",
        title="Every call reached the provider",
        says="Every call began and made an attempt, and nothing was cut short after the last one.",
        run=_exercised,
    ),
    Check(
        id="evidence.no-leaks",
        title="Nothing real leaked in",
        says="The subject reached nothing outside the simulation.",
        run=_no_leaks,
    ),
)
