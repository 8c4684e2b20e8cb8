"""An appraisal says yes to what is whole, and no as soon as one thing stands against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.evidence import Gathered
from faultclock.certify.levels.hardened import hardened_objections
from faultclock.certify.levels.obligations import obligation_objections, obligations_of
from faultclock.certify.levels.selection import role_set
from faultclock.errors import InputError
from faultclock.load.error_model import load_error_model
from faultclock.model.report.conformance import (
    LEVELS,
    Appraisal,
    LevelName,
    Objection,
    RequirementSet,
)
from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.evidence import Evidence, Explored, Judged
from faultclock.model.report.exploration import FailureGroup, NoResult, NoResultGroup
from faultclock.model.report.finding import Finding, PassedOver, Report, Verdict
from tests.certify.levels.conftest import SCENARIOS, Level


def appraised(level: Level, evidence: Evidence, judged: Judged, at: LevelName) -> Appraisal:
    """Return what changed evidence comes to."""
    return appraise(level.set_, level.model, evidence, judged, at)


# ------------------------------------------------------------------ objections, planted


@dataclass(frozen=True)
class Plant:
    """Something that stands against a level, put into evidence that was whole."""

    name: str
    put: Callable[[Gathered], Gathered]
    #: The lowest level that it stands against.
    level: LevelName = "core"
    verdict: Verdict = Verdict.INCONCLUSIVE


def _evidence(**changes: Any) -> Callable[[Gathered], Gathered]:
    return lambda made: replace(made, evidence=made.evidence.model_copy(update=changes))


def _report(change: Callable[[Report], dict[str, Any]]) -> Callable[[Gathered], Gathered]:
    def put(made: Gathered) -> Gathered:
        report = made.judged.report
        changed = report.model_copy(update=change(report))
        return replace(made, judged=made.judged.model_copy(update={"report": changed}))

    return put


def _first_run(**changes: Any) -> Callable[[Gathered], Gathered]:
    return _report(
        lambda report: {"runs": (report.runs[0].model_copy(update=changes), *report.runs[1:])}
    )


def _finding(verdict: Verdict, check: str = "backoff.wait", **more: Any) -> Finding:
    return Finding(check=check, verdict=verdict, expected="one thing", observed="another", **more)


def _with_finding(finding: Finding) -> Callable[[Gathered], Gathered]:
    return _report(
        lambda report: {
            "runs": (
                report.runs[0].model_copy(update={"findings": (*report.runs[0].findings, finding)}),
                *report.runs[1:],
            )
        }
    )


def _explored(change: Callable[[Any], dict[str, Any]]) -> Callable[[Gathered], Gathered]:
    def put(made: Gathered) -> Gathered:
        explored = made.evidence.explored
        assert explored is not None
        exploration = explored.exploration.model_copy(update=change(explored.exploration))
        changed = Explored(exploration=exploration, runs_digest=explored.runs_digest)
        return replace(made, evidence=made.evidence.model_copy(update={"explored": changed}))

    return put


def _without(made: Gathered, wanted: Callable[[Any], bool]) -> Gathered:
    """Return what is left when some runs were never made: neither trace nor report has them."""
    evidence, report = made.evidence, made.judged.report
    kept = [index for index, entry in enumerate(evidence.traces) if wanted(entry)]
    traces = tuple(evidence.traces[index] for index in kept)
    names = {entry.name for entry in traces}
    doubles = tuple(double for double in evidence.doubles if double.name in names)
    return replace(
        made,
        evidence=evidence.model_copy(update={"traces": traces, "doubles": doubles}),
        judged=made.judged.model_copy(
            update={
                "report": report.model_copy(
                    update={"runs": tuple(report.runs[index] for index in kept)}
                )
            }
        ),
    )


def _group(report: Any) -> dict[str, Any]:
    where = Coordinates(scenario=SCENARIOS[0], scenario_digest="0" * 64, subject="x", seed=1)
    group = FailureGroup(
        fingerprint="f-0123456789ab",
        scenario=SCENARIOS[0],
        finding=_finding(Verdict.FAIL),
        runs=1,
        first=2,
        coordinates=where,
        token="",
    )
    return {"groups": (group,)}


def _unsteady(report: Any) -> dict[str, Any]:
    where = Coordinates(scenario=SCENARIOS[0], scenario_digest="0" * 64, subject="x", seed=1)
    return {
        "unsteady": (
            Unsteady(coordinates=where, first_digest="a", second_digest="b", differs_at=1),
        )
    }


def _spoilt(exploration: Any) -> dict[str, Any]:
    first, *rest = exploration.scenarios
    why = NoResult(check="evidence.whole", reason="the watchdog ended the run", spoils=True)
    group = NoResultGroup(why=why, runs=1, first=2, token="fc2.x")
    return {"scenarios": (first.model_copy(update={"no_results": (group,)}), *rest)}


def _unproved(exploration: Any) -> dict[str, Any]:
    first, *rest = exploration.scenarios
    changed = first.model_copy(update={"as_written": Verdict.INCONCLUSIVE})
    return {"scenarios": (changed, *rest)}


def _shorter(exploration: Any) -> dict[str, Any]:
    once = (item.model_copy(update={"totals": {"PASS": 1}}) for item in exploration.scenarios)
    return {"scenarios": tuple(once)}


def _misfit(made: Gathered) -> Gathered:
    objection = Objection(what="a-run", because="the trace of this name is of another run")
    return replace(made, judged=made.judged.model_copy(update={"misfits": (objection,)}))


FAIL, WARN, INCONCLUSIVE = Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE
PLANTS = (
    Plant("a broken MUST", _with_finding(_finding(FAIL)), verdict=FAIL),
    Plant("a failed run that no finding tells of", _first_run(verdict=FAIL), verdict=FAIL),
    Plant("a warning", _with_finding(_finding(WARN)), level="full", verdict=FAIL),
    Plant("an unmet fault", _with_finding(_finding(INCONCLUSIVE, "evidence.faults-met"))),
    Plant("a leak", _with_finding(_finding(INCONCLUSIVE, "evidence.no-leaks"))),
    Plant("an inconclusive run", _first_run(verdict=INCONCLUSIVE)),
    Plant("a run that the watchdog ended", _first_run(ending="watchdog")),
    Plant("a log that was cut", _first_run(ending="log_cut")),
    Plant("real time", _first_run(time_base="wall")),
    Plant("no run at all", lambda made: _without(made, lambda _: False)),
    Plant(
        "a scenario that was not run",
        lambda made: _without(made, lambda entry: entry.scenario != SCENARIOS[0]),
    ),
    Plant("a seed that was not run", lambda made: _without(made, lambda entry: entry.seed != 3)),
    Plant(
        "a verdict over seeds",
        _report(lambda report: {"seeds_findings": (_finding(FAIL, "backoff.jitter"),)}),
        verdict=FAIL,
    ),
    Plant("chosen readings", _report(lambda report: {"readings": {"cut-answers": "unmapped"}})),
    Plant("another model", _report(lambda report: {"model": "afk"})),
    Plant("a run more than traces", _report(lambda report: {"runs": report.runs * 2})),
    Plant("another subject", _evidence(subject_spec="x", role="runtime")),
    Plant(
        "a scenario that is said to be passed over",
        lambda made: _evidence(
            passed_over=(PassedOver(scenario=SCENARIOS[0], because="it says so"),)
        )(_without(made, lambda entry: entry.scenario != SCENARIOS[0])),
    ),
    Plant("another set", _evidence(set_digest="0" * 64)),
    Plant("a run that was not the same twice", _evidence(unsteady=("a-run",))),
    Plant("runs for a lower level", _evidence(level="core"), level="full"),
    Plant("a trace that is not what it is said to be", _misfit),
    Plant("no second runs", _evidence(doubles=()), level="hardened"),
    Plant("no exploration", _evidence(explored=None), level="hardened"),
    Plant("an explored failure", _explored(_group), verdict=FAIL),
    Plant("an explored run that was not the same twice", _explored(_unsteady)),
    Plant("an explored run that was spoilt", _explored(_spoilt)),
    Plant("an explored scenario that proves nothing", _explored(_unproved)),
    Plant(
        "an exploration that was cut", _explored(lambda _: {"complete": False}), level="hardened"
    ),
    Plant("too few explored runs", _explored(_shorter), level="hardened"),
    Plant("another exploration seed", _explored(lambda _: {"seed": 9}), level="hardened"),
    Plant(
        "an exploration by another reading",
        _explored(lambda _: {"readings": {"cut-answers": "unmapped"}}),
        level="hardened",
    ),
    Plant(
        "an unexplored scenario",
        _explored(lambda exploration: {"scenarios": exploration.scenarios[1:]}),
        level="hardened",
    ),
    Plant(
        "too few seeds for jitter",
        lambda made: _without(made, lambda entry: entry.seed != 16),
        level="hardened",
    ),
    Plant(
        "a second run that differs",
        lambda made: replace(
            made,
            evidence=made.evidence.model_copy(
                update={
                    "doubles": (
                        made.evidence.doubles[0].model_copy(update={"digest": "0" * 64}),
                        *made.evidence.doubles[1:],
                    )
                }
            ),
        ),
    ),
    Plant(
        "a second run that never came",
        lambda made: replace(
            made,
            evidence=made.evidence.model_copy(
                update={
                    "doubles": (
                        made.evidence.doubles[0].model_copy(update={"digest": ""}),
                        *made.evidence.doubles[1:],
                    )
                }
            ),
        ),
    ),
)
#: That one is about another role: then the set asks for other things.
_OF_ANOTHER_ROLE = "another subject"
BY_NAME = {plant.name: plant for plant in PLANTS if plant.name != _OF_ANOTHER_ROLE}


#: What never was made cannot stand against anything: these are planted first.
TAKE_AWAY = ("no second runs", "no exploration", "an unexplored scenario")


def test_the_reference_reaches_every_level(hardened: Level) -> None:
    """Whoever does all that is asked for reaches all levels, and nothing stands against it."""
    for level in LEVELS:
        appraisal = hardened.appraised(level)
        assert (appraisal.objections, appraisal.verdict) == ((), Verdict.PASS)
        assert appraisal.is_reached


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_planted_stands_against_its_level_and_all_above(name: str, hardened: Level) -> None:
    """Each objection is found by itself: from its level on nothing is reached, below it all is."""
    plant = BY_NAME[name]
    made = plant.put(hardened.gathered)
    for level in LEVELS:
        appraisal = appraised(hardened, made.evidence, made.judged, level)
        stands = LEVELS.index(level) >= LEVELS.index(plant.level)
        assert appraisal.is_reached is not stands, (level, appraisal.objections)
        if stands:
            assert appraisal.verdict is plant.verdict
            assert appraisal.objections


def test_a_report_about_another_role_is_refused(hardened: Level) -> None:
    """What was gathered for one role says nothing of another: the set asks for other things."""
    made = _evidence(role="session_store")(hardened.gathered)
    appraisal = appraised(hardened, made.evidence, made.judged, "core")
    assert "subject" in {item.what for item in appraisal.objections}


def test_a_role_without_a_reference_has_no_level(hardened: Level) -> None:
    """Where nobody has shown that it can be kept, there is nothing to certify."""
    made = _evidence(role="extension")(hardened.gathered)
    with pytest.raises(InputError, match="no level of stud-cli for the role extension"):
        appraised(hardened, made.evidence, made.judged, "core")


def test_a_level_is_of_the_default_readings(hardened: Level) -> None:
    """Another reading is another model: the set was not frozen for it."""
    made = hardened.gathered
    read = load_error_model("stud-cli", {"cut-answers": "unmapped"})
    appraisal = appraise(hardened.set_, read, made.evidence, made.judged)
    assert [item.what for item in appraisal.objections] == ["readings"]


def test_nothing_that_is_added_raises_a_level(hardened: Level) -> None:
    """However much stands against it: it never reaches more, and a level never more than below."""

    @settings(max_examples=12)
    @given(names=st.lists(st.sampled_from(sorted(BY_NAME)), min_size=1, max_size=4))
    def holds(names: list[str]) -> None:
        made = hardened.gathered
        reached = dict.fromkeys(LEVELS, True)
        for name in sorted(names, key=lambda name: name not in TAKE_AWAY):
            made = _planted(name, made)
            below: set[tuple[str, str]] = set()
            for level in LEVELS:
                appraisal = appraised(hardened, made.evidence, made.judged, level)
                assert reached[level] or not appraisal.is_reached
                reached[level] = appraisal.is_reached
                told = {(item.what, item.because) for item in appraisal.objections}
                # What is not asked for below may be asked for here; never the other way round.
                assert below <= told
                below = told
            assert reached["full"] or not reached["hardened"]
            assert reached["core"] or not reached["full"]

    holds()


def _planted(name: str, made: Gathered) -> Gathered:
    needs_runs = BY_NAME[name].put.__name__ == "put"
    if needs_runs and not made.judged.report.runs and "explored" not in name:
        return made
    if made.evidence.explored is None and "explor" in name:
        return made
    if not made.evidence.doubles and "second run that" in name:
        return made
    try:
        return BY_NAME[name].put(made)
    except IndexError:
        # There is nothing left to plant it in.
        return made


# ------------------------------------------------------------------ what is declared


def _declaring(made: Gathered, *names: str) -> Gathered:
    subject = made.evidence.subject.model_copy(update={"declares": names})
    report = made.judged.report.model_copy(update={"subject": subject})
    return replace(
        made,
        evidence=made.evidence.model_copy(update={"subject": subject}),
        judged=made.judged.model_copy(update={"report": report}),
    )


def test_what_is_not_declared_is_listed_and_reaches_nothing(hardened: Level) -> None:
    """A binding that leaves a declaration out is told which sentences that leaves unshown."""
    made = _declaring(hardened.gathered, "errors", "user", "model")
    appraisal = appraised(hardened, made.evidence, made.judged, "core")
    undeclared = [item for item in appraisal.obligations if item.status == "undeclared"]
    assert undeclared
    assert all("audit" in item.because for item in undeclared)
    assert {item.requirement for item in undeclared if item.level == "MUST"} <= {
        item.what for item in appraisal.objections
    }
    assert appraisal.verdict is Verdict.INCONCLUSIVE


def test_what_a_set_asks_for_and_nobody_saw_is_not_shown(hardened: Level) -> None:
    """A requirement that no finding speaks of is never taken for kept."""
    silent = _report(
        lambda report: {
            "seeds_findings": (),
            "runs": tuple(run.model_copy(update={"findings": ()}) for run in report.runs),
        }
    )(hardened.gathered)
    appraisal = appraised(hardened, silent.evidence, silent.judged, "core")
    asked = [item for item in appraisal.obligations if item.level == "MUST"]
    assert asked
    assert {item.status for item in asked} == {"not shown"}
    assert {item.requirement for item in asked} <= {item.what for item in appraisal.objections}


def test_what_came_up_and_proves_nothing_had_its_occasion(hardened: Level) -> None:
    """A sentence that may well never come up is excused only where nothing at all speaks of it."""
    of = role_set(hardened.set_, "provider_adapter")
    rare = of.requirements[0].model_copy(update={"occasion": "nobody asks for it"})
    of = of.model_copy(update={"requirements": (rare,)})
    evidence, report = hardened.gathered.evidence, hardened.gathered.judged.report
    open_ = _finding(INCONCLUSIVE, requirement=rare.id, level=rare.level)
    idle = _finding(Verdict.PASS, requirement=rare.id, level=rare.level, judged=0)
    statuses = {}
    for name, findings in (("silent", ()), ("open", (open_,)), ("idle", (idle,))):
        told = report.model_copy(update={"runs": (), "seeds_findings": findings})
        (item,) = obligations_of(of, hardened.model, told, evidence, (), "core")
        statuses[name] = item.status
    assert statuses == {"silent": "no occasion", "open": "not shown", "idle": "not shown"}


def test_a_should_that_was_not_shown_stands_against_full(hardened: Level) -> None:
    """The lowest level asks for what a subject must do, those above for what it should do, too."""
    of = role_set(hardened.set_, "provider_adapter")
    wanted = next(item for item in hardened.model.requirements if item.level == "SHOULD")
    should = of.requirements[0].model_copy(update={"id": wanted.id, "level": "SHOULD"})
    of = of.model_copy(update={"requirements": (should,)})
    evidence, report = hardened.gathered.evidence, hardened.gathered.judged.report
    nothing = report.model_copy(update={"runs": (), "seeds_findings": ()})
    for level in LEVELS:
        found = obligations_of(of, hardened.model, nothing, evidence, (), level)
        assert found[0].status == ("not asked" if level == "core" else "not shown")
        assert bool(list(obligation_objections(found, level))) is (level != "core")


def test_a_scenario_that_was_not_swept_is_named(hardened: Level) -> None:
    """The highest level asks for a crash after every event; what cannot be played is left out."""
    of = role_set(hardened.set_, "provider_adapter")
    sweep = of.hardening.model_copy(update={"crash_sweep": SCENARIOS[:1]})
    of = of.model_copy(update={"hardening": sweep})
    evidence = hardened.gathered.evidence
    (told,) = hardened_objections(of, evidence, set())
    assert told.because == f"{SCENARIOS[0]} was not swept"
    assert list(hardened_objections(of, evidence, {SCENARIOS[0]})) == []


def test_a_warning_is_told_at_core_and_stands_against_full(hardened: Level) -> None:
    """A SHOULD that is not kept: the certificate of the lowest level says WARN."""
    made = _with_finding(_finding(WARN))(hardened.gathered)
    core = appraised(hardened, made.evidence, made.judged, "core")
    assert (core.is_reached, core.verdict) == (True, Verdict.WARN)
    assert not appraised(hardened, made.evidence, made.judged, "full").is_reached


def test_a_set_whose_role_is_missing_is_told_by_name(small: RequirementSet) -> None:
    """The error says which roles there are."""
    with pytest.raises(InputError, match="no level") as told:
        role_set(small, "tool")
    assert "provider_adapter and session_store" in str(told.value)
