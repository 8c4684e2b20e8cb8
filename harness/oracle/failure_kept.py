"""failures.kept: what somebody needs to look into a failure later is kept, as files."""

from __future__ import annotations

from fnmatch import fnmatchcase

from harness.model.failure_rules import KeptRule
from harness.oracle.check import Case, Check, Outcome, Violation
from harness.oracle.failure_course import end_call, final_failures, is_about
from harness.oracle.failure_fields import excerpt, faults_in
from harness.oracle.failures import Failure

__all__ = ["CHECK"]


def _kept(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing failed for good of which something must be kept")
    if not case.model.kept:
        outcome.reason = "the error model does not say what is kept of a failure"
    for failure in final_failures(case):
        for rule in case.model.kept:
            if is_about(case, rule, failure):
                _judge(case, failure, rule, outcome)
    return outcome


def _judge(case: Case, failure: Failure, rule: KeptRule, outcome: Outcome) -> None:
    call = case.call(failure.call)
    end = None if call is None else call.end
    saved = [
        event
        for event in case.trace.of_kind("archive.saved")
        if event.seq > failure.seq
        and (end is None or event.seq < end.seq)
        and event.payload.get("call") in (failure.call, None)
        and fnmatchcase(str(event.payload.get("name")), rule.file)
    ]
    faults = [faults_in(rule.fields, event.payload.get("json"), failure) for event in saved]
    if any(not found for found in faults):
        outcome.looked_at(rule.requirement)
        return
    if end is None or (failure.kind != "cancelled" and end_call(case, failure) is None):
        return
    outcome.looked_at(rule.requirement)
    expected, observed = "", "there is none"
    if saved:
        expected = f" in which {', '.join(faults[-1])}"
        kept = saved[-1].payload
        observed = f"{kept.get('name')} has {excerpt(kept.get('text') or '')}"
    outcome.violate(
        Violation(
            requirement=rule.requirement,
            call=failure.call,
            expected=f"a file {rule.file!r} is kept after {failure}{expected}",
            observed=observed,
            events=(*failure.events, *(event.seq for event in saved[-1:]), end.seq),
            hint="Save it in the path that gives up as well, before the turn ends.",
        )
    )


CHECK = Check(
    id="failures.kept",
    title="What is kept of a failure",
    says="The files that somebody needs to look into a failure are kept before the call ends.",
    run=_kept,
)
