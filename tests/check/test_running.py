"""What is made of a target: which of its runs are judged, and what is said of the others."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from faultclock.check.battery import battery_for
from faultclock.check.running import make_runs
from faultclock.check.target import take
from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import RunReport
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.adopt import adopt
from faultclock.subjects.registry import load_subject


@pytest.mark.parametrize(("dialect", "is_judged"), [("openai-chat", True), ("deepseek", False)])
def test_an_answer_that_the_provider_does_not_have_is_asked_and_not_judged(
    dialect: str, is_judged: bool
) -> None:
    """What a client does after it is shown; no rule says what it owes."""
    binding = dataclasses.replace(load_subject("reference"), dialects=(dialect,))
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


_FILE = """
from pydantic_ai import Agent

helper = Agent("openai-chat:gpt-5.2")


async def ask(prompt: str) -> str:
    return (await helper.run(prompt)).output
"""


@pytest.mark.parametrize(("name", "named"), [("ask", ["helper"]), ("helper", [])])
def test_a_function_that_asks_an_agent_shows_less_than_the_agent(
    name: str, named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has the rest is named, with the command that checks it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-simulated")
    (tmp_path / "mine.py").write_text(_FILE)
    others = take(adopt(f"{tmp_path / 'mine.py'}:{name}")).others
    assert [item.what for item in others] == named
    assert all(item.why.endswith("mine.py:helper") for item in others)
