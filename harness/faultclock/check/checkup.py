"""Puts a CheckUp together: what the target is, what it does, its problems, what was left out.

Pure: a report that was compared with a baseline gives its answer without another run.
"""

from __future__ import annotations

from collections.abc import Sequence

import faultclock
from faultclock.check.running import Runs
from faultclock.check.traits import traits_of
from faultclock.model.checkup import CheckUp, LeftOut, TakenFor
from faultclock.model.problems import problems_in, unproved_in

__all__ = ["checkup_of"]


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
        left_out=tuple(left_out),
        inconclusive=unproved_in(report),
        report=report,
        profile=runs.profile,
    )
