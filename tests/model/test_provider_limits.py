"""What a file may say of limits, overload and pace, and what it is told when it says nonsense."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from faultclock.model.scenario.provider_limits import Overload, Pace, ProviderLimits
from faultclock.model.scenario.provider_script import FallbackProvider, ProviderScript
from faultclock.model.scenario.scenario import Scenario, scenario_digest, scenario_of


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "at least one of requests, tokens and quota"),
        ({"requests": {"per_minute": 0}}, "greater than or equal to 1"),
        ({"requests": {"per_minute": 3, "burst": 4}}, "burst: 4 is more than the 3 of a minute"),
        ({"tokens": {"per_minute": 10, "burst": 11}}, "burst: 11 is more than the 10"),
        ({"quota": {}}, "exactly one of requests and tokens"),
        ({"quota": {"requests": 1, "tokens": 1}}, "exactly one of requests and tokens"),
        ({"quota": {"requests": 1, "resets_after": "0s"}}, "would be no quota"),
        ({"quota": {"requests": 1}, "early_penalty": "1s"}, "no request is early"),
        ({"requests": {"per_minute": 1}, "early_penalty": 5}, "write a number and a unit"),
        ({"requests": {"per_minute": 1}, "per": "host"}, "'key' or 'provider'"),
        ({"requests": {"per_minute": 1, "per_hour": 1}}, "per_hour"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any], message: str) -> None:
    """In words that say what to write instead."""
    with pytest.raises(ValidationError, match=message):
        ProviderLimits.model_validate(limits)


@pytest.mark.parametrize(
    ("overload", "message"),
    [
        ({}, "exactly one of at_once and percent"),
        ({"at_once": 1, "percent": 1}, "exactly one of at_once and percent"),
        ({"at_once": 1, "from_time": "2s", "until_time": "2s"}, "it would never hold"),
        ({"percent": 100}, "it would never heal"),
        ({"at_once": 0}, "it would never heal"),
        ({"at_once": 1, "tells_when": True}, "the time to tell"),
        ({"percent": 101}, "less than or equal to 100"),
    ],
)
def test_an_overload_that_makes_no_sense_is_refused(overload: dict[str, Any], message: str) -> None:
    """One that never heals is a fault for every attempt, and is written as one."""
    with pytest.raises(ValidationError, match=message):
        Overload.model_validate(overload)


@pytest.mark.parametrize(
    ("pace", "message"),
    [
        ({}, "at least one of first_token, token and tokens_per_second"),
        (
            {"tokens_per_second": 5, "token": {"kind": "constant", "value": "1ms"}},
            "they say the same",
        ),
        ({"first_token": {"kind": "uniform", "low": "2s", "high": "1s"}}, "high: 1s is below low"),
        (
            {"token": {"kind": "lognormal", "median": "2s", "p99": "2s", "cap": "9s"}},
            "p99: 2s is not above median: 2s",
        ),
        (
            {"token": {"kind": "pareto", "minimum": "1s", "p99": "3s", "cap": "2s"}},
            "cap: 2s is below p99: 3s",
        ),
        ({"token": {"kind": "pareto", "minimum": "0s", "p99": "3s", "cap": "4s"}}, "greater than"),
        ({"token": {"kind": "normal", "value": "1s"}}, "normal"),
    ],
)
def test_a_pace_that_makes_no_sense_is_refused(pace: dict[str, Any], message: str) -> None:
    """A tail has to be above what is usual, and to end somewhere."""
    with pytest.raises(ValidationError, match=message):
        Pace.model_validate(pace)


def _scenario(**changes: Any) -> Scenario:
    return scenario_of({"id": "a/b", "title": "t", "why": "w", **changes})


def test_a_provider_without_a_memory_is_written_as_before() -> None:
    """So no digest of an older scenario changes."""
    written = _scenario().provider.model_dump(mode="json")
    assert written.keys().isdisjoint({"limits", "overload", "pace"})
    assert "key" not in _scenario().model_dump(mode="json")["tasks"][0]


def test_what_is_written_is_read_back_the_same() -> None:
    """A trace holds its scenario, and is replayed from it."""
    provider = {
        "limits": {
            "per": "provider",
            "requests": {"per_minute": 20, "burst": 3},
            "tokens": {"per_minute": 100, "per_request": 7},
            "quota": {"tokens": 500, "resets_after": "1h"},
            "early_penalty": "30s",
        },
        "overload": {"at_once": 2, "until_time": "1m", "tells_when": True},
        "pace": {"first_token": {"kind": "pareto", "minimum": "1s", "p99": "9s", "cap": "1m"}},
    }
    scenario = _scenario(provider=provider)
    again = scenario_of(scenario.model_dump(mode="json"))
    assert again == scenario
    assert scenario_digest(again) == scenario_digest(scenario)


def test_limits_are_faults_and_share_their_names() -> None:
    """A trace tells by the id alone which of them was met."""
    rule = {"id": "quota", "then": {"kind": "connect_refused"}}
    provider = {"limits": {"quota": {"requests": 1}}, "faults": [rule]}
    with pytest.raises(ValidationError, match="two rules have the same name 'quota'"):
        _scenario(provider=provider)


def test_a_script_names_each_of_its_refusals_with_its_place() -> None:
    """Whoever checks names needs both, for any provider of a chain."""
    script = {
        "limits": {"tokens": {"per_minute": 9}, "quota": {"requests": 1, "error": "gone"}},
        "overload": {"percent": 5, "until_time": "1s"},
    }
    for made in (
        ProviderScript.model_validate(script),
        FallbackProvider.model_validate({"id": "second", **script}),
    ):
        assert {place: rule.error for place, rule in made.refusals_by_place} == {
            ("overload",): "overloaded",
            ("limits", "tokens"): "rate_limit_tokens",
            ("limits", "quota"): "gone",
        }


def test_only_a_provider_adapter_shows_a_key_by_name() -> None:
    """A runtime has the one of its host."""
    task = {"id": "ask", "key": "second"}
    assert _scenario(tasks=[task]).tasks[0].key == "second"
    with pytest.raises(ValidationError, match="task 'ask': key is for the role provider_adapter"):
        _scenario(role="runtime", tasks=[task])
