"""A scenario that names no dialect is played in the one that its subject speaks."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.errors import HarnessError, InputError
from faultclock.load.payloads import load_dialect
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.fault import HttpError
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.scenario.vary import Settle, Vary
from faultclock.run.bind_scenario import bind_scenario, cannot_be_said, payloads_of
from faultclock.subjects.binding import Binding, provider_adapter

LIMITED = {"id": "f", "then": {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}}


def adapter(**options: Any) -> Binding:
    """Return a bound provider adapter."""
    return provider_adapter(id="adapter", **options)(lambda request: "")


def scenario(**provider: Any) -> Scenario:
    """Return a scenario with that provider."""
    values = {"id": "a/b", "title": "T", "why": "W", "provider": provider}
    return scenario_of(values)


def test_the_dialect_and_its_place_are_filled_in() -> None:
    """So a trace says what was spoken, and where."""
    played = bind_scenario(scenario(faults=[LIMITED]), adapter(dialect="anthropic-messages"))
    known = load_dialect("anthropic-messages")
    assert played.provider.dialect == "anthropic-messages"
    assert played.provider.endpoint is not None
    assert played.provider.endpoint.base_url == known.base_url
    assert payloads_of(played.provider) == known.payloads


def test_it_is_done_once() -> None:
    """What is spoken already stays as it is."""
    played = bind_scenario(scenario(), adapter())
    assert bind_scenario(played, adapter()) is played


def test_one_scenario_is_bound_to_each_subject_and_each_scenario_to_one() -> None:
    """What was bound last is kept for the same two, and for no others."""
    written, spoken = scenario(), adapter()
    other = adapter(dialect="anthropic-messages")
    first = bind_scenario(written, spoken)
    assert bind_scenario(written, spoken) is first
    assert bind_scenario(written, other).provider.dialect == "anthropic-messages"
    assert bind_scenario(written, spoken).provider.dialect == first.provider.dialect
    slow = scenario(latency="1s")
    assert bind_scenario(slow, spoken).provider.latency == SECOND_NS


def test_what_may_vary_is_left_out_and_faults_end_when_they_should() -> None:
    """A run is one of what is written; what it says of other runs is no part of it."""
    written = scenario(faults=[LIMITED])
    vary = Vary.model_validate({"may_lack": ["f"]})
    settle = Settle.model_validate({"faults_end": "10s"})
    played = bind_scenario(
        written.model_copy(update={"vary": vary, "settle": settle}),
        adapter(),
    )
    assert played.vary is None
    assert played.settle == settle
    assert [rule.when.until_time for rule in played.provider.faults] == [10 * SECOND_NS]
    assert bind_scenario(played, adapter()) is played
    assert bind_scenario(written.model_copy(update={"vary": vary}), adapter()) == bind_scenario(
        written, adapter()
    )


def test_a_place_of_the_scenarios_own_stays() -> None:
    """Such as a proxy in front of the provider."""
    endpoint = {"base_url": "https://proxy.example.com/v1", "model": "m"}
    played = bind_scenario(scenario(endpoint=endpoint), adapter(dialect="anthropic-messages"))
    assert played.provider.endpoint is not None
    assert played.provider.endpoint.model_dump() == endpoint


def test_another_dialect_than_the_subjects_is_refused() -> None:
    """It would be asked in a language that it does not speak."""
    with pytest.raises(InputError, match="the subject speaks anthropic-messages"):
        bind_scenario(scenario(dialect="openai-chat"), adapter(dialect="anthropic-messages"))


@pytest.mark.parametrize(
    ("arguments", "said"), [('["notes.txt"]', True), ('{"path": "no', False), ("{}", False)]
)
def test_arguments_that_are_no_object_are_left_out_where_they_have_to_be_one(
    arguments: str, said: bool
) -> None:
    """One that was cut is closed by such a provider, and a text is sent by another as it is."""
    asks = scenario(tool_calls=[{"name": "write_file", "arguments": arguments}])
    reason = cannot_be_said(asks, adapter(dialect="gemini-generate-content"))
    assert ("sends the arguments of a tool as an object" in (reason or "")) is said
    assert cannot_be_said(asks, adapter(dialect="openai-chat")) is None


def test_an_error_that_a_dialect_has_not_can_be_the_scenarios_own() -> None:
    """Recorded errors stand in the scenario itself."""
    fault = {"id": "f", "then": {"kind": "http_error", "status": 418, "error": "teapot"}}
    assert cannot_be_said(scenario(faults=[fault]), adapter()) is not None
    own = {"teapot": {"status": 418, "body": {"error": {}}, "source": "made up"}}
    assert cannot_be_said(scenario(faults=[fault], payloads=own), adapter()) is None


def failing(status: int, error: str, **script: Any) -> Scenario:
    """Return a scenario with one error status."""
    fault = {"id": "f", "then": {"kind": "http_error", "status": status, "error": error}}
    return scenario(faults=[fault], **script)


def status_of(played: Scenario) -> int:
    """Return the status of its only fault."""
    (rule,) = played.provider.faults
    assert isinstance(rule.then, HttpError)
    return rule.then.status


def test_an_error_has_the_status_that_its_provider_gives_it() -> None:
    """A body that says 400 under a status line that says 401 comes from no provider."""
    gemini = adapter(dialect="gemini-generate-content")
    assert status_of(bind_scenario(failing(401, "invalid_api_key"), gemini)) == 400
    assert status_of(bind_scenario(failing(401, "invalid_api_key"), adapter())) == 401
    played = bind_scenario(failing(401, "invalid_api_key"), gemini)
    assert bind_scenario(played, gemini) is played


def test_a_status_that_is_not_the_usual_one_is_meant() -> None:
    """So is one in a scenario that names its dialect, and that of a recorded error."""
    gemini = adapter(dialect="gemini-generate-content")
    assert status_of(bind_scenario(failing(418, "invalid_api_key"), gemini)) == 418
    named = failing(401, "invalid_api_key", dialect="gemini-generate-content")
    assert status_of(bind_scenario(named, gemini)) == 401
    own = {"invalid_api_key": {"status": 401, "body": {"error": {}}, "source": "made up"}}
    assert status_of(bind_scenario(failing(401, "invalid_api_key", payloads=own), gemini)) == 401


def test_a_limit_that_is_none_elsewhere_is_another_scenario() -> None:
    """Whether a 402 is retried is another question than whether a 429 is."""
    quota = failing(429, "insufficient_quota")
    assert cannot_be_said(quota, adapter()) is None
    reason = cannot_be_said(quota, adapter(dialect="deepseek"))
    assert reason == "deepseek answers 'insufficient_quota' with 402, not with 429"


def test_a_dialect_that_does_not_exist_is_told_with_near_names() -> None:
    """A binding may name anything."""
    with pytest.raises(HarnessError, match="openai-chat"):
        bind_scenario(scenario(), adapter(dialect="openai-chatt"))


def test_a_subject_may_speak_several_dialects() -> None:
    """The first is the one in which a scenario is played that names none."""
    several = adapter(dialect=("openai-chat", "openrouter"))
    assert bind_scenario(scenario(), several).provider.dialect == "openai-chat"
    played = bind_scenario(scenario(dialect="openrouter"), several)
    assert played.provider.endpoint is not None
    assert played.provider.endpoint.base_url == load_dialect("openrouter").base_url


def test_an_answer_that_a_provider_cannot_give_is_said_by_name() -> None:
    """Mistral filters nothing, and Anthropic's model can refuse."""
    refused = scenario(faults=[{"id": "f", "then": {"kind": "answer_ends", "how": "refused"}}])
    reason = cannot_be_said(refused, adapter(dialect="mistral"))
    assert reason == "mistral has no answer that ends so: refused"
    assert cannot_be_said(refused, adapter(dialect="anthropic-messages")) is None
