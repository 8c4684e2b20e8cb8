"""What a kill is: a rule that a mutant breaks, by a FAIL or a WARN, and the subject does not."""

from __future__ import annotations

from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.report.kill_matrix import (
    broken_rules,
    kept_rules,
    killed_rules,
    unproven_rules,
)


def finding(check: str, requirement: str | None, verdict: Verdict) -> Finding:
    """Return a finding."""
    return Finding(check=check, requirement=requirement, verdict=verdict)


RIGHT = (
    finding("a", "R-1", Verdict.PASS),
    finding("a", "R-2", Verdict.PASS),
    finding("b", "R-1", Verdict.PASS),
    finding("c", None, Verdict.PASS),
    finding("d", "R-3", Verdict.NOT_APPLICABLE),
)


def test_a_rule_is_kept_by_a_pass_of_a_sentence_with_nothing_against_it() -> None:
    """The evidence itself is no rule, and one violation outweighs every pass."""
    assert kept_rules(RIGHT) == {("a", "R-1"), ("a", "R-2"), ("b", "R-1")}
    worse = (*RIGHT, finding("a", "R-1", Verdict.WARN))
    assert kept_rules(worse) == {("a", "R-2"), ("b", "R-1")}


def test_fail_and_warn_break_a_rule_and_inconclusive_does_not() -> None:
    """What proves nothing kills nothing."""
    wrong = (
        finding("a", "R-1", Verdict.FAIL),
        finding("b", "R-1", Verdict.WARN),
        finding("a", "R-2", Verdict.INCONCLUSIVE),
    )
    assert broken_rules(wrong) == {("a", "R-1"), ("b", "R-1")}
    assert killed_rules(broken_rules(RIGHT), wrong) == {("a", "R-1"), ("b", "R-1")}


def test_a_rule_that_the_subject_breaks_itself_is_not_killed() -> None:
    """And a violation that cites no sentence kills none; one that is judged only here does."""
    broken = broken_rules([finding("a", "R-1", Verdict.FAIL)])
    wrong = [finding(check, of, Verdict.FAIL) for check, of in (("a", "R-1"), ("c", None))]
    assert killed_rules(broken, wrong) == frozenset()
    assert killed_rules(broken, [finding("d", "R-3", Verdict.FAIL)]) == {("d", "R-3")}


def test_a_rule_that_a_finding_is_about_and_does_not_cite_is_unproven() -> None:
    """One that the subject does not keep is not, nor one that is broken by another finding."""
    kept = kept_rules(RIGHT)
    wrong = [finding("a", "R-1", Verdict.FAIL)]
    exercised = {("a", "R-1"), ("a", "R-2"), ("d", "R-3")}
    assert unproven_rules(kept, wrong, exercised) == {("a", "R-2")}


def test_a_rule_that_is_only_not_judged_any_more_is_not_unproven() -> None:
    """The check fails with another sentence, and its finding is not about this one."""
    kept = kept_rules(RIGHT)
    assert unproven_rules(kept, [finding("a", "R-1", Verdict.FAIL)], set()) == frozenset()
