"""The list of runs and what it can be filtered by; the problems and where they lead."""

from __future__ import annotations

from faultclock.model.report.finding import Verdict
from faultclock.model.report.problems import problems_in
from faultclock.render.problem_list import make_problem_list
from faultclock.render.run_list import make_run_list
from faultclock.render.sections import make_sections
from faultclock.render.silences import Silences
from tests.check.samples import finding, run
from tests.check.samples import report as checked
from tests.render import sample_report as sample


def test_runs_are_grouped_by_verdict_and_only_passed_ones_are_folded() -> None:
    """What needs attention is open; a report in which all passes shows that at once."""
    groups = make_run_list(make_sections(sample.sdk_report())).groups
    assert [group.verdict for group in groups][:2] == [Verdict.FAIL, Verdict.INCONCLUSIVE]
    assert [group.is_open for group in groups] == [True, True, False, False, False]
    (passed,) = make_run_list(make_sections(sample.reference_report())).groups
    assert (passed.verdict, passed.is_open) == (Verdict.PASS, True)


def test_a_section_has_the_numbers_of_its_checks_and_exceptions() -> None:
    """The numbers are those of the lists that the filter offers, from 1 on."""
    sections = make_sections(sample.sdk_report())
    listed = make_run_list(sections)
    for section in sections:
        numbers = [int(number) for number in listed.check_numbers(section).split()]
        names = [listed.checks[number - 1] for number in numbers]
        assert names == [line.check for line in section.judged]
        raised = [int(number) for number in listed.exception_numbers(section).split()]
        assert [listed.exceptions[number - 1] for number in raised] == list(section.exceptions)
    assert listed.exceptions


def test_each_problem_leads_to_the_run_that_shows_it() -> None:
    """Two problems of one scenario draw the run of the worse one, or another scenario."""
    runs = (
        run("one", finding("T-CRASH-01", "boom"), seed=1),
        run("one", finding("T-RETRY-01", "again", id="F-2"), seed=0),
        run("two", finding("T-RETRY-01", "again", id="F-3"), seed=0, calls=2),
    )
    report = checked(*runs)
    shown = make_problem_list(report, problems_in(report))
    drawn = {section.anchor: section.shown for section in shown.sections}
    for item in shown.items:
        ids = {found.id for found in drawn[item.anchor].findings}
        assert ids & set(item.problem.findings)
    assert [shown.number(item.problem.id) for item in shown.items] == [1, 2]


def test_known_problems_come_last_and_are_counted_apart() -> None:
    """The first thing on the page is what is new."""
    report = checked(run("one", finding("T-CRASH-01", "a")), run("two", finding("T-RETRY-01", "b")))
    first, second = problems_in(report)
    known = make_problem_list(report, (first.model_copy(update={"known": True}), second))
    assert [item.problem.known for item in known.items] == [False, True]
    assert (known.new, known.has_known) == (1, True)
    assert known.worst is Verdict.FAIL


def test_of_many_problems_only_the_first_are_open() -> None:
    """As on the terminal: the worst in full, the others in one line each."""
    runs = [run(f"n{n}", finding("T-RETRY-01", f"does {chr(97 + n)} wrong")) for n in range(6)]
    report = checked(*runs)
    shown = make_problem_list(report, problems_in(report))
    assert [item.is_open for item in shown.items] == [True] * 3 + [False] * 3


def test_a_page_of_problems_holds_only_their_runs() -> None:
    """The page of a check draws what it tells of, and nothing else."""
    report = checked(run("one", finding("T-CRASH-01", "a")), run("two"))
    shown = make_problem_list(report, problems_in(report), only_theirs=True)
    assert [section.scenario for section in shown.sections] == ["tests/one"]


def test_reasons_are_numbered_once_and_cited_in_stretches() -> None:
    """Sixty checks of a hundred scenarios have a handful of reasons."""
    quiet = sample.retry_after()
    silent = [sample.silent(f"storage.{n}", f"reason {n}") for n in range(5)]
    one = quiet.model_copy(update={"findings": (*quiet.findings, *silent)})
    two = one.model_copy(
        update={"scenario": "x/y", "findings": (*quiet.findings, silent[0], *silent[2:])}
    )
    sections = make_sections(sample.report([one, two]))
    silences = Silences.of(sections)
    reasons = [reason for reason, _ in silences.items]
    assert len(reasons) == len(set(reasons))
    first = reasons.index("reason 0") + 1
    cited = {section.scenario: silences.numbers(section) for section in sections}
    assert cited[one.scenario].endswith(f"{first + 4}")
    assert f"{first + 2}-{first + 4}" in cited["x/y"]


def test_of_many_scenarios_those_that_passed_have_words_in_place_of_a_drawing() -> None:
    """A hundred drawings that are seldom looked at would be most of the page."""
    passed = (Verdict.PASS, False)
    few = {(item.verdict, item.is_drawn) for item in make_sections(sample.large_report(60))}
    many = make_sections(sample.large_report(61))
    assert passed not in few
    assert {item.is_drawn for item in many if item.verdict is Verdict.PASS} == {False}
    assert all(item.is_drawn for item in many if item.verdict is not Verdict.PASS)
    assert all("Call ask/1 made" in item.words for item in many if not item.is_drawn)
    wanted = next(item.shown for item in many if not item.is_drawn)
    again = make_sections(sample.large_report(61), drawn={wanted.scenario: wanted})
    assert next(item for item in again if item.scenario == wanted.scenario).is_drawn
