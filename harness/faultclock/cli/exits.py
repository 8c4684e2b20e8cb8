"""Exit codes. They are part of the interface: build servers branch on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from faultclock.model.report.checkup import CheckUp
    from faultclock.model.report.finding import Report

OK = 0
#: The subject does not conform, a gate is shut, something got worse, a replayed trace differs, or
#: the doctor found a fault.
NONCONFORMING = 1
#: The command line, a file or a subject is wrong.
USAGE = 2
#: Nothing failed, but at least one run proves nothing. Never green.
INCONCLUSIVE = 3
#: A bug of ours; the number is that of EX_SOFTWARE in sysexits.h.
INTERNAL = 70
#: As shells report a process that SIGINT ended.
INTERRUPTED = 130
#: As shells report a process that SIGPIPE ended: the reader of the output went away. Not 0, since
#: the verdict may have been in the part that was not read.
OUTPUT_CLOSED = 141


def exit_code_of(report: Report) -> int:
    """Return what a command exits with that made this report: a warning changes nothing.

    Beside a baseline, what is known does not count, and an entry that is stale does.
    """
    # Imported here: `--help` should not load the model.
    from faultclock.model.report.beside_baseline import standing
    from faultclock.model.report.finding import Verdict

    codes = {Verdict.FAIL: NONCONFORMING, Verdict.PASS: OK, Verdict.WARN: OK}
    return codes.get(standing(report), INCONCLUSIVE)


def exit_code_of_checkup(checkup: CheckUp, fail_on: str) -> int:
    """Return what `faultclock check` exits with.

    A problem that a baseline knows does not count, and an entry of it that is stale does.

    Args:
        fail_on: `serious`, `any` or `never`: which problems count.
    """
    from faultclock.model.trace.trace import CUT_SHORT

    new = [problem for problem in checkup.problems if not problem.known]
    gate = checkup.report.gate
    is_shut = gate is not None and not gate.is_open
    counted = any(problem.serious or fail_on == "any" for problem in new)
    if fail_on != "never" and (counted or is_shut):
        return NONCONFORMING
    if any(run.ending in CUT_SHORT for run in checkup.report.runs):
        # What such a run would have done next may have been anything.
        return INCONCLUSIVE
    shown = any(item.status in ("tested", "failed") for item in checkup.report.coverage)
    return OK if shown else INCONCLUSIVE
