"""A difference is told from both sides alike, and what vanished is never better."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from faultclock.errors import InputError
from faultclock.history.gate.diff import difference
from faultclock.model.report.finding import (
    AttemptMark,
    CallReport,
    Report,
    RunReport,
    Verdict,
    WaitMark,
)
from faultclock.model.report.report_diff import Fact, ReportDiff
from faultclock.model.trace.trace import SubjectInfo
from tests.history.drawn import CHECKS, SCENARIOS, finding, report_of, reports, run

FAIL, PASS, WARN = Verdict.FAIL, Verdict.PASS, Verdict.WARN
INCONCLUSIVE, NOTHING = Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE
ONE, TWO, _ = SCENARIOS


def of(*verdicts: Verdict, seed: int = 0, scenario: str = ONE) -> RunReport:
    """Return a run with one finding for each verdict, of one sentence."""
    return run(scenario, *(finding(item, requirement="R-1") for item in verdicts), seed=seed)


def kinds(before: Report, after: Report) -> list[str]:
    """Return what the changes are called."""
    return [item.kind for item in difference(before, after).changes]


@pytest.mark.parametrize(
    ("before", "after", "kind", "verdict"),
    [
        (PASS, FAIL, "newly failing", "worse"),
        (WARN, FAIL, "newly failing", "worse"),
        (INCONCLUSIVE, FAIL, "newly failing", "worse"),
        (NOTHING, FAIL, "newly failing", "worse"),
        (FAIL, PASS, "fixed", "not worse"),
        (FAIL, WARN, "fixed", "not worse"),
        (PASS, WARN, "newly warning", "not worse"),
        (WARN, PASS, "no longer warning", "not worse"),
        (INCONCLUSIVE, PASS, "judged now", "not worse"),
        (NOTHING, WARN, "judged now", "not worse"),
        (FAIL, INCONCLUSIVE, "not judged any more", "unclear"),
        (PASS, INCONCLUSIVE, "not judged any more", "unclear"),
        (FAIL, NOTHING, "not judged any more", "unclear"),
        (NOTHING, INCONCLUSIVE, "newly inconclusive", "unclear"),
        (INCONCLUSIVE, NOTHING, "no longer inconclusive", "not worse"),
    ],
)
def test_each_change_of_a_verdict_has_a_name(
    before: Verdict, after: Verdict, kind: str, verdict: str
) -> None:
    """And says whether anything got worse, beside something that passes in both."""
    same = run(TWO, finding(PASS, CHECKS[1], requirement="R-2"))
    old = report_of([run(ONE, finding(before), finding(PASS, CHECKS[1], requirement="R-2")), same])
    new = report_of([run(ONE, finding(after), finding(PASS, CHECKS[1], requirement="R-2")), same])
    diff = difference(old, new)
    assert [item.kind for item in diff.changes] == [kind]
    assert diff.verdict == verdict


def test_what_does_not_apply_any_more_is_judged_elsewhere() -> None:
    """A call that is mended raises no error, so there is no error to judge: nothing is lost."""
    other = of(PASS, scenario=TWO)
    passes = finding(PASS, CHECKS[1], requirement="R-2")
    before = report_of([run(ONE, finding(FAIL, requirement="R-1"), passes), other])
    after = report_of([run(ONE, finding(NOTHING), passes), other])
    diff = difference(before, after)
    assert [item.kind for item in diff.changes] == ["does not apply any more"]
    assert diff.verdict == "not worse"


def test_a_failure_that_cites_no_sentence_is_fixed_once_the_check_passes() -> None:
    """What passes does cite one."""
    diff = difference(report_of([run(ONE, finding(FAIL))]), report_of([of(PASS)]))
    assert {item.kind for item in diff.changes} == {"fixed", "judged now"}
    assert diff.verdict == "not worse"


def test_seeds_with_one_change_are_told_together() -> None:
    """With what was observed."""
    old = report_of([of(PASS, seed=seed) for seed in range(3)])
    new = [run(ONE, finding(FAIL, requirement="R-1", observed="too soon"), seed=n) for n in (0, 2)]
    (change,) = difference(old, report_of([*new, of(PASS, seed=1)])).changes
    assert (change.seeds, change.said) == ((0, 2), "too soon")


def test_a_vanished_scenario_is_never_better() -> None:
    """Not even one that failed."""
    old, new = report_of([of(FAIL), of(PASS, scenario=TWO)]), report_of([of(PASS, scenario=TWO)])
    diff = difference(old, new)
    assert (diff.verdict, diff.changes) == ("unclear", ())
    (gone,) = diff.runs
    assert (gone.scenario, gone.before, gone.after, gone.whole) == (ONE, FAIL, None, True)


def test_a_failing_seed_that_is_not_run_any_more_is_not_fixed() -> None:
    """The seeds that passed before pass still, and that is all that is known."""
    old = report_of([of(PASS, seed=0), of(FAIL, seed=1)])
    diff = difference(old, report_of([of(PASS, seed=0)]))
    assert (diff.verdict, diff.changes) == ("unclear", ())
    assert (diff.runs[0].seeds, diff.runs[0].whole) == ((1,), False)


@pytest.mark.parametrize(("verdict", "said"), [(FAIL, "worse"), (PASS, "not worse")])
def test_a_new_scenario_is_worse_where_it_fails(verdict: Verdict, said: str) -> None:
    """Something fails that nobody knew of."""
    diff = difference(report_of([of(PASS)]), report_of([of(PASS), of(verdict, scenario=TWO)]))
    assert (diff.verdict, diff.runs[0].after) == (said, verdict)


def test_a_verdict_over_seeds_is_compared_as_such() -> None:
    """It has no seed."""
    over = [finding(item, CHECKS[1], scenario=ONE) for item in (PASS, FAIL)]
    diff = difference(report_of([of(PASS)], over[:1]), report_of([of(PASS)], over[1:]))
    assert (diff.verdict, diff.changes[0].seeds) == ("worse", ())


def test_crash_points_are_compared_as_one() -> None:
    """An event more moves them all."""
    old, new = (
        [run(ONE, finding(item), variant=f"crash after event {n}", crash_point=n) for n in points]
        for item, points in ((FAIL, (3, 4)), (FAIL, (4, 5, 6)))
    )
    diff = difference(report_of(old), report_of(new))
    assert (diff.runs, diff.changes, diff.compared) == ((), (), 1)
    (still,) = diff.still_failing
    assert still.variant == "crash everywhere"
    assert Fact(what="crash points that fail", before="2", after="3") in still.facts


def measured(waited_ns: int, attempts: int, observed: str) -> Report:
    """Return a report of a run that waits before its retry, and fails."""
    marks = tuple(
        AttemptMark(call="ask/1", number=n + 1, started_ns=0, known_ns=0, ended="ok")
        for n in range(attempts)
    )
    call = CallReport(
        call="ask/1", task="ask", started_ns=0, ended_ns=1, outcome="returned", attempts=marks
    )
    wait = WaitMark(
        call="ask/1",
        retry_number=1,
        from_ns=0,
        observed_ns=waited_ns,
        low_ns=0,
        high_ns=None,
        legal=False,
        basis="Retry-After: 7",
    )
    found = finding(FAIL, requirement="R-1", observed=observed)
    return report_of([run(ONE, found, calls=(call,), waits=(wait,))])


def test_a_run_that_fails_in_another_way_is_told_with_its_figures() -> None:
    """How long it waited, how often it tried, and what the check says."""
    diff = difference(measured(1_500_000_000, 2, "waited 1.5s"), measured(0, 3, "waited 0s"))
    (still,) = diff.still_failing
    assert still.checks == (CHECKS[0],)
    assert [(item.what, item.before, item.after) for item in still.facts] == [
        ("attempts of ask/1", "2", "3"),
        ("wait of ask/1 before retry 1 (Retry-After: 7)", "1.5s", "0s"),
        ("backoff.wait (R-1)", "waited 1.5s", "waited 0s"),
    ]
    assert (diff.verdict, diff.failing) == ("not worse", 1)


def test_a_sentence_that_is_not_judged_any_more_makes_it_unclear() -> None:
    """All its runs are there, and none of them shows it."""
    old = report_of([run(ONE, finding(PASS, requirement="R-1"), finding(PASS, CHECKS[1]))])
    new = report_of([run(ONE, finding(NOTHING), finding(PASS, CHECKS[1], requirement="R-2"))])
    diff = difference(old, new)
    assert diff.verdict == "unclear"
    assert [(item.requirement, item.before, item.after) for item in diff.requirements] == [
        ("R-1", "tested", "not exercised"),
        ("R-2", "not exercised", "tested"),
    ]


def test_what_the_runs_depend_on_is_told() -> None:
    """Versions, revision and readings; they are nobody's fault and explain much."""
    subject = SubjectInfo(
        id="s", role="provider_adapter", style="async", distributions={"lib": "2"}
    )
    changes = {"subject": subject, "model_revision": "2", "readings": {"quota": "terminal"}}
    diff = difference(report_of([of(PASS)]), report_of([of(PASS)], **changes))
    assert [(item.what, item.before, item.after) for item in diff.settings] == [
        ("revision of stud-cli", "1", "2"),
        ("version of lib", "", "2"),
        ("reading quota", "", "terminal"),
    ]


def test_reports_of_two_error_models_are_not_compared() -> None:
    """What one asks for, the other may forbid."""
    with pytest.raises(InputError, match="error model stud-cli, the other about afk"):
        difference(report_of([of(PASS)]), report_of([of(PASS)], model="afk"))


@settings(max_examples=50)
@given(reports())
def test_a_report_does_not_differ_from_itself(report: Report) -> None:
    """Where something is inconclusive, that is still nothing to be sure of."""
    diff = difference(report, report)
    assert diff.is_empty
    proved = report.verdict is not INCONCLUSIVE and not diff.inconclusive
    assert diff.verdict == ("not worse" if proved else "unclear")


@settings(max_examples=50)
@given(reports(), reports())
def test_the_way_back_is_the_same_difference(one: Report, other: Report) -> None:
    """What was before is after, in everything."""
    there, back = difference(one, other), difference(other, one)
    assert _facts(there) == {(*key, now, was) for *key, was, now in _facts(back)}


@settings(max_examples=50)
@given(reports(), reports())
def test_nothing_is_not_worse_that_fails_anew(one: Report, other: Report) -> None:
    """Whatever else changed."""
    failing = [
        {
            (item.scenario, item.seed, finding.check, finding.requirement)
            for item in report.runs
            for finding in item.findings
            if finding.verdict is FAIL and item.crash_point is None
        }
        for report in (one, other)
    ]
    if failing[1] - failing[0]:
        assert difference(one, other).verdict == "worse"


def _facts(diff: ReportDiff) -> set[tuple[object, ...]]:
    found: set[tuple[object, ...]] = set()
    for item in diff.changes:
        key = (item.scenario, item.variant, item.seeds, item.check, item.requirement)
        found.add((*key, item.before, item.after))
    found |= {(r.scenario, r.variant, r.seeds, r.whole, r.before, r.after) for r in diff.runs}
    found |= {(r.requirement, r.before, r.after) for r in diff.requirements}
    found |= {
        (s.scenario, s.variant, s.seed, fact.what, fact.before, fact.after)
        for s in diff.still_failing
        for fact in s.facts
    }
    return found
