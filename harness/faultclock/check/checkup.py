"""Puts a CheckUp together: what the target is, what it does, its problems, what was left out.

Pure: a report that was compared with a baseline gives its answer without another run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import faultclock
from faultclock.check.running import Runs
from faultclock.check.traits import traits_of
from faultclock.model.report.checkup import CheckUp, LeftOut, TakenFor
from faultclock.model.report.finding import Report
from faultclock.model.report.problems import problems_in, unproved_in


def checkup_of(
    runs: Runs,
    *,
    taken_for: TakenFor,
    left_out: Sequence[LeftOut],
    streams: bool,
) -> CheckUp:
    """Return the answer.

    Args:
        runs: all that was run; its report may have been held against a baseline.
        streams: whether the target asks for streams.
    """
    report = runs.report
    return CheckUp(
        faultclock=faultclock.__version__,
        taken_for=taken_for,
        does=() if runs.profile is None else traits_of(runs.profile, streams=streams),
        problems=problems_in(report),
        left_out=(*left_out, *_not_run(report)),
        inconclusive=unproved_in(report),
        report=report,
        profile=runs.profile,
    )


def _not_run(report: Report) -> Iterator[LeftOut]:
    """Yield what was not run since too much of what was run before it did not end."""
    if report.not_reached:
        why = "not run, since earlier ones did not end: mend that first, and check again"
        yield LeftOut(what="the rest", why=why, scenarios=len(report.not_reached))
