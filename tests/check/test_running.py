"""What of a target's runs is judged by an error model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultclock.check.battery import battery_for
from faultclock.check.running import make_runs
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import RunReport
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.registry import load_subject


@pytest.mark.parametrize(("dialect", "is_judged"), [("openai-chat", True), ("deepseek", False)])
def test_an_answer_that_the_provider_does_not_have_is_asked_and_not_judged(
    dialect: str, is_judged: bool
) -> None:
    """What a client does after it is shown; no rule says what it owes."""
    binding = replace(load_subject("reference"), dialects=(dialect,))
    battery = battery_for(binding, "common", Abilities(streams="never"), ("rate-limits",))
    judged: list[RunReport] = []
    runs = make_runs(
        binding,
        replace(battery, scenarios=battery.scenarios[:1]),
        load_error_model("common"),
        spec="reference",
        streams=False,
        jobs=1,
        on_run=judged.append,
    )
    titles = {run.title for run in judged}
    assert "Status 503, every time" in titles
    assert ("Status 529, every time" in titles) is is_judged
    assert runs.profile is not None
