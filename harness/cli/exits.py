"""Exit codes. They are part of the interface: build servers branch on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.model.finding import Report

__all__ = [
    "INCONCLUSIVE",
    "INTERNAL",
    "INTERRUPTED",
    "NONCONFORMING",
    "OK",
    "OUTPUT_CLOSED",
    "USAGE",
    "exit_code_of",
]

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
#: As shells report a process that SIGPIPE ended: whoever read the output went away. Not 0, since
#: the verdict may have been in the part that nobody read.
OUTPUT_CLOSED = 141


def exit_code_of(report: Report) -> int:
    """Return what a command exits with that made this report: a warning changes nothing.

    Beside a baseline, what is known does not count, and an entry that is stale does.
    """
    # Imported here: whoever only asks for help pays for no model.
    from harness.model.finding import Verdict
    from harness.model.standing import standing

    codes = {Verdict.FAIL: NONCONFORMING, Verdict.PASS: OK, Verdict.WARN: OK}
    return codes.get(standing(report), INCONCLUSIVE)
