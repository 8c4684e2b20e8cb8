"""Which failures are the same one: by check and shape, never by seed, number or time."""

from __future__ import annotations

import hashlib

from harness.model.exploration import FailureMark
from harness.model.finding import Finding, Judgement, Verdict
from harness.model.trace import Trace

__all__ = ["fingerprint_of", "marks_of"]

_DIGITS = 12


def marks_of(trace: Trace, judgement: Judgement) -> tuple[FailureMark, ...]:
    """Return the failures of one run: one of each fingerprint, the first, in their order."""
    marks: dict[str, FailureMark] = {}
    for finding in judgement.findings:
        if finding.verdict is Verdict.FAIL:
            name = fingerprint_of(finding, trace)
            marks.setdefault(name, FailureMark(fingerprint=name, finding=finding))
    return tuple(marks.values())


def fingerprint_of(finding: Finding, trace: Trace) -> str:
    """Return the fingerprint of a failure.

    The same check, by the same sentence, proved by events of the same kinds in the order in which
    each kind comes first. How many there are, when and of which call does not matter, so a smaller
    run of the same failure has the same fingerprint.
    """
    kinds = dict.fromkeys(trace.events[seq - 1].kind for seq in finding.events)
    text = "\n".join((finding.check, finding.requirement or "", *kinds))
    return "f-" + hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
