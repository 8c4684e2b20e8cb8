"""The table of effects: what was done, beside what was said."""

from __future__ import annotations

from faultclock.render.effects import effect_rows
from tests.render import sample_report
from tests.render.sample_agent import agent_run


def test_an_effect_without_a_reply_is_told_apart_from_one_with() -> None:
    """Killed after the effect, then done again: both lines are there."""
    first, second = effect_rows(agent_run())
    assert (first.life, first.reply, first.again) == (1, "nothing: it was killed", False)
    assert (second.life, second.reply, second.again) == (2, "done", True)


def test_a_run_without_tools_has_no_rows() -> None:
    """There is nothing to list."""
    assert effect_rows(sample_report.sdk_schedule()) == ()
