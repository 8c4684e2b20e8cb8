"""Real time: what a trace with `time_base: wall` can show, and with what allowance.

There the instants are those of a real clock, on a machine that does other things as well. A
subject may be kept waiting by anybody, so a wait that is too long proves nothing; one that is too
short proves what it always does, because time does not come back. So timing checks become lower
bounds, with an allowance for the clocks; what needs the exact instant, or the end of something
that the world did not see, is not applicable, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from faultclock.model.duration import MICROSECOND_NS, MILLISECOND_NS
from faultclock.model.error_model import ErrorModel
from faultclock.model.finding import Finding, Verdict
from faultclock.model.ordering import OrderingRule, resolved
from faultclock.model.trace import WALL_EPOCH_NS, Trace, TraceEvent

__all__ = [
    "MEASUREMENT_NS",
    "REACTION_NS",
    "VIRTUAL",
    "Timing",
    "as_lower_bound",
    "cannot_tell",
    "timing_of",
]

#: How much too short a measured wait may be: clocks and timers of operating systems have steps of
#: up to 4 ms (a 250 Hz tick), and an instant is noted just before or just after what it is of.
MEASUREMENT_NS = 5 * MILLISECOND_NS
#: How long a reader that has all it wants may take to close the connection. One that closes later
#: had waited for more.
REACTION_NS = 250 * MILLISECOND_NS

#: Ends of calls that the subject itself reported.
_TOLD_ENDS = frozenset({"call.returned", "call.raised"})
_ROLE = "provider_adapter"
_ORDERING = "ordering."
#: Checks of what came over the wire or of the trace itself: they need no exact instant.
_OF_EVIDENCE = frozenset({"evidence.whole", "evidence.faults-met", "evidence.exercised"})
#: Checks that have an upper bound in virtual time and none in real time.
_LOWER_BOUNDS = frozenset({"backoff.wait", "backoff.retry-after"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How exactly the times of a trace may be taken.

    Attributes:
        exact: whether a wait may be held against both ends of its interval.
        slack_ns: how far a wait may miss an end, at least the step of the timers that the subject's
            host has: such a timer rings up to a step early or late.
        reaction_ns: how long a reader that has all it wants may take to close.
        ahead_ns: how far time 0 is from that of a virtual trace, on the wall clock.
        late_ns: how late the world may have noticed what the subject did: a wait that begins with
            an act of the subject's own may be measured too short by that.
    """

    exact: bool
    slack_ns: int
    reaction_ns: int
    ahead_ns: int
    late_ns: int = 0


#: What float seconds may cost a subject that waits exactly: 600 s * 2 ** -53 is far below it.
VIRTUAL = Timing(exact=True, slack_ns=MICROSECOND_NS, reaction_ns=MICROSECOND_NS, ahead_ns=0)


def timing_of(trace: Trace) -> Timing:
    """Return how exactly the times of `trace` may be taken."""
    header = trace.header
    step_ns = header.subject.timer_granularity_ns
    if header.time_base == "virtual":
        return replace(VIRTUAL, slack_ns=max(VIRTUAL.slack_ns, step_ns)) if step_ns else VIRTUAL
    return Timing(
        exact=False,
        slack_ns=max(MEASUREMENT_NS, step_ns),
        reaction_ns=REACTION_NS,
        ahead_ns=header.epoch_ns - WALL_EPOCH_NS,
        late_ns=max(
            ((event.late_ns or 0) for event in trace.of_kind("clock.late")),
            default=0,
        ),
    )


def cannot_tell(check_id: str, model: ErrorModel, trace: Trace) -> str:
    """Return why a check says nothing of a trace in real time; empty when it can be judged."""
    if trace.header.time_base == "virtual" or check_id in _OF_EVIDENCE:
        return ""
    if trace.header.subject.role != _ROLE:
        return "in real time only provider adapters are judged: the rest of their world is missing"
    if check_id == "evidence.no-leaks":
        return "the run was in the real world: there was no simulation that could leak"
    if check_id == "backoff.jitter":
        return "the run was in real time, which spreads all waits: it needs the virtual clock"
    if check_id == "liveness.settles":
        return "it bounds a time, and the run was in real time: it needs the virtual clock"
    if check_id.startswith(_ORDERING):
        rule = next(rule for rule in model.ordering if rule.id == check_id[len(_ORDERING) :])
        return _of_order(rule, model, trace)
    return ""


def as_lower_bound(finding: Finding, trace: Trace) -> Finding:
    """Return a finding on `trace`; a pass in real time says that it is but half of one."""
    half = finding.verdict is Verdict.PASS and finding.check in _LOWER_BOUNDS
    if trace.header.time_base == "virtual" or not half:
        return finding
    observed = "no wait was too short; in real time a wait is never too long"
    return finding.model_copy(update={"observed": observed})


def _of_order(rule: OrderingRule, model: ErrorModel, trace: Trace) -> str:
    if (rule.within, rule.no_sooner) != (None, None):
        return "the rule bounds a time, and the run was in real time: it needs the virtual clock"
    moves = (move.event for move in rule.moves)
    refs = (rule.event, rule.other, rule.scope.after, rule.scope.before, *rule.steps, *moves)
    named = {
        kind
        for ref in refs
        if ref is not None
        for _, pattern in resolved(ref, model.events)
        for kind in pattern.kinds
    }
    if named & _TOLD_ENDS and any(_left(trace.events)):
        return "the log says that a call ended, but not how"
    return ""


def _left(events: Iterable[TraceEvent]) -> Iterable[TraceEvent]:
    return (event for event in events if event.kind == "call.left")
