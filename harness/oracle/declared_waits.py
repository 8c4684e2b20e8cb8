"""Waits that a log declares: where a system writes down what it will wait, that can be judged."""

from __future__ import annotations

from harness.model.duration import format_duration
from harness.model.trace import TraceEvent
from harness.oracle.check import Case, Check, Outcome, Violation
from harness.oracle.predict import SLACK_NS

__all__ = ["CHECKS"]


def _declared(case: Case) -> Outcome:
    outcome = Outcome(reason="nothing says how long it will wait before a retry")
    for event in case.trace.of_kind("declared.retry"):
        _judge(case, event, outcome)
    return outcome


def _judge(case: Case, event: TraceEvent, outcome: Outcome) -> None:
    said = event.payload
    pair, number, delay_ns = (
        (str(said["class"]), str(said["code"])),
        said["retry_number"],
        said["delay_ns"],
    )
    policy = case.model.policy_for(*pair)
    if policy is None or policy.requirements is None:
        outcome.reason = f"the document has no retry policy for {'/'.join(pair)}"
        return
    requirement = policy.requirements.wait
    if policy.attempts_from != "policy" or not isinstance(number, int) or number < 1:
        outcome.reason = "the log does not say which retry it is, or whose policy it follows"
        return
    outcome.looked_at(requirement)
    if number >= policy.attempts_max:
        outcome.looked_at(policy.requirements.attempts)
        outcome.violate(
            Violation(
                requirement=policy.requirements.attempts,
                call=str(said.get("call")),
                expected=f"at most {policy.attempts_max} attempts at {'/'.join(pair)}",
                observed=f"retry {number} was announced, which is attempt {number + 1}",
                events=(event.seq,),
            )
        )
        return
    legal = policy.interval(number)
    if delay_ns is None or delay_ns not in legal.widened(SLACK_NS):
        seen = "no wait" if delay_ns is None else f"a wait of {format_duration(delay_ns)}"
        outcome.violate(
            Violation(
                requirement=requirement,
                call=str(said.get("call")),
                expected=f"{legal} before retry {number} of {'/'.join(pair)}",
                observed=f"{seen} was announced",
                events=(event.seq,),
            )
        )


CHECKS = (
    Check(
        id="backoff.declared",
        title="Announced waits",
        says="A wait that a log announces before a retry is one that the policy allows.",
        run=_declared,
    ),
)
