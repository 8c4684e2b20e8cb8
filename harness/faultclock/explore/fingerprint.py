"""Which failures are the same one: by check and shape, never by seed, number or time."""

from __future__ import annotations

import hashlib

from faultclock.explore.goal import CHECK, raised_at
from faultclock.model.report.exploration import FailureMark
from faultclock.model.report.finding import Finding, Judgement, Verdict
from faultclock.model.trace.trace import Trace

_DIGITS = 12


def marks_of(trace: Trace, judgement: Judgement) -> tuple[FailureMark, ...]:
    """Return the failures of one run: one of each fingerprint, the first, in their order.

    In a search for an exception nothing but that exception is a failure.
    """
    marks: dict[str, FailureMark] = {}
    searched = any(finding.check == CHECK for finding in judgement.findings)
    for finding in judgement.findings:
        if finding.verdict is Verdict.FAIL and (finding.check == CHECK or not searched):
            name = fingerprint_of(finding, trace)
            marks.setdefault(name, FailureMark(fingerprint=name, finding=finding))
    return tuple(marks.values())


def fingerprint_of(finding: Finding, trace: Trace) -> str:
    """Return the fingerprint of a failure.

    The same check, by the same sentence, proved by events of the same kinds in the order in which
    each kind comes first. How many there are, when and of which call does not matter, so a smaller
    run of the same failure has the same fingerprint.

    An exception that is searched for is the same one if its class and its line are.
    """
    if finding.check == CHECK:
        return _named(CHECK, raised_at(finding, trace))
    kinds = dict.fromkeys(trace.events[seq - 1].kind for seq in finding.events)
    return _named(finding.check, finding.requirement or "", *kinds)


def _named(*parts: str) -> str:
    return "f-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_DIGITS]
