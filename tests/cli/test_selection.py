"""A run is made of what was named, as far as it is for subjects of that role."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.cli.selection import crashed_at, fitting, of_variant, playable, without_root
from faultclock.errors import InputError, UnknownNameError
from faultclock.load.scenario import LoadedScenario
from faultclock.model.scenario.scenario import scenario_of
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding, provider_adapter


def loaded(id_: str, role: str = "runtime", **changes: Any) -> LoadedScenario:
    """Return a scenario as it comes from a file."""
    values = {"id": id_, "title": "T", "why": "W", "role": role}
    scenario = scenario_of(values | changes)
    return LoadedScenario(path=f"scenarios/{id_}.yaml", scenario=scenario)


FOUND = (loaded("limits/one", "provider_adapter"), loaded("turns/one"), loaded("turns/two"))


def agent() -> Binding:
    """Return a bound runtime."""
    return runtime(id="agent")(lambda surroundings: surroundings)


def adapter() -> Binding:
    """Return a bound provider adapter."""
    return provider_adapter(id="adapter")(lambda request: "")


def ids(found: tuple[LoadedScenario, ...]) -> list[str]:
    """Return the ids of scenarios."""
    return [item.scenario.id for item in found]


@pytest.mark.parametrize("selectors", [(), ("*",), ("limits", "turns"), ("scenarios",)])
def test_many_scenarios_are_those_of_the_role(selectors: tuple[str, ...]) -> None:
    """What is for other subjects is passed over."""
    assert ids(fitting(FOUND, selectors, agent(), "stud-cli")) == ["turns/one", "turns/two"]
    assert ids(fitting(FOUND, selectors, adapter(), "stud-cli")) == ["limits/one"]


@pytest.mark.parametrize("selector", ["limits/one", "scenarios/limits/one.yaml"])
def test_a_single_scenario_must_fit(selector: str) -> None:
    """Named by its id or its file, it is refused and not passed over."""
    with pytest.raises(InputError, match="limits/one is a scenario for role provider_adapter"):
        fitting(FOUND, ("turns", selector), agent(), "stud-cli")


def test_what_is_written_for_other_error_models_is_passed_over() -> None:
    """A scenario without a list is for every model; one that is named itself is run by any."""
    found = (loaded("turns/one", models=("afk",)), loaded("turns/two"))
    assert ids(fitting(found, ("turns",), agent(), "afk")) == ["turns/one", "turns/two"]
    assert ids(fitting(found, ("turns",), agent(), "stud-cli")) == ["turns/two"]
    assert ids(fitting(found, ("turns/one",), agent(), "stud-cli")) == ["turns/one", "turns/two"]


def test_a_selection_that_no_scenario_is_written_for_is_refused() -> None:
    """With the models that they are for."""
    found = (loaded("turns/one", models=("afk", "relavium")),)
    with pytest.raises(InputError, match="not written for the error model stud-cli") as caught:
        fitting(found, ("turns",), agent(), "stud-cli")
    assert "afk and relavium" in (caught.value.hint or "")


def test_a_selection_in_which_nothing_fits_is_refused() -> None:
    """With what it had instead."""
    with pytest.raises(InputError, match="no scenario fits: the subject agent") as caught:
        fitting(FOUND[:1], ("limits",), agent(), "stud-cli")
    assert caught.value.hint == "selected were scenarios for provider_adapter"


def test_a_family_of_which_nothing_fits_is_passed_over_by_name() -> None:
    """Beside one that does: whoever named both waits for both. A pattern over all names none."""
    found = (*FOUND, loaded("flows/one", models=("afk", "relavium")))
    selectors = ("turns", "limits", "flows")
    fits = fitting(found, selectors, agent(), "stud-cli")
    chosen, others = playable(fits, selectors, agent(), found)
    assert ids(chosen) == ["turns/one", "turns/two"]
    assert {item.scenario: item.because for item in others} == {
        "limits/one": "for role provider_adapter",
        "flows/one": "for the error model afk or relavium",
    }
    assert playable(fits, ("*",), agent(), found)[1] == ()


def test_one_variant_can_be_chosen() -> None:
    """By its name; a name that is not there is told with those that are."""
    scenarios = [item.scenario.model_copy(update={"variant": item.path}) for item in FOUND]
    assert of_variant(scenarios, FOUND[1].path) == (scenarios[1],)
    assert of_variant(scenarios, None) == tuple(scenarios)
    with pytest.raises(UnknownNameError, match="unknown variant 'x'"):
        of_variant(scenarios, "x")


def test_a_crash_can_be_put_after_an_event() -> None:
    """Into every scenario that is run, if its subject can be killed."""
    scenarios = [item.scenario for item in FOUND]
    assert crashed_at(scenarios, None) == tuple(scenarios)
    (crashed,) = crashed_at(scenarios[1:2], 17)
    assert crashed.variant == "crash after event 17"
    with pytest.raises(InputError, match="can be killed"):
        crashed_at(scenarios, 17)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("{here}/agent.py:subject", "agent.py:subject"),
        ("{here}/deep/mine.yaml", "deep/mine.yaml"),
        ("agent.py:subject", "agent.py:subject"),
        ("package.module:subject", "package.module:subject"),
        ("reference-runtime", "reference-runtime"),
    ],
)
def test_a_report_names_files_from_the_working_folder(
    given: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An absolute path holds a user's or a machine's name."""
    monkeypatch.chdir(tmp_path)
    assert without_root(given.format(here=tmp_path)) == written


def test_what_the_subjects_dialect_has_not_is_passed_over_by_name() -> None:
    """A scenario in another dialect, and one about an error that the provider does not have."""
    fault = {"id": "f", "then": {"kind": "http_error", "status": 400, "error": "missing_parameter"}}
    found = (
        loaded("limits/one", "provider_adapter"),
        loaded("limits/other", "provider_adapter", provider={"dialect": "http-json"}),
        loaded("limits/unknown", "provider_adapter", provider={"faults": [fault]}),
    )
    chosen, others = playable(found, ("limits",), adapter())
    assert ids(chosen) == ["limits/one"]
    assert {item.scenario: item.because for item in others} == {
        "limits/other": "it is in the dialect http-json, and the subject speaks openai-chat",
        "limits/unknown": "openai-chat has no error 'missing_parameter'",
    }


def test_one_that_is_named_itself_must_be_playable() -> None:
    """And a selection of nothing else is no empty green."""
    found = (loaded("limits/other", "provider_adapter", provider={"dialect": "http-json"}),)
    for selector in ("limits/other", "limits"):
        with pytest.raises(InputError, match="the subject speaks openai-chat"):
            playable(found, (selector,), adapter())


def test_files_that_are_named_one_by_one_are_chosen_as_those_of_a_folder_are() -> None:
    """A shell makes names of a pattern: one in another dialect stops no run of the others."""
    found = (
        loaded("limits/one", "provider_adapter"),
        loaded("limits/other", "provider_adapter", provider={"dialect": "http-json"}),
    )
    chosen, others = playable(found, ("limits/one", "limits/other"), adapter())
    assert (chosen, others) == playable(found, ("limits",), adapter())
    assert ids(chosen) == ["limits/one"]
    assert [item.scenario for item in others] == ["limits/other"]
