"""Runs a stored trace again and says whether every byte is the same."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from harness.model.tape import Chance
from harness.model.trace import Trace, trace_lines
from harness.run.suite import run_one
from harness.subjects.binding import Binding

__all__ = ["ReplayResult", "compare", "replay"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What a replay found.

    Attributes:
        identical: every line is the same, byte for byte.
        line_number: 1-based number of the first line that differs; None when identical. Line 1
            is the header: another version of Python, of the subject's libraries or of its file.
        recorded: that line as stored, or None where the stored trace is shorter.
        observed: that line as seen now, or None where this run is shorter.
        trace: the trace of this run.
    """

    identical: bool
    line_number: int | None
    recorded: str | None
    observed: str | None
    trace: Trace


def replay(recorded: Trace, binding: Binding, *, isolate: bool = True) -> ReplayResult:
    """Run the scenario and seed of `recorded` again with `binding`, and compare."""
    scenario = recorded.header.scenario
    header = recorded.header
    observed = run_one(
        scenario, binding, header.seed, isolate=isolate, chance=Chance(tape=header.tape)
    )
    return compare(recorded, observed)


def compare(recorded: Trace, observed: Trace) -> ReplayResult:
    """Return the first line in which two traces differ.

    A difference in the events is reported before one in the header: it is what a person looks
    for. The header's line is named when all events agree.
    """
    pairs = list(enumerate(zip_longest(trace_lines(recorded), trace_lines(observed)), start=1))
    differing = [(number, pair) for number, pair in pairs if pair[0] != pair[1]]
    if not differing:
        return ReplayResult(
            identical=True, line_number=None, recorded=None, observed=None, trace=observed
        )
    last = max(len(recorded.events), len(observed.events)) + 1
    events = [item for item in differing if 1 < item[0] <= last]
    number, (was, now) = (events or differing)[0]
    return ReplayResult(
        identical=False, line_number=number, recorded=was, observed=now, trace=observed
    )
