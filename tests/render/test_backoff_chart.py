"""The backoff chart: what is legal, what was observed, and by how much it misses."""

from __future__ import annotations

import pytest

from faultclock.render.backoff_chart import WIDTH, chart_rows
from tests.render import sample_report as sample


def test_a_wait_that_is_too_early_says_by_how_much() -> None:
    """The SDK's half second misses the legal four by 3.54 s, in words and in a cross."""
    first, second = chart_rows([sample.sdk_schedule()])
    assert first.legal_interval == "4 s to 6 s"
    assert first.observed == "463.219 ms"
    assert first.off == "3.54 s too early"
    assert first.judged == "illegal"
    assert (first.legal_ticks, bool(first.illegal_ticks)) == ("", True)
    assert second.off == "7.04 s too early"


def test_a_late_wait_says_late() -> None:
    """The other side of the interval has its own words."""
    (row,) = chart_rows([sample.late_date()])
    assert row.off == "80 ms too late"


def test_an_exact_wait_has_a_visible_bar() -> None:
    """An interval of no width is drawn four units wide around its instant."""
    (row,) = chart_rows([sample.retry_after()])
    assert row.legal_interval == "exactly 7 s"
    assert row.bar_width == 4.0
    assert row.look == "pass"
    assert row.events


def test_in_real_time_a_bar_has_no_end() -> None:
    """It goes on to the edge, and the words say that there is a lower bound alone."""
    run = sample.retry_after()
    real = run.waits[0].model_copy(update={"at_least": True, "observed_ns": 9_000_000_000})
    (row,) = chart_rows([run.model_copy(update={"waits": (real,)})])
    assert row.legal_interval == "at least 7 s"
    assert row.bar_x + row.bar_width == pytest.approx(WIDTH - 6, abs=0.2)
    assert row.look == "pass"


def test_no_bar_where_no_retry_is_legal() -> None:
    """A retry of exhausted quota has no legal interval at all."""
    (row,) = chart_rows([sample.quota_retried()])
    assert (row.bar_width, row.legal_interval, row.off) == (
        0.0,
        "no retry is legal",
        "should not retry",
    )


def test_a_wait_that_the_model_does_not_judge_is_not_green() -> None:
    """Where the document is silent, nothing is legal or illegal, and nothing is earned."""
    run = sample.quota_retried()
    silent = run.waits[0].model_copy(update={"legal": True, "basis": "the document does not say"})
    (row,) = chart_rows([run.model_copy(update={"waits": (silent,)})])
    assert (row.look, row.judged, row.legal_interval) == (
        "none",
        "not judged",
        "the model names none",
    )


def test_seeds_and_calls_with_one_schedule_share_a_row() -> None:
    """Eight seeds of five waits are five rows of eight ticks, in the order of the retries."""
    rows = chart_rows([sample.reference_six(seed) for seed in range(8)])
    assert [row.retry_number for row in rows] == [1, 2, 3, 4, 5]
    assert all(row.legal_ticks.count("M") == 8 for row in rows)
    first, _ = chart_rows([sample.crowd()])
    assert first.judged == "10 of 50 illegal"
    assert first.off == "up to 3.5 s too early"
    assert first.dense


def test_a_hundred_equal_waits_are_one_tick() -> None:
    """What a pixel cannot show is not written, however many runs there are."""
    run = sample.retry_after()
    (row,) = chart_rows([run] * 100)
    assert (row.legal_ticks.count("M"), row.who, row.dense) == (1, "100 waits", True)
