"""How exactly the times of a trace may be taken.

With `time_base: wall` the instants are those of a real clock, on a machine that does other things
as well. Anything may keep a subject waiting, so a wait that is too long proves nothing; one that is
too short proves what it always does, because time does not come back. So timing checks become lower
bounds, with an allowance for the clocks.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import MICROSECOND_NS, MILLISECOND_NS
from faultclock.model.trace.trace import WALL_EPOCH_NS, Trace

#: How much too short a measured wait may be: clocks and timers of operating systems have steps of
#: up to 4 ms (a 250 Hz tick), and an instant is noted just before or just after what it is of.
MEASUREMENT_NS = 5 * MILLISECOND_NS
#: How long a reader that has all it wants may take to close the connection. One that closes later
#: had waited for more.
REACTION_NS = 250 * MILLISECOND_NS


class Timing(Struct, frozen=True, kw_only=True):
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
#: How far an instant of virtual time may miss another one.
SLACK_NS = VIRTUAL.slack_ns


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
        late_ns=max((event.late_ns or 0 for event in trace.of_kind("clock.late")), default=0),
    )
