"""`--vary-everything` declares that whatever a scenario holds of the world may vary."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.cli.import_ import dialect_or_none
from faultclock.explore.drawing import Drawing
from faultclock.explore.everything import vary_everything
from faultclock.load.scenario import find_scenarios, load_scenario
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.scenario.varied import VARY, choices_at
from faultclock.model.scenario.vary import AnyOf, Span
from faultclock.recordings.importing import Options, import_recording
from tests.recordings.planted import CASSETTES

RECORDED = CASSETTES / "openai-chat" / "good.yaml"


def recorded(tmp_path: Path) -> Scenario:
    """Return a scenario that was imported from a recording."""
    found = import_recording(
        RECORDED.read_bytes(),
        str(RECORDED),
        family="recorded",
        dialects=dialect_or_none,
        options=Options(texts_kept=False),
    )
    path = tmp_path / f"{found.scenarios[0].slug}.yaml"
    path.write_text(found.scenarios[0].text)
    return load_scenario(path)


def shipped(id_: str) -> Scenario:
    """Return a shipped scenario."""
    return find_scenarios((id_,))[0].runnable[0]


def test_an_imported_scenario_varies_in_more_than_seed_and_order(tmp_path: Path) -> None:
    """It declares nothing, so without the declaration no run of it differs in a value."""
    scenario = recorded(tmp_path)
    assert choices_at(scenario) == ()
    everything = vary_everything(scenario)
    paths = {choice.path for choice in choices_at(everything)}
    assert {"provider.latency", "provider.jitter", "provider.chunk_interval"} <= paths
    drawing = Drawing(everything, 0)
    tapes = [drawing.planned(number).tape for number in range(2, 30)]
    streams = {stream for tape in tapes for stream in tape.choices if stream.startswith(VARY)}
    assert len(streams) >= 3
    assert all(not Drawing(scenario, 0).planned(n).tape.choices for n in range(2, 10))


def test_moments_places_and_attempts_vary_and_rules_may_be_missing() -> None:
    """What happens when, where in the bytes, to which attempt, and whether."""
    cut = vary_everything(shipped("provider-transient/stream-cut-by-close")).vary
    crash = vary_everything(shipped("resume-drift/effect-is-not-repeated")).vary
    assert cut is not None
    assert crash is not None
    assert isinstance(cut.values["provider.faults.cut.then.after_chunks"], Span)
    attempts = cut.values["provider.faults.cut.when.attempts"]
    assert isinstance(attempts, AnyOf)
    assert {"2", "every"} <= set(attempts.any_of)
    assert cut.may_lack == ("cut",)
    assert "crashes.killed.on.nth" in crash.values
    assert "crashes.killed.restart_after" in crash.values
    assert "tools.write_file.takes" in crash.values
    assert crash.may_lack == ("killed",)


def test_what_a_scenario_is_about_stays() -> None:
    """Bodies, headers, statuses, and the time that the caller gives."""
    given = {"status", "headers", "timeout", "error", "retry", "dialect", "stream"}
    for family in ("rate-limits", "tools"):
        for item in find_scenarios((family,))[:5]:
            vary = vary_everything(item.runnable[0]).vary
            assert vary is not None
            assert not {part for path in vary.values for part in path.split(".")} & given


def test_a_declaration_in_the_file_comes_first() -> None:
    """Its range stays as it was written."""
    scenario = next(
        item.runnable[0] for item in find_scenarios(("exploration",)) if item.scenario.vary
    )
    assert scenario.vary is not None
    everything = vary_everything(scenario).vary
    assert everything is not None
    assert everything.values.items() >= scenario.vary.values.items()
    assert set(everything.may_lack) >= set(scenario.vary.may_lack)


@pytest.mark.parametrize("family", ["rate-limits", "tools", "approvals", "session-store-contract"])
def test_each_end_is_a_scenario_that_a_file_could_hold(family: str) -> None:
    """Every choice is tried alone, and the same scenario always gives the same declaration."""
    for item in find_scenarios((family,))[:12]:
        scenario = item.runnable[0]
        everything = vary_everything(scenario)
        assert choices_at(everything)
        assert scenario_digest(everything) == scenario_digest(vary_everything(scenario))
        drawing = Drawing(everything, 7)
        varied = [drawing.planned(number).tape.choices for number in range(2, 12)]
        assert any(varied)
