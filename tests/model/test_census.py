"""The conduct of a client, counted."""

from __future__ import annotations

import pytest

from faultclock.model.report.census import Absent, Tally, tally_of
from tests.render.sample_census import CUT, LIMITED, call, census, client, run, sample_census


def test_nothing_run_is_nothing_counted() -> None:
    """Zeros, and no division by them."""
    assert tally_of(()) == Tally()


def test_calls_are_counted_by_how_they_came_out() -> None:
    """What is not the whole answer is not an answer."""
    runs = (
        run(LIMITED, call("ok"), call("ok", "ok", answer="empty")),
        run(CUT, call("x", outcome="raised"), call("x", outcome="never_ended"), verdict="FAIL"),
    )
    tally = tally_of(runs)
    assert (tally.runs, tally.calls, tally.verdicts) == (2, 4, {"FAIL": 1, "PASS": 1})
    assert (tally.answered, tally.wrongly_answered) == (1, 1)
    assert (tally.raised, tally.never_ended, tally.attempts_max) == (1, 1, 2)


@pytest.mark.parametrize(
    ("asked", "waited_s", "counted", "kept"),
    [
        ("7", 7.0, 1, 1),
        ("7", 6.999_999_9, 1, 1),
        ("7", 6.999, 1, 0),
        (" 7 ", 7.5, 1, 1),
        ("0", 0.0, 1, 1),
        ("1.5", 2.0, 0, 0),
        ("Thu, 01 Jan 2026 00:00:07 GMT", 7.0, 0, 0),
        ("٧", 7.0, 0, 0),
        (None, 7.0, 0, 0),
    ],
)
def test_only_whole_seconds_are_held_against_a_wait(
    asked: str | None, waited_s: float, counted: int, kept: int
) -> None:
    """Less than a microsecond is the noise of float seconds."""
    tally = tally_of((run(LIMITED, call("429", "ok", waits_s=(waited_s,), asked=asked)),))
    assert (tally.asked_to_wait, tally.waited_as_asked) == (counted, kept)


@pytest.mark.parametrize(
    ("asked_ms", "kept"), [("1500", 1), ("1501", 0), ("3000", 0), ("soon", 0), (None, 0)]
)
def test_the_finer_header_excuses_a_shorter_wait(asked_ms: str | None, kept: int) -> None:
    """A client may prefer `retry-after-ms`; it may not come back before both."""
    made = call("429", "ok", waits_s=(1.5,), asked="2")
    wait = made.waits[0].model_copy(update={"asked_ms": asked_ms})
    tally = tally_of((run(LIMITED, made.model_copy(update={"waits": (wait,)})),))
    assert (tally.asked_to_wait, tally.waited_as_asked) == (1, kept)


def test_broken_streams_are_counted_by_their_last_step() -> None:
    """A broken body is none of them."""
    patient, hasty, _ = sample_census().clients
    assert (patient.tally.broken_streams, patient.tally.streams) == (1, {"returned_whole": 1})
    assert hasty.tally.streams == {"returned_partial": 1}


def test_a_census_proves_all_unless_something_that_is_there_was_not_run() -> None:
    """What is not installed is nobody's fault."""
    here = client("a", run(LIMITED, call("ok")))
    missing = Absent(id="b", title="B", reason="not installed")
    assert census(here, absent=(missing,)).proves_all
    assert not census(here, absent=(missing.model_copy(update={"installed": True}),)).proves_all
    assert not census(client("a", run(LIMITED, ending="watchdog"))).proves_all
    assert census(client("a", run(LIMITED, ending="deadlock"))).proves_all
