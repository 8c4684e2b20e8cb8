"""What happened in a run, in the order of time: its events, and beside them what it logged.

Connections that open and bytes that travel are left out and counted, unless a finding cites them:
a reader looks for the request, the fault, the answer and what the subject did then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from faultclock.model.report.finding import RunReport, Verdict
from faultclock.model.trace.events import ends_of, is_routine
from faultclock.render.notes_text import output_text

#: A run with more events shows those that a finding cites, then the earliest. One that a problem
#: leads to is read to the end, any other seldom.
EVENTS_MAX, EVENTS_MAX_ASIDE, EVENTS_MAX_PASSED = 60, 8, 6
#: Lines of output: the last ones, which are the nearest to the end.
_OUTPUT_MAX = 20
#: Kinds of events that come after all that was logged at the same instant.
_ENDS = frozenset({*ends_of("call.started"), *ends_of("process.started")})


class Moment(Struct, frozen=True, kw_only=True):
    """One line of what happened.

    Attributes:
        seq: of the event; None for a line of output.
        cited: whether a finding points at it.
    """

    seq: int | None
    at_ns: int
    lane: str
    text: str
    cited: bool = False


def moments_of(
    run: RunReport, cited: Collection[int], *, aside: bool
) -> tuple[tuple[Moment, ...], int]:
    """Return the lines of `run` in the order of time, and how many events are left out.

    Args:
        cited: events to show in any case: those that a finding on the page points at.
        aside: whether no problem leads to the run, so that it is seldom read to the end.
    """
    passed = run.verdict is Verdict.PASS
    most = EVENTS_MAX_PASSED if passed else EVENTS_MAX_ASIDE if aside else EVENTS_MAX
    room = most - sum(event.seq in cited for event in run.timeline)
    events: list[tuple[int, int, Moment]] = []
    ended_ns: int | None = None
    for event in run.timeline:
        is_cited = event.seq in cited
        if event.kind in _ENDS:
            ended_ns = event.at_ns
        if is_cited or (room > 0 and not is_routine(event.kind, event.payload)):
            room -= not is_cited
            moment = Moment(
                seq=event.seq,
                at_ns=event.at_ns,
                lane=event.lane,
                text=event.text,
                cited=is_cited,
            )
            events.append((event.at_ns, 2 if event.at_ns == ended_ns else 0, moment))
    left_out = len(run.timeline) - len(events) + run.timeline_cut
    lines = [] if passed else [(item.at_ns, 1, item) for item in _logged(run)]
    placed = sorted([*events, *lines], key=lambda item: item[:2])
    return tuple(moment for _, _, moment in placed), left_out


def _logged(run: RunReport) -> Iterator[Moment]:
    for line in run.notes.output[-_OUTPUT_MAX:] if run.notes is not None else ():
        text = output_text(line, timed=False)
        yield Moment(seq=None, at_ns=line.at_ns, lane="log", text=text)
