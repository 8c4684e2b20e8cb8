"""Sections, matrix and head: how runs and findings are folded."""

from __future__ import annotations

from faultclock.model.report.finding import Verdict
from faultclock.render.overview import make_overview
from faultclock.render.sections import make_sections, safe_id
from faultclock.render.verdict_words import LOOKS, fold, group_of
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
    assert card.cited == card.finding.events
    assert card.is_of_shown
    assert set(card.cited) <= section.seqs


def test_the_run_that_shows_a_problem_is_the_one_that_is_drawn() -> None:
    """Of many seeds, the one that its problem leads to; a card says which problem it is part of."""
    report = sample.report([sample.sdk_schedule(seed) for seed in range(3)])
    wanted = report.runs[2]
    id_ = next(item.id for item in wanted.findings if item.id)
    (section,) = make_sections(report, drawn={wanted.scenario: wanted}, problems={id_: "P-1"})
    assert section.shown is wanted
    assert next(card.problem for card in section.cards if card.is_of_shown) == "P-1"


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


def test_the_worst_scenarios_come_first_and_families_stay_together() -> None:
    """The reader starts at what needs attention, however the runs came in."""
    runs = [sample.retry_after(), sample.reset_twice(), sample.late_date(), sample.sdk_schedule()]
    sections = make_sections(sample.report(runs))
    order = [Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN, Verdict.PASS]
    ranks = [order.index(section.verdict) for section in sections]
    assert ranks == sorted(ranks)
    passed = [section.family for section in sections if section.verdict is Verdict.PASS]
    assert passed == sorted(passed, key=passed.index)


def test_ids_of_events_come_from_the_name_of_the_scenario() -> None:
    """So a link into one report still fits another one with other scenarios."""
    alone = make_sections(sample.report([sample.retry_after()]))[0]
    report = sample.report([sample.sdk_schedule(), sample.late_date(), sample.retry_after()])
    among = next(item for item in make_sections(report) if item.scenario == alone.scenario)
    assert (among.short, among.anchor) == (alone.short, alone.anchor)
    assert len({item.short for item in make_sections(report)}) == 3


def test_the_head_says_what_was_run_and_what_it_comes_to() -> None:
    """Runs that prove nothing are counted by themselves."""
    overview = make_overview(sample.sdk_report())
    assert overview.headline[0] == "does not conform to"
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
    overview = make_overview(sample.empty_report())
    assert overview.headline[0] == "is not proved to conform to"
    assert overview.explains == "Nothing was run, so nothing is proved."


def test_readings_tell_the_chosen_from_the_default() -> None:
    """The report says which reading was used, and what else could have been."""
    report = sample.sdk_report()
    first, second = make_overview(report).readings
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
