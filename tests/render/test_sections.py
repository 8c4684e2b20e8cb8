"""Sections, matrix and head: how runs and findings are folded."""

from __future__ import annotations

from harness.model.finding import Verdict
from harness.render.matrix import make_matrix
from harness.render.overview import make_overview
from harness.render.sections import EVENTS_MAX, EVENTS_MAX_PASSED, make_sections, safe_id
from harness.render.verdict_words import LOOKS, fold, group_of
from tests.render import sample_report as sample


def test_seeds_of_one_scenario_share_a_section() -> None:
    """Three seeds are one section that shows the worst of them."""
    runs = [sample.reference_six(0), sample.reference_six(1)]
    worse = runs[1].model_copy(update={"verdict": Verdict.FAIL, "seed": 9})
    (section,) = make_sections(sample.report([*runs, worse]))
    assert section.shown.seed == 9
    assert section.verdict is Verdict.FAIL
    assert [run.seed for run in section.runs] == [0, 1, 9]


def test_the_same_finding_of_many_calls_is_one_card() -> None:
    """Ten clients with one fault read as one fault, and the others are listed or counted."""
    (section,) = make_sections(sample.report([sample.crowd()]))
    (card,) = section.cards
    assert card.finding.call == "ask/5"
    assert len(card.others) + card.others_left_out == 9


def test_spoiled_evidence_is_one_card_that_names_the_checks_it_spoils() -> None:
    """One leak makes every check inconclusive: that is one thing to know, not a dozen."""
    leak = sample.silent("evidence.no-leaks", "os.fork at adapter.py:3")
    spoiled = [
        sample.silent(check, "evidence.no-leaks: os.fork at adapter.py:3")
        for check in ("backoff.wait", "ordering.call-ends-once")
    ]
    waited = spoiled[0].model_copy(update={"observed": "waited 463ms", "call": "ask/1"})
    unmet = sample.silent("evidence.faults-met", "the fault limited was never met")
    findings = tuple(
        item.model_copy(update={"verdict": Verdict.INCONCLUSIVE})
        for item in (waited, *spoiled, leak, unmet)
    )
    run = sample.retry_after().model_copy(
        update={"findings": findings, "verdict": Verdict.INCONCLUSIVE}
    )
    (section,) = make_sections(sample.report([run]))
    first, second = section.cards
    assert first.finding.check == "evidence.no-leaks"
    assert first.unjudged == ("backoff.wait", "ordering.call-ends-once")
    assert [(other.check, other.observed) for other in first.others] == [
        ("backoff.wait", "waited 463ms")
    ]
    assert (second.finding.check, second.unjudged) == ("evidence.faults-met", ())


def test_a_card_of_the_shown_run_cites_its_events() -> None:
    """The proof stands beside the claim."""
    (section,) = make_sections(sample.report([sample.quota_retried()]))
    (card,) = section.cards
    assert [event.seq for event in card.cited] == list(card.finding.events)
    assert card.cited_left_out == 0


def test_cited_events_stay_when_events_are_left_out() -> None:
    """A long trace is cut where nobody points, and the cut is counted."""
    run = sample.crowd()
    (section,) = make_sections(sample.report([run]))
    assert len(section.events) == EVENTS_MAX
    assert section.events_left_out == len(run.timeline) - EVENTS_MAX + run.timeline_cut
    shown = {event.seq for event in section.events}
    in_timeline = {event.seq for event in run.timeline}
    assert {35, 70, 350} & in_timeline <= shown


def test_a_run_that_passed_shows_fewer_events() -> None:
    """Nobody points at any of them, and the rest is counted."""
    run = sample.crowd().model_copy(update={"findings": (), "waits": (), "verdict": Verdict.PASS})
    (section,) = make_sections(sample.report([run]))
    assert [event.seq for event in section.events] == list(range(1, EVENTS_MAX_PASSED + 1))


def test_families_stay_together_in_the_order_of_their_first_run() -> None:
    """The matrix has one block per family, however the runs came in."""
    runs = [sample.retry_after(), sample.reset_twice(), sample.late_date()]
    matrix = make_matrix(make_sections(sample.report(runs)))
    assert [family.name for family in matrix.families] == ["rate-limits", "provider-transient"]
    assert [len(family.rows) for family in matrix.families] == [2, 1]


def test_a_group_that_nobody_knows_gets_a_column_of_its_own() -> None:
    """No finding is lost because its group is new."""
    run = sample.retry_after()
    run = run.model_copy(update={"findings": (*run.findings, sample.passed("storage.order"))})
    matrix = make_matrix(make_sections(sample.report([run])))
    assert matrix.groups[-1] == "storage"
    assert matrix.families[0].rows[0].cells[-1] is Verdict.PASS


def test_a_group_that_judged_nothing_anywhere_is_named_and_has_no_column() -> None:
    """A column of nothing hides the ones that say something; that it is missing is said."""
    run = sample.retry_after()
    run = run.model_copy(update={"findings": (*run.findings, sample.silent("storage.order", "x"))})
    matrix = make_matrix(make_sections(sample.report([run])))
    assert "storage" not in matrix.groups
    assert "storage" in matrix.silent


def test_runs_of_one_scenario_are_called_what_they_are() -> None:
    """Seeds differ by chance, variants by what happens in them."""
    run = sample.retry_after()
    seeds = [run, run.model_copy(update={"seed": 1})]
    variants = [run.model_copy(update={"variant": name}) for name in ("a", "b", "c")]
    assert make_sections(sample.report(seeds))[0].many == "2 seeds"
    assert make_sections(sample.report(variants))[0].many == "3 variants"


def test_a_cell_is_green_only_when_a_pass_is_among_its_findings() -> None:
    """Nothing judged is not a pass, and one failure outweighs every pass."""
    silent = sample.silent("backoff.wait", "no attempt failed")
    assert fold([]) is None
    assert fold([silent]) is Verdict.NOT_APPLICABLE
    assert fold([silent, sample.passed("backoff.wait")]) is Verdict.PASS
    inconclusive = silent.model_copy(update={"verdict": Verdict.INCONCLUSIVE})
    assert fold([sample.passed("backoff.wait"), inconclusive]) is Verdict.INCONCLUSIVE


def test_every_verdict_has_a_word_and_a_symbol_of_its_own() -> None:
    """Colour is never the only difference."""
    assert set(LOOKS) == set(Verdict)
    assert len({look.word for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.key for look in LOOKS.values()}) == len(LOOKS)


def test_the_head_points_to_the_check_that_fails_most() -> None:
    """The first sentence saves the reader the search."""
    report = sample.sdk_report()
    overview = make_overview(report, make_sections(report))
    assert overview.headline[0] == "does not conform to"
    assert overview.look_first.link == "rate-limits/no-header"
    assert "backoff.wait fails in 2 scenarios" in overview.look_first.after
    assert "1 run proved nothing, which is never counted as a pass" in overview.explains
    assert dict(overview.tallies) == {
        Verdict.FAIL: 5,
        Verdict.INCONCLUSIVE: 1,
        Verdict.WARN: 1,
        Verdict.PASS: 2,
        Verdict.NOT_APPLICABLE: 1,
    }


def test_the_head_of_an_empty_report_claims_nothing() -> None:
    """Nothing was run, so nothing is proved."""
    overview = make_overview(sample.empty_report(), ())
    assert overview.headline[0] == "is not proved to conform to"
    assert overview.explains == "Nothing was run, so nothing is proved."


def test_a_failure_across_seeds_is_pointed_to_when_every_run_passes() -> None:
    """A jitter that never varies fails although each run alone is legal."""
    failed = sample.sdk_report().seeds_findings[:1]
    report = sample.report([sample.retry_after()], seeds_findings=failed, verdict=Verdict.FAIL)
    overview = make_overview(report, make_sections(report))
    assert overview.look_first.anchor == "seeds"


def test_readings_tell_the_chosen_from_the_default() -> None:
    """The report says which reading was used, and what else could have been."""
    report = sample.sdk_report()
    first, second = make_overview(report, ()).readings
    assert (first.used, first.is_default) == ("six-attempts", True)
    assert (second.used, second.is_default) == ("fifty", False)
    assert [option.id for option in second.others] == ["twenty"]


def test_ids_are_safe_and_unique() -> None:
    """Two hostile names never share an anchor, and none can leave its attribute."""
    taken: set[str] = set()
    assert safe_id("s", "rate-limits/no-header", taken) == "s-rate-limits--no-header"
    assert safe_id("s", 'a"><b', taken) == "s-a-b"
    assert safe_id("s", "a b", taken) == "s-a-b-2"


def test_a_trace_name_is_a_link_only_when_it_is_plainly_relative() -> None:
    """A scheme, a root or a parent folder is shown, never followed."""
    run = sample.retry_after()
    for name in ("javascript:alert(1)", "/etc/passwd", "../x.jsonl", "a b.jsonl", None):
        (section,) = make_sections(sample.report([run.model_copy(update={"trace_file": name})]))
        assert section.trace_link is None
    (section,) = make_sections(sample.report([run]))
    assert section.trace_link == run.trace_file


def test_a_check_belongs_to_the_group_that_its_id_names() -> None:
    """Dots, slashes and colons all end a group's name."""
    assert [group_of(check) for check in ("backoff.wait", "backoff/wait", "swallow")] == [
        "backoff",
        "backoff",
        "swallow",
    ]


def test_checks_that_had_nothing_to_judge_are_told_together_by_reason() -> None:
    """Every check is on the page: what judged as a line, the rest under why it did not."""
    run = sample.retry_after()
    silent = [sample.silent(f"storage.{name}", "there is no store") for name in ("a", "b")]
    run = run.model_copy(update={"findings": (*run.findings, *silent)})
    (section,) = make_sections(sample.report([run]))
    assert ("there is no store", ("storage.a", "storage.b")) in section.silent
    told = {line.check for line in section.judged}
    told |= {name for _, names in section.silent for name in names}
    assert told == {line.check for line in section.checks}
    assert not {"storage.a", "storage.b"} & {line.check for line in section.judged}
