"""Which runs were ended by force, and whether the subject is the reason."""

from __future__ import annotations

from faultclock.model.report.finding import RunReport
from faultclock.model.trace.trace import CUT_SHORT

#: Why a run was ended that shows no loop of the subject's: a stream may drip for hours.
STILL_ANSWERED = "it ended at Faultclock's own limit of events while the answer was still coming"


def was_cut_short(run: RunReport) -> bool:
    """Return whether a run was ended by force for what the subject did, or may have done."""
    still = any(item.cause == STILL_ANSWERED for item in run.findings)
    return run.ending in CUT_SHORT and not still
