"""Answers of status 200 that are no whole ones: each is imported as what it was, and played so.

Each recording has the shape twice: whole, and as a stream.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import pytest

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.recordings.exchange import OddityKind
from faultclock.recordings.importing import Imported, import_recording
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from tests.recordings.builders import CHAT, dialects, imported, interaction, kinds
from tests.recordings.planted import CASSETTES

_prepared = cache(prepare)

RESPONSES = "faultclock.subjects.clients.openai_sdk:openai_responses"
#: Recording, real client, how it ends, and what the client sees of it, whole and streamed.
ENDINGS = [
    ("openai-content-filter", "openai-async", "filtered", "content_filter"),
    ("openai-length", "openai-async", "length", "length"),
    ("openai-refusal", "openai-async", "refused", None),
    ("anthropic-refusal", "anthropic", "refused", "refusal"),
    ("anthropic-max-tokens", "anthropic", "length", "max_tokens"),
    ("gemini-block-reason", "google-genai", "filtered", None),
    ("gemini-safety", "google-genai", "filtered", "SAFETY"),
    ("responses-incomplete", RESPONSES, "length", "max_output_tokens"),
]


def recording(name: str) -> Imported:
    """Return what comes of one of the recordings."""
    path = CASSETTES / "endings" / f"{name}.yaml"
    return import_recording(path.read_bytes(), str(path), family="recorded", dialects=dialects)


def scenario_of(name: str) -> Scenario:
    """Return its only scenario."""
    (written,) = recording(name).scenarios
    return written.scenario


def played(scenario: Scenario, subject: str) -> Trace:
    """Return the trace of a real client in it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_one(scenario, _prepared(subject), 0, isolate=True)


def effects(scenario: Scenario) -> list[dict[str, Any]]:
    """Return what the faults do, as a file has them."""
    return [rule.then.model_dump(mode="json") for rule in scenario.provider.faults]


@pytest.mark.parametrize(("name", "subject", "how", "reason"), ENDINGS)
def test_an_answer_that_is_not_whole_is_played_to_a_real_client(
    name: str, subject: str, how: str, reason: str | None
) -> None:
    """Whole and streamed: the provider ends it so, and the client sees that ending."""
    scenario = scenario_of(name)
    assert [(task.id, task.stream) for task in scenario.tasks] == [
        ("call-1", False),
        ("call-2", True),
    ]
    assert [(effect["kind"], effect["how"]) for effect in effects(scenario)] == [
        ("answer_ends", how)
    ] * 2
    trace = played(scenario, subject)
    ended = [event.payload for event in trace.of_kind("http.exchange_ended")]
    assert [item.get("ends") for item in ended] == [how, how]
    assert not list(trace.of_kind("fault.unmet"))
    told = [
        event.payload for kind in ("returned", "raised") for event in trace.of_kind(f"call.{kind}")
    ]
    assert len(told) == 2
    if reason is not None:
        assert {item.get("finish_reason") for item in told} == {reason}


def test_an_error_inside_a_choice_is_played_to_a_real_client() -> None:
    """It stays in the choice, with the status that it says; in a stream it is an error event."""
    scenario = scenario_of("openrouter-error-in-choice")
    assert [effect["kind"] for effect in effects(scenario)] == [
        "ok_with_error_body",
        "stream_error",
    ]
    assert {payload.status for payload in scenario.provider.payloads.values()} == {502}
    whole = next(iter(scenario.provider.payloads.values()))
    assert whole.body is not None
    (choice,) = whole.body["choices"]
    assert choice["error"]["code"] == 502
    assert choice["message"]["content"] == "(a recorded text)"
    trace = played(scenario, "openai-async")
    assert not list(trace.of_kind("fault.unmet"))
    errors = [event.payload["error"] for event in trace.of_kind("http.response")]
    assert errors[0]["code"] == 502


def test_what_was_said_before_the_end_is_kept() -> None:
    """The text of the answer is said as far as it was recorded, and nothing where nothing was."""
    cut = effects(scenario_of("anthropic-max-tokens"))
    assert all(effect["after_tokens"] > 100 for effect in cut)
    assert [effect["after_tokens"] for effect in effects(scenario_of("gemini-block-reason"))] == [
        0,
        0,
    ]


def test_an_ending_is_told() -> None:
    """With its place, and in the title of the scenario."""
    got = recording("openai-refusal")
    assert [kind for kind in kinds(got) if kind == OddityKind.NOT_WHOLE] == [
        OddityKind.NOT_WHOLE
    ] * 2
    assert got.scenarios[0].scenario.title == "Recorded: a refusal ×2"


def test_an_ending_that_cannot_be_played_is_told_and_not_hidden() -> None:
    """A reason that no API here has, and a tool call that was cut."""
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a'}}
    odd = {"index": 0, "message": {"content": "Hi"}, "finish_reason": "insufficient_resource"}
    cut = {"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "length"}
    for choice in (odd, cut):
        got = imported(interaction(200, {"choices": [choice]}))
        assert OddityKind.NOT_WHOLE in kinds(got)
        assert not got.scenarios[0].scenario.provider.faults


PAGES = [
    (200, "text/html", "<!DOCTYPE html><p>Sign in</p>"),
    (203, "text/plain", "go away"),
    (302, "text/html", "<html>moved</html>"),
    (200, "application/json", '{"status": "queued", "id": 7}'),
]


@pytest.mark.parametrize(("status", "content_type", "body"), PAGES)
def test_a_page_with_a_good_status_is_kept_as_it_was(
    status: int, content_type: str, body: str
) -> None:
    """Its status, its body and its content type; a real client meets just that."""
    got = imported(interaction(status, body, told={"Content-Type": content_type}))
    scenario = got.scenarios[0].scenario
    (effect,) = effects(scenario)
    (payload,) = scenario.provider.payloads.values()
    assert (effect["kind"], payload.status) == ("ok_with_error_body", status)
    assert effect.get("status", 200) == status
    assert payload.content_type == content_type
    assert payload.text is not None
    assert payload.text.split() == body.split() or content_type == "application/json"
    trace = played(scenario, "openai-async")
    answer = next(trace.of_kind("http.response")).payload
    assert answer["status"] == status


@pytest.mark.parametrize(("status", "length"), [(200, "0"), (302, "")])
def test_an_answer_without_a_body_is_played_without_one(status: int, length: str) -> None:
    """It needs no payload, and no client gets an answer of it."""
    told = {"Content-Length": length} if length else {}
    scenario = imported(interaction(status, "", told=told)).scenarios[0].scenario
    (effect,) = effects(scenario)
    assert (effect["kind"], effect.get("error")) == ("ok_with_error_body", None)
    assert effect.get("status", 200) == status
    assert not scenario.provider.payloads
    (answer,) = played(scenario, "reference-common").of_kind("http.response")
    assert (answer.payload["status"], answer.payload["error"]) == (status, None)


def test_an_error_in_a_good_status_has_the_status_that_its_body_says() -> None:
    """Only where it says none, one is made up."""
    for code, status in ((400, 400), ("429", 429), ("server_error", 500), (200, 500)):
        error = {"error": {"message": "m", "type": "t", "code": code}}
        got = imported(interaction(200, error, url=CHAT))
        (payload,) = got.scenarios[0].scenario.provider.payloads.values()
        assert payload.status == status
        assert payload.source.endswith("what its body says") is (status != 500)
