"""A stored trace is run again, and the first difference is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from faultclock.errors import InputError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.token import coordinates_of
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.tape import Chance, Schedule, Tape
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.expand import crash_after
from faultclock.run.replay import compare, replay, replay_at, scenario_at
from faultclock.run.suite import SuiteRequest, run_one, run_suite
from faultclock.subjects.binding import Binding
from tests.run.conftest import limited, shipped_scenario, small


def recorded(bound: Callable[[str], Binding]) -> Trace:
    """Return the trace of one small run of the reference."""
    scenario = small(provider=limited())
    return run_one(scenario, bound("reference"), 4, isolate=True)


def test_the_same_subject_replays_identically(bound: Callable[[str], Binding]) -> None:
    """Every line, byte for byte."""
    trace = recorded(bound)
    result = replay(trace, bound("reference"))
    assert result.identical
    assert result.line_number is None


def test_another_subject_differs_at_the_first_event_that_does(
    bound: Callable[[str], Binding],
) -> None:
    """Not at the header, which only names it."""
    result = replay(recorded(bound), bound("mini-no-jitter"))
    assert not result.identical
    assert result.line_number is not None
    assert result.line_number > 1
    assert result.recorded != result.observed


def test_a_difference_in_the_header_alone_is_named_as_such(bound: Callable[[str], Binding]) -> None:
    """Line 1: another version, or another file of the subject."""
    trace = recorded(bound)
    changed = trace.header.model_copy(update={"versions": {"python": "2.7"}})
    assert compare(replace(trace, header=changed), trace).line_number == 1


def test_a_longer_run_differs_where_the_shorter_one_ends(bound: Callable[[str], Binding]) -> None:
    """What was not recorded is shown as missing."""
    trace = recorded(bound)
    more = TraceEvent(len(trace.events) + 1, trace.footer.ended_at_ns, "subject", "sleep", {})
    longer = replace(trace, events=(*trace.events, more))
    result = compare(trace, longer)
    assert result.line_number == len(trace.events) + 2
    assert result.observed is not None
    assert '"sleep"' in result.observed


def place(scenario: Scenario, tape: Tape | None = None, **changes: object) -> Coordinates:
    """Return the coordinates of one run of `scenario` as it is written."""
    values = {
        "scenario": scenario.id,
        "scenario_digest": scenario_digest(scenario),
        "variant": scenario.variant,
        "subject": "reference",
        "seed": 4,
        "tape": tape or Tape(),
    }
    return Coordinates.model_validate(values | changes)


def test_coordinates_are_run_twice_and_give_what_they_gave(
    bound: Callable[[str], Binding],
) -> None:
    """With the order that was explored, in two processes of their own."""
    binding = bound("reference")
    scenario = small(
        provider=limited(), tasks=[{"id": "ask", "prompt": "Hi", "copies": 5}], title="Five"
    )
    chance = Chance(schedule=Schedule(kind="random", seed=1))
    first = run_one(scenario, binding, 4, isolate=True, chance=chance)
    assert not first.header.tape.is_blank
    replayed = replay_at(scenario, binding, place(scenario, first.header.tape))
    assert replayed.result.identical
    assert replayed.trace == first


def test_a_tape_that_varies_what_is_not_declared_is_refused(
    bound: Callable[[str], Binding],
) -> None:
    """Rather than run without it."""
    scenario = small(provider=limited())
    tape = Tape.of({"lacks/nothing": {0: 1}})
    with pytest.raises(InputError, match=f"the tape is not one of {scenario.id}"):
        replay_at(scenario, bound("reference"), place(scenario, tape))


def test_a_subject_of_another_role_is_refused(bound: Callable[[str], Binding]) -> None:
    """In one sentence, with both roles."""
    scenario = small()
    with pytest.raises(InputError, match="is a scenario for role provider_adapter, and"):
        replay_at(scenario, bound("reference-runtime"), place(scenario))


def test_a_scenario_is_found_by_its_id_variant_and_digest() -> None:
    """Of a matrix the cell, of a sweep the crash."""
    plain = shipped_scenario("shared/good-turn")
    cells = tuple(small(variant=name, title=name) for name in ("a=1", "a=2"))
    assert scenario_at((plain,), place(plain)) == plain
    assert scenario_at(cells, place(cells[1])) == cells[1]
    swept = crash_after(plain, 7)
    by_hand = place(swept)
    of_sweep = place(swept, scenario_digest=scenario_digest(plain))
    assert scenario_at((plain,), by_hand) == scenario_at((plain,), of_sweep) == swept


def test_a_scenario_that_was_changed_since_is_told_so() -> None:
    """With both digests, and what to do."""
    plain = shipped_scenario("shared/good-turn")
    where = place(plain)
    changed = plain.model_copy(update={"title": "Another"})
    with pytest.raises(InputError, match=r"was changed since: its digest was .* and is"):
        scenario_at((changed,), where)
    with pytest.raises(InputError, match="has no variant 'a=3'"):
        scenario_at((plain,), place(plain, variant="a=3"))
    with pytest.raises(
        InputError, match="the file holds tests/small, but shared/good-turn was asked for"
    ):
        scenario_at((small(),), where)


def reported(bound: Callable[[str], Binding], subject: str, *scenarios: Scenario) -> Report:
    """Return the report of a run of `subject`."""
    request = SuiteRequest(
        scenarios=scenarios,
        binding=bound(subject),
        subject_spec=subject,
        model=load_error_model("stud-cli", {}),
        seeds=2,
    )
    return run_suite(request)


def test_each_finding_that_is_not_green_has_an_id_that_stays(
    bound: Callable[[str], Binding],
) -> None:
    """The same in each report of the same runs, and each its own."""
    scenarios = (
        shipped_scenario("rate-limits/retry-after-integer"),
        shipped_scenario("rate-limits/retry-after-http-date"),
    )
    one = reported(bound, "mini-ignores-retry-after", *scenarios)
    two = reported(bound, "mini-ignores-retry-after", *scenarios)
    ids = [finding.id for run in one.runs for finding in run.findings if finding.id]
    assert ids
    assert len(set(ids)) == len(ids)
    assert ids == [finding.id for run in two.runs for finding in run.findings if finding.id]
    for run in one.runs:
        for finding in run.findings:
            green = finding.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE)
            assert bool(finding.id) is not green


def test_the_token_of_a_run_in_a_report_leads_to_that_run(
    bound: Callable[[str], Binding],
) -> None:
    """Scenario, seed and tape; a run that is all green needs none."""
    scenario = shipped_scenario("rate-limits/retry-after-integer")
    for run in reported(bound, "mini-ignores-retry-after", scenario).runs:
        where = coordinates_of(run.token)
        assert (where.scenario, where.seed) == (scenario.id, run.seed)
        again = replay_at(scenario_at((scenario,), where), bound("mini-ignores-retry-after"), where)
        assert again.trace.footer.digest == run.trace_digest
    assert [run.token for run in reported(bound, "reference", scenario).runs] == ["", ""]
