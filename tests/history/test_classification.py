"""Determinism bug, flaky subject, flip: told apart, as the naive fold does it."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from faultclock.history.findings import History
from faultclock.history.queries import Wanted
from faultclock.history.reading import read_history
from faultclock.history.store import HistoryStore
from faultclock.model.report.exploration import Reached, Tried
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionScenario, SessionSettings
from faultclock.model.tape import Tape
from tests.history import naive_fold
from tests.history.made_up import DIGEST, ID, made_up, settings, subject, unsteady

Runs = Sequence[tuple[Tried, str]]
_BEGAN = datetime(2026, 1, 31, tzinfo=UTC)


def told(*sessions: tuple[SessionSettings, Runs], wanted: Wanted | None = None) -> History:
    """Return what a history of these sessions says."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "h.sqlite")
        with HistoryStore(path) as store:
            for each, runs in sessions:
                rows = [(tried, Reached(), digest) for tried, digest in runs]
                store.append(each, rows, started_at=_BEGAN)
        return read_history(path, wanted or Wanted())


def one(number: int, verdict: Verdict, trace: str = "", **fields: object) -> tuple[Tried, str]:
    """Return a run whose trace follows from its number, unless it is told."""
    digest = hashlib.sha256((trace or f"trace {number}").encode()).hexdigest()
    return made_up(number, verdict=verdict, trace_digest=digest, **fields)[0], DIGEST


def test_other_traces_of_equal_runs_are_a_determinism_bug() -> None:
    """Both are named, and it is no flaky subject, whatever the verdicts."""
    first = [one(1, Verdict.PASS), one(2, Verdict.PASS), one(4, Verdict.PASS)]
    second = [one(1, Verdict.PASS), one(2, Verdict.FAIL, "another"), one(4, Verdict.PASS)]
    history = told((settings(), first), (settings(), second))
    (bug,) = history.bugs
    assert (bug.kind, bug.runs, bug.compared) == ("traces", 1, 3)
    assert [(ref.session, ref.number) for ref in (bug.first, bug.other)] == [(1, 2), (2, 2)]
    assert bug.first.trace_digest != bug.other.trace_digest
    assert history.flaky == ()
    (flip,) = history.flips
    assert (flip.was, flip.now, flip.cause) == (Verdict.PASS, Verdict.FAIL, "determinism")


def test_one_tape_leads_to_one_trace_in_whatever_exploration() -> None:
    """Two explorations that found the same choices are compared by them."""
    tape = Tape.of({"schedule/0/call": {3: 1}})
    old = [one(5, Verdict.FAIL, "x", tape=tape, seed=1)]
    new = [one(8, Verdict.FAIL, "y", tape=tape, seed=1)]
    history = told((settings(seed=0), old), (settings(seed=1), new))
    assert [bug.kind for bug in history.bugs] == ["traces"]
    other = Tape.of({"schedule/0/call": {3: 2}})
    new = [one(8, Verdict.FAIL, "y", tape=other, seed=1)]
    assert told((settings(seed=0), old), (settings(seed=1), new)).bugs == ()


def test_whoever_fails_for_some_seeds_always_in_the_same_way_is_flaky() -> None:
    """How many of how many, and what leads to the first of them; repeated runs count once."""
    runs = [
        one(number, Verdict.FAIL if number in (4, 7) else Verdict.PASS) for number in range(9)[1:]
    ]
    history = told((settings(), runs[:5]), (settings(), runs))
    assert history.bugs == ()
    (flaky,) = history.flaky
    assert (flaky.failing, flaky.passing, flaky.runs, flaky.is_current) == (2, 6, 8, True)
    assert (flaky.first.session, flaky.first.number) == (1, 4)
    assert flaky.coordinates.model_dump() == {
        "scenario": ID,
        "scenario_digest": DIGEST,
        "subject": "mine",
        "seed": 28,
        "tape": made_up(4, verdict=Verdict.FAIL)[0].tape.model_dump(),
    }
    assert history.flips == ()


def test_a_verdict_that_flips_because_something_changed_says_what() -> None:
    """And what was flaky before the change is no longer current."""
    mixed = [one(1, Verdict.PASS), one(3, Verdict.FAIL)]
    good = [one(1, Verdict.PASS, "a"), one(3, Verdict.PASS, "b")]
    mended = settings(subject=subject(source_digest="7" * 64), seed=3)
    history = told((settings(), mixed), (mended, good))
    (flip,) = history.flips
    assert (flip.before, flip.was, flip.after, flip.now) == (1, Verdict.FAIL, 2, Verdict.PASS)
    assert flip.cause == "changed"
    assert flip.changes == ("the source of mine (555555555555 -> 777777777777)", "seed 0 -> 3")
    assert [item.is_current for item in history.flaky] == [False]
    assert history.bugs == ()


def test_an_edited_scenario_is_a_change() -> None:
    """The flip is seen although it is another text."""
    other = settings(scenarios=(SessionScenario(scenario=ID, digest="d2"),))
    now = [(one(1, Verdict.FAIL)[0], "d2")]
    (flip,) = told((settings(), [one(1, Verdict.PASS)]), (other, now)).flips
    assert (flip.cause, flip.changes) == ("changed", ("the scenario was edited",))


def test_a_verdict_that_flips_because_other_runs_were_made_is_flaky() -> None:
    """Nothing changed but the seeds."""
    few, more = [one(1, Verdict.PASS)], [one(1, Verdict.PASS), one(3, Verdict.FAIL)]
    run, seeds = settings(command="run", runs=1), settings(command="run", runs=2)
    history = told((run, few), (seeds, more))
    (flip,) = history.flips
    assert (flip.cause, flip.changes) == ("other_runs", ("runs 1 -> 2",))
    assert len(history.flaky) == 1


def test_run_and_explore_are_no_flips_of_each_other() -> None:
    """They do not make the same runs."""
    runs = (settings(command="run"), [one(1, Verdict.PASS)])
    explored = (settings(), [one(3, Verdict.FAIL)])
    assert told(runs, explored).flips == ()


def test_an_equal_trace_that_is_judged_otherwise_is_our_fault() -> None:
    """By the same model; another model may well say something else."""
    was, now = [one(1, Verdict.PASS, "x")], [one(1, Verdict.WARN, "x")]
    history = told((settings(), was), (settings(), now))
    assert [bug.kind for bug in history.bugs] == ["verdicts"]
    assert [flip.cause for flip in history.flips] == ["determinism"]
    history = told((settings(), was), (settings(readings={"cut": "unmapped"}), now))
    assert history.bugs == ()
    assert [flip.changes for flip in history.flips] == [("reading cut none -> unmapped",)]


def test_a_run_that_was_not_the_same_twice_is_a_determinism_bug() -> None:
    """With what differed; it is neither a failure nor flaky."""
    odd = one(2, Verdict.INCONCLUSIVE, unsteady=unsteady())
    history = told((settings(), [one(1, Verdict.PASS), odd]))
    (bug,) = history.bugs
    assert (bug.kind, bug.runs, bug.other.number) == ("unsteady", 1, 2)
    assert bug.difference == unsteady().difference
    assert bug.leaks == unsteady().leaks
    assert history.sessions[0].verdicts == {"PASS": 1, "UNSTEADY": 1}


def test_what_the_real_clock_ended_is_compared_with_nothing() -> None:
    """On a busy machine a run that hangs is cut elsewhere."""
    cut = one(1, Verdict.FAIL, "cut", ending="watchdog")
    assert told((settings(), [one(1, Verdict.FAIL)]), (settings(), [cut])).bugs == ()


def test_a_part_of_a_history_is_that_part_of_the_whole() -> None:
    """By subject, and by scenario, family or pattern."""
    here = [one(1, Verdict.PASS), one(3, Verdict.FAIL)]
    there = [(made_up(n, scenario="other/two")[0], "d9") for n in (1, 3)]
    sessions = [
        (settings(), [*here, *there]),
        (settings(subject=subject("yours")), here),
    ]
    whole = told(*sessions)
    assert len(whole.flaky) == 3
    for wanted, expected in (
        (Wanted(subject="yours"), {("yours", ID)}),
        (Wanted(scenario="other"), {("mine", "other/two")}),
        (Wanted(scenario="*/tw?"), {("mine", "other/two")}),
        (Wanted(scenario=ID), {("mine", ID), ("yours", ID)}),
        (Wanted(scenario="oth"), set()),
    ):
        part = told(*sessions, wanted=wanted)
        assert {(item.subject, item.scenario) for item in part.flaky} == expected
        assert all(item in whole.flaky for item in part.flaky)
        assert len(part.sessions) == len({subject for subject, _ in expected})


# ------------------------------------------------------- any history, against the naive fold

_SETTINGS = st.builds(
    lambda command, source, readings, seed: settings(
        command=command,
        subject=subject(source_digest=source * 64),
        readings=readings,
        seed=seed,
        scenarios=(SessionScenario(scenario=ID, digest=DIGEST),),
    ),
    st.sampled_from(["run", "explore"]),
    st.sampled_from(["5", "5", "6"]),
    st.sampled_from([{}, {}, {"cut": "unmapped"}]),
    st.sampled_from([0, 0, 1]),
)
_TAPES = (Tape(), Tape.of({"schedule/0/call": {1: 1}}))


@st.composite
def _runs(draw: st.DrawFn) -> list[tuple[Tried, str]]:
    """Draw the runs of one session: few seeds, traces and verdicts, so that they meet."""
    digest = draw(st.sampled_from([DIGEST, DIGEST, "d2"]))
    first_seed = draw(st.integers(0, 1))
    runs = []
    for number in range(1, draw(st.integers(1, 5)) + 1):
        verdict = draw(
            st.sampled_from(
                [
                    *(Verdict.PASS, Verdict.FAIL, Verdict.FAIL, Verdict.WARN),
                    *(Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE),
                ]
            )
        )
        fields: dict[str, object] = {
            "seed": first_seed + number,
            "ending": draw(st.sampled_from(["completed", "completed", "watchdog"])),
            "variant": draw(st.sampled_from([None, None, "x=1"])),
            "trace_digest": hashlib.sha256(draw(st.sampled_from("abc")).encode()).hexdigest(),
        }
        if verdict is Verdict.FAIL:
            fields["tape"] = draw(st.sampled_from(_TAPES))
        if verdict is Verdict.INCONCLUSIVE and draw(st.booleans()):
            fields["unsteady"] = unsteady()
        runs.append((made_up(number, verdict=verdict, **fields)[0], digest))
    return runs


@given(st.lists(st.tuples(_SETTINGS, _runs()), min_size=1, max_size=5))
@trying(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sql_says_what_the_naive_fold_says(
    sessions: list[tuple[SessionSettings, list[tuple[Tried, str]]]],
) -> None:
    """Of any history: bugs, flaky subjects, flips, and the cause of each flip."""
    history = told(*sessions)
    rows = naive_fold.rows_of(sessions)
    assert {
        (
            b.kind,
            b.scenario,
            b.variant,
            b.subject,
            b.runs,
            b.compared,
            b.other.session,
            b.other.number,
        )
        for b in history.bugs
    } == naive_fold.bugs(rows)
    assert {
        (
            *(f.scenario, f.variant, f.subject, f.failing, f.passing, f.runs),
            *(f.first.session, f.first.number, f.is_current),
        )
        for f in history.flaky
    } == naive_fold.flaky(rows)
    assert {
        (f.scenario, f.variant, f.subject, f.command, f.before, f.was, f.after, f.now, f.cause)
        for f in history.flips
    } == naive_fold.flips(rows)
