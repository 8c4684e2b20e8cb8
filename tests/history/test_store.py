"""Sessions: what goes in comes out, what was stopped goes on, and nothing is counted twice."""

from __future__ import annotations

import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from faultclock.errors import InputError, InternalError
from faultclock.history.reading import read_history
from faultclock.history.store import HistoryStore
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionScenario
from tests.history.made_up import DIGEST, ID, made_up, outcomes, settings, subject, unsteady

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def opened(folder: Path) -> HistoryStore:
    """Open the history of a test, at an instant of its own."""
    return HistoryStore(folder / "h.sqlite", now=lambda: NOW)


def test_runs_come_back_as_they_were(tmp_path: Path) -> None:
    """Tapes, findings, unsteadiness and all that was reached included, in their order."""
    runs = [*outcomes(1, 40), made_up(41, verdict=Verdict.INCONCLUSIVE, unsteady=unsteady())]
    with opened(tmp_path) as store:
        session = store.begin(settings())
        session.record(runs[20:])
        session.record(runs[:20])
        assert tuple(session.done(ID, None, DIGEST)) == tuple(runs)
    with opened(tmp_path) as store:
        assert tuple(store.resume(settings()).done(ID, None, DIGEST)) == tuple(runs)


def test_a_variant_and_an_edited_scenario_have_runs_of_their_own(tmp_path: Path) -> None:
    """Nothing is taken for another scenario's."""
    scenarios = (
        SessionScenario(scenario=ID, digest=DIGEST),
        SessionScenario(scenario=ID, variant="x=1", digest="d2"),
    )
    with opened(tmp_path) as store:
        session = store.begin(settings(scenarios=scenarios))
        plain, varied = made_up(1), made_up(1, variant="x=1")
        session.record([plain, varied])
        assert tuple(session.done(ID, None, DIGEST)) == (plain,)
        assert tuple(session.done(ID, "x=1", "d2")) == (varied,)
        assert tuple(session.done(ID, None, "d2")) == ()


def test_the_last_unfinished_session_of_equal_settings_is_resumed(tmp_path: Path) -> None:
    """Neither one that is complete nor one of other settings; if need be a complete one."""
    with opened(tmp_path) as store:
        store.begin(settings()).finish(complete=False)
        stopped = store.begin(settings())
        stopped.record(outcomes(1, 5))
        stopped.finish(complete=False)
        store.begin(settings(seed=9))
        store.begin(settings()).finish(complete=True)
        assert store.resume(settings()).number == stopped.number
        resumed = store.resume(settings())
        assert tuple(resumed.done(ID, None, DIGEST)) == tuple(outcomes(1, 5))
        resumed.finish(complete=True)
        store.resume(settings()).finish(complete=True)
        assert store.resume(settings()).number == 4


def test_what_cannot_be_resumed_says_what_differs(tmp_path: Path) -> None:
    """A person sees at once which word to change."""
    with opened(tmp_path) as store:
        with pytest.raises(InputError, match="no session of this command to resume"):
            store.resume(settings())
        store.begin(settings())
        edited = settings(
            subject=subject(source_digest="6" * 64, distributions={"openai": "3.53.0"}),
            seed=4,
            scenarios=(SessionScenario(scenario=ID, digest="d2"),),
        )
        with pytest.raises(InputError) as caught:
            store.resume(edited)
        assert caught.value.message == (
            f"{tmp_path / 'h.sqlite'}: no session has these settings. Session 1 differs:"
            " the source of mine (555555555555 -> 666666666666);"
            f" openai 3.52.0 -> 3.53.0; seed 0 -> 4; edited: {ID}"
        )
        store.resume(settings()).finish(complete=True)
        with pytest.raises(InputError, match="Session 1 differs: seed 0 -> 9"):
            store.resume(settings(seed=9))


def test_a_session_has_one_writer(tmp_path: Path) -> None:
    """Whoever resumes it has it, and the other is told: no run is there twice."""
    with opened(tmp_path) as first, opened(tmp_path) as second:
        begun = first.begin(settings())
        begun.record(outcomes(1, 3))
        resumed = second.resume(settings())
        resumed.record(outcomes(4, 6))
        with pytest.raises(InputError, match="session 1 was resumed by another process"):
            begun.record(outcomes(4, 6))
        with pytest.raises(InputError, match="resumed by another process"):
            begun.finish(complete=True)
        assert tuple(resumed.done(ID, None, DIGEST)) == tuple(outcomes(1, 6))


def test_a_batch_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """What the failed batch was the first to name is looked up anew in the next."""
    with opened(tmp_path) as store:
        session = store.begin(settings())
        session.record(outcomes(1, 3))
        with pytest.raises(InternalError, match="recorded twice"):
            session.record([made_up(6), made_up(3)])
        with pytest.raises(InternalError, match="no scenario 'other'"):
            session.record([made_up(6), made_up(7, scenario="other")])
        assert tuple(session.done(ID, None, DIGEST)) == tuple(outcomes(1, 3))
        session.record(outcomes(4, 6))
        assert tuple(session.done(ID, None, DIGEST)) == tuple(outcomes(1, 6))


def test_two_sessions_grow_at_the_same_time(tmp_path: Path) -> None:
    """Each batch waits for the other's, which is over at once."""
    with opened(tmp_path) as first, opened(tmp_path) as second:
        sessions = [first.begin(settings()), second.begin(settings(seed=1))]
        for number in range(1, 11):
            for session in sessions:
                session.record([made_up(number)])
        for session in sessions:
            assert tuple(session.done(ID, None, DIGEST)) == tuple(outcomes(1, 10))


def test_a_child_that_is_forked_meanwhile_harms_nothing(tmp_path: Path) -> None:
    """It may not write, and its end is not the end of the parent's connection."""
    with opened(tmp_path) as store:
        session = store.begin(settings())
        session.record(outcomes(1, 3))
        child = os.fork()
        if child == 0:
            try:
                session.record(outcomes(4, 6))
            except InternalError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        session.record(outcomes(4, 6))
        assert tuple(session.done(ID, None, DIGEST)) == tuple(outcomes(1, 6))


def test_a_session_that_is_over_is_added_in_one_step(tmp_path: Path) -> None:
    """All of it, or nothing: its runs are there with it."""
    runs = [(*made_up(number, tape=made_up(3)[0].tape), DIGEST) for number in range(1, 4)]
    with opened(tmp_path) as store:
        began = datetime(2026, 1, 31, 11, tzinfo=UTC)
        assert store.append(settings(command="run"), runs, started_at=began) == 1
        with pytest.raises(sqlite3.IntegrityError):
            store.append(settings(command="run"), [*runs, runs[0]], started_at=began)
    (line,) = read_history(tmp_path / "h.sqlite").sessions
    assert (line.command, line.state, line.runs, line.scenarios) == ("run", "done", 3, 1)
    assert line.verdicts == {"FAIL": 1, "PASS": 2}
    assert line.started_at == "2026-01-31T11:00:00+00:00"
    assert line.ended_at == "2026-01-31T12:00:00+00:00"


def test_the_file_names_no_place_and_no_person(tmp_path: Path) -> None:
    """It can be handed to anybody."""
    with opened(tmp_path) as store:
        store.begin(settings()).record(outcomes(1, 20))
    content = (tmp_path / "h.sqlite").read_bytes()
    for word in (str(tmp_path), os.uname().nodename, str(Path.home())):
        assert word.encode() not in content
