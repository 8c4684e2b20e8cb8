"""Timelines: lanes for a few calls, a strip for a crowd."""

from __future__ import annotations

from itertools import pairwise

from faultclock.render.strip import draw_strip
from faultclock.render.timeline import draw_timeline
from tests.render import sample_report as sample


def test_the_sdk_starts_before_its_legal_window() -> None:
    """The picture of the commonest defect: the retry's bar ends before its window begins."""
    drawing = draw_timeline(sample.sdk_schedule())
    assert drawing is not None
    assert [bar.label for bar in drawing.bars] == ["429", "429", "429"]
    assert drawing.bars[1].x < drawing.windows[0].x
    assert not any(wait.legal for wait in drawing.waits)
    assert drawing.breaks
    assert [lane.name for lane in drawing.lanes] == ["subject", "provider", "harness"]


def test_a_legal_retry_starts_inside_its_window() -> None:
    """Each of the reference's five retries stands over its own window."""
    drawing = draw_timeline(sample.reference_six())
    assert drawing is not None
    for bar, window in zip(drawing.bars[1:], drawing.windows, strict=True):
        assert window.x <= bar.x <= window.x + window.width


def test_the_expected_interval_is_the_largest_thing_on_its_lane() -> None:
    """It is what one looks for: taller than any attempt, labelled, and named in the caption."""
    for run in (sample.sdk_schedule(), sample.reference_six()):
        drawing = draw_timeline(run)
        assert drawing is not None
        assert min(window.height for window in drawing.windows) > 2 * drawing.bars[0].height
        assert min(window.width for window in drawing.windows) >= 14
        assert drawing.windows[0].label.startswith("expected ")
    assert "too short: expected 4 s to 6 s" in draw_timeline(sample.sdk_schedule()).says[0]  # type: ignore[union-attr]


def test_labels_of_expected_intervals_never_overlap() -> None:
    """A label that has no room is left out; pointing at the interval still shows it."""
    for run in sample.sdk_report().runs:
        drawing = draw_timeline(run)
        for one, other in pairwise(drawing.windows if drawing else ()):
            if one.label and other.label and one.y == other.y:
                half = (len(one.label) + len(other.label)) * 6.6 / 2
                assert other.label_x - one.label_x >= half


def test_two_calls_have_a_lane_each_and_a_broken_connection_is_marked() -> None:
    """Calls are kept apart, and the network speaks only when it has something to say."""
    drawing = draw_timeline(sample.reset_twice())
    assert drawing is not None
    assert [lane.note for lane in drawing.lanes[:2]] == ["ask/1", "plan/1"]
    assert "broken" in {mark.shape for mark in drawing.marks}
    assert "connection reset" in drawing.says[0]


def test_everything_is_drawn_inside_the_picture() -> None:
    """No bar, wait, window or mark leaves the drawing."""
    for run in sample.sdk_report().runs:
        drawing = draw_timeline(run)
        if drawing is None:
            continue
        ends = [bar.x + bar.width for bar in drawing.bars]
        ends += [window.x + window.width for window in drawing.windows]
        ends += [*(wait.end for wait in drawing.waits), *(mark.x for mark in drawing.marks)]
        assert all(0 < x < drawing.width for x in ends)
        assert all(0 < mark.y < drawing.base for mark in drawing.marks)


def test_a_crowd_is_a_strip_and_never_fifty_lanes() -> None:
    """Fifty calls: one thin row each, and the herd of the first instant on top."""
    run = sample.crowd()
    assert draw_timeline(run) is None
    strip = draw_strip(run)
    assert strip is not None
    assert strip.rows.spans.count("M") == 50
    assert strip.peak.says == "50 attempts start at 0 s"
    assert strip.rows.hasty.count("M") == 10
    assert "150 attempts" in strip.says


def test_a_strip_counts_the_calls_that_it_does_not_draw() -> None:
    """A cut is never silent."""
    strip = draw_strip(sample.crowd(130))
    assert strip is not None
    assert (strip.rows.spans.count("M"), strip.rows_left_out) == (100, 30)


def test_a_run_without_a_call_has_no_drawing() -> None:
    """Nothing seen, nothing drawn."""
    run = sample.retry_after().model_copy(update={"calls": (), "waits": ()})
    assert draw_timeline(run) is None
    assert draw_strip(run) is None
