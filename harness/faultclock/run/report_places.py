"""Which line of the user's own code a finding points at, by the notes of its run. Judges nothing.

A finding about a call that raised points at the line that the exception left, one about a wait at
the line that waited, one about a call that never ended at the line that still waits, and any other
about an attempt at the line that waited for its answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from faultclock.model.paths import ELSEWHERE
from faultclock.model.report.finding import Finding, Judgement, SourcePlace
from faultclock.model.trace.notes import Frame, RunNotes, WaitingPlace
from faultclock.model.trace.trace import Trace

#: Lines of output in a report: the first ones say how it began, the last ones what led here.
_FIRST_MAX, _LAST_MAX = 10, 50
#: Waits in a report, the longest ones; those that never ended are all there.
_WAITS_MAX = 40
#: A wait fills the time between two attempts if it takes more than this part of it.
_MOST = 0.5
#: How a call is over. A wait that is over is not where one hangs that is not.
_ENDS = ("call.returned", "call.raised", "call.crashed")
#: What a frame's file begins with where it is not below the working folder: see `Frame.file`.
_ELSEWHERE = (ELSEWHERE, "faultclock/subjects/")


def shown_notes(notes: RunNotes | None) -> RunNotes | None:
    """Return as much of the notes of a run as a report holds."""
    if notes is None:
        return None
    output, cut = notes.output, notes.output_cut
    if len(output) > _FIRST_MAX + _LAST_MAX:
        cut += len(output) - _FIRST_MAX - _LAST_MAX
        output = output[:_FIRST_MAX] + output[-_LAST_MAX:]
    longest = sorted(notes.waits, key=lambda wait: (not wait.hangs, -_length(wait)))[:_WAITS_MAX]
    waits = tuple(wait for wait in notes.waits if wait in longest)
    return notes.model_copy(update={"output": output, "output_cut": cut, "waits": waits})


def source_of(finding: Finding, trace: Trace, judgement: Judgement) -> SourcePlace | None:
    """Return the line that a finding points at; None where no noted line of the user's does."""
    notes = trace.notes
    if notes is None:
        return None
    raised = own_place(
        frame
        for error in notes.raised
        if finding.call in (None, error.call)
        for frame in error.frames
    )
    cited = set(finding.events)
    if raised is not None and any(event.seq in cited for event in trace.of_kind("call.raised")):
        return raised
    wait = _longest(_about_waits(finding, judgement), finding, notes.waits)
    if wait is not None and (place := own_place(wait.frames)) is not None:
        return place
    if raised is not None:
        return raised
    asked: WaitingPlace | None = None
    if finding.call is None or any(event.call == finding.call for event in trace.of_kind(*_ENDS)):
        asked = _longest(_of_attempts(finding, judgement), finding, notes.waits)
    hanging = (wait for wait in notes.waits if wait.hangs)
    return next(
        (
            place
            for wait in (*hanging, *([] if asked is None else [asked]))
            if None in (finding.call, wait.call) or finding.call == wait.call
            if (place := own_place(wait.frames)) is not None
        ),
        None,
    )


def own_place(frames: Iterable[Frame]) -> SourcePlace | None:
    """Return the innermost line of the user's own that lies below the working folder."""
    own = [item for item in frames if item.own and not item.file.startswith(_ELSEWHERE)]
    return SourcePlace(file=own[-1].file, line=own[-1].line) if own else None


def _about_waits(finding: Finding, judgement: Judgement) -> tuple[tuple[int, int], ...]:
    """Return the times between attempts that a finding is about: it cites what stands around."""
    cited = set(finding.events)
    return tuple(
        (before.known_ns, after.started_ns)
        for call in judgement.calls
        if finding.call in (None, call.call)
        for before, after in pairwise(call.attempts)
        if cited.intersection(before.events) and cited.intersection(after.events)
    )


def _of_attempts(finding: Finding, judgement: Judgement) -> tuple[tuple[int, int], ...]:
    """Return the times of the attempts that a finding cites."""
    cited = set(finding.events)
    return tuple(
        (attempt.started_ns, attempt.known_ns)
        for call in judgement.calls
        if finding.call in (None, call.call)
        for attempt in call.attempts
        if cited.intersection(attempt.events)
    )


def _longest(
    times: Iterable[tuple[int, int]], finding: Finding, waits: Sequence[WaitingPlace]
) -> WaitingPlace | None:
    """Return the longest wait of the finding's call that takes most of one of the times."""
    longest: WaitingPlace | None = None
    most_ns = 0
    for first_ns, last_ns in times:
        for wait in waits:
            ended_ns = last_ns if wait.until_ns is None else min(last_ns, wait.until_ns)
            within_ns = ended_ns - max(first_ns, wait.from_ns)
            if within_ns <= max(most_ns, _MOST * (last_ns - first_ns)):
                continue
            if finding.call in (None, wait.call) and own_place(wait.frames) is not None:
                longest, most_ns = wait, within_ns
    return longest


def _length(wait: WaitingPlace) -> int:
    return 0 if wait.until_ns is None else wait.until_ns - wait.from_ns
