"""Recordings become scenarios: what is made of each of our own, and what never comes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import InputError
from faultclock.load.yaml_file import parse_document
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import ProviderAdapterScenario, Scenario
from faultclock.recordings.exchange import OddityKind
from faultclock.recordings.importing import Imported, Options, import_recording, slug_of
from tests.recordings.builders import CHAT, dialects, imported, interaction, kinds
from tests.recordings.fuzz import Tally, try_one
from tests.recordings.planted import CASSETTES, ODD, TEXTS, leaks

ERROR = {"error": {"message": "No.", "type": "server_error", "param": None, "code": None}}
GOOD = {
    "object": "chat.completion",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
}
#: Our own recordings to the titles of what is made of them, and the kinds of their oddities.
ODDLY: dict[str, tuple[list[str], set[str]]] = {
    "browser.har": (
        ["500 server_error, then reset before response, then an answer"],
        {"binary-value", "other-host", "transport-failure"},
    ),
    "class-in-header.yaml": (
        ["429 throttling_exception, then 403 access_denied_exception"],
        {"binary-value", "class-in-header"},
    ),
    "cut-off.yaml": (["429 rate_limit_exceeded"], {"cut-off", "other-host"}),
    "odd-bodies.yaml": (
        [
            "502 page, then 500 server_error, then an error upstream in a good status,"
            " then 429, and more"
        ],
        {
            "binary-value",
            "compressed-body",
            "duplicate-header",
            "empty-headers",
            "error-in-ok",
            "html-body",
            "length-disagrees",
            "missing-body",
            "no-response",
            "no-time",
            "odd-status",
            "parsed-body",
            "stream-without-end",
            "wrong-content-type",
        },
    ),
    "python-tags.yaml": (
        ["429 rate_limit_exceeded", "429 rate_limit_exceeded"],
        {"alias", "binary-value", "python-tag", "several-sessions"},
    ),
    "quota-of-a-project.json": (
        ["429 resource_exhausted", "403 permission_denied"],
        {"several-sessions"},
    ),
    "resource-in-host.yaml": (["429, then an answer"], set()),
    "ruby.yaml": (
        ["429 rate_limit_exceeded, then an answer"],
        {"binary-value", "foreign-tag"},
    ),
    "several-sessions.yaml": (
        [
            "429 rate_limit_exceeded, then 503 server_error, then an answer",
            "an error overloaded_error in a stream",
            "401 invalid_api_key",
        ],
        {"error-in-stream", "other-host", "several-sessions", "unknown-path"},
    ),
}


def read(path: Path, **options: Any) -> Imported:
    """Return what comes of a recording."""
    return import_recording(
        path.read_bytes(),
        str(path),
        family="recorded",
        dialects=dialects,
        options=Options(**options),
    )


def only(got: Imported) -> Scenario:
    """Return the only scenario."""
    (written,) = got.scenarios
    return written.scenario


def test_each_odd_recording_of_ours_has_its_row() -> None:
    """A recording that nobody looks at shows nothing."""
    assert {path.name for path in ODD.iterdir()} == set(ODDLY)


@pytest.mark.parametrize("name", sorted(ODDLY))
def test_an_odd_recording_becomes_what_it_shows(name: str) -> None:
    """Its scenarios by their titles, its oddities by their kinds, each with a line of the file."""
    titles, oddities = ODDLY[name]
    got = read(ODD / name)
    assert [item.scenario.title.removeprefix("Recorded: ") for item in got.scenarios] == titles
    assert {str(oddity.kind) for oddity in got.oddities} == oddities
    lines = (ODD / name).read_text("utf-8").count("\n") + 1
    assert all(1 <= oddity.place.line <= lines for oddity in got.oddities)
    used = sum(item.exchanges for item in got.scenarios)
    assert used + got.left_out == got.exchanges


@pytest.mark.parametrize("path", sorted(CASSETTES.rglob("*.*")), ids=lambda path: path.name)
@pytest.mark.parametrize("texts_kept", [False, True])
def test_nothing_that_was_planted_is_written(path: Path, texts_kept: bool) -> None:
    """Keys, ids, names of customers, addresses; and texts, unless they are asked for."""
    got = read(path, texts_kept=texts_kept)
    said = "\n".join(oddity.message for oddity in got.oddities)
    for written in [*(item.text for item in got.scenarios), said]:
        for text in TEXTS if texts_kept else ():
            written = written.replace(text, "")
        assert leaks(written) == []


@pytest.mark.parametrize("path", sorted(CASSETTES.rglob("*.*")), ids=lambda path: path.name)
def test_what_is_written_is_what_was_checked(path: Path) -> None:
    """The text loads to the scenario that is told, and the same input gives the same text."""
    got = read(path)
    for item in got.scenarios:
        assert (
            parse_document(item.text.encode(), "x").validate(ProviderAdapterScenario)
            == item.scenario
        )
    assert [item.text for item in read(path).scenarios] == [item.text for item in got.scenarios]


def test_a_refusal_is_kept_with_what_a_client_reads_of_it() -> None:
    """Status, body, content type, and the headers about limits; no others."""
    told = {"Retry-After": "7", "x-ratelimit-remaining-tokens": "0", "server": "x", "via": "y"}
    told["Content-Type"] = "application/json; charset=utf-8"
    scenario = only(imported(interaction(429, ERROR, told=told, at="10:00:00")))
    (payload,) = scenario.provider.payloads.values()
    assert payload.body == ERROR
    assert payload.content_type == "application/json; charset=utf-8"
    assert payload.headers == {"retry-after": "7", "x-ratelimit-remaining-tokens": "0"}
    assert payload.source == "recording tape.yaml, line 4 of 2026-03-02"


def test_attempts_of_a_call_become_faults_of_its_attempts() -> None:
    """Equal ones in a row are one rule; later ones are optional; after a good answer is none."""
    scenario = only(
        imported(
            interaction(429, ERROR, at="10:00:00"),
            interaction(429, ERROR, at="10:00:01"),
            interaction(503, ERROR, at="10:00:03"),
            interaction(200, GOOD, at="10:00:07"),
        )
    )
    (task,) = scenario.tasks
    rules = [
        (rule.when.task, rule.when.attempts.first, rule.when.attempts.last, rule.optional)
        for rule in scenario.provider.faults
    ]
    assert rules == [(task.id, 1, 2, False), (task.id, 3, 3, True)]


def test_a_call_that_failed_to_the_end_goes_on_failing() -> None:
    """Nobody knows whether one more attempt would have helped, and the file says so."""
    got = imported(interaction(429, ERROR), interaction(500, ERROR))
    first, last = only(got).provider.faults
    assert (first.when.attempts.last, last.when.attempts.last) == (1, None)
    assert "what more attempts would have met is not recorded" in got.scenarios[0].text


def test_a_task_starts_when_its_call_did() -> None:
    """Relative to the first one, in the whole seconds of the Date headers, which is told."""
    other = {"model": "m", "messages": [{"role": "user", "content": "Something else"}]}
    got = imported(
        interaction(200, GOOD, at="10:00:05"),
        interaction(200, GOOD, at="10:00:08", asked=other),
    )
    assert [task.at for task in only(got).tasks] == [0, 3 * SECOND_NS]
    assert "whole seconds" in got.scenarios[0].text


def test_a_time_that_nobody_recorded_is_marked_unknown() -> None:
    """Tasks do not begin together only because no Date was kept."""
    got = imported(interaction(200, GOOD), interaction(200, GOOD))
    assert [(task.at, task.after) for task in only(got).tasks] == [(0, None), (0, "call-1")]
    assert "Timing: unknown" in got.scenarios[0].text
    assert "unknown" in only(got).why
    assert OddityKind.NO_TIME in kinds(got)


def test_a_date_to_come_back_at_is_relative_to_its_answer() -> None:
    """The simulated clock shows another day."""
    told = {"Retry-After": "Mon, 02 Mar 2026 10:00:30 GMT"}
    scenario = only(imported(interaction(429, ERROR, told=told, at="10:00:00")))
    (rule,) = scenario.provider.faults
    assert rule.then.model_dump(mode="json")["headers"] == {"retry-after": {"http_date": "30s"}}


@pytest.mark.parametrize(
    "told",
    [
        {"Retry-After": "Mon, 02 Mar 2026 10:00:30 GMT"},
        {"anthropic-ratelimit-requests-reset": "2026-03-02T10:00:30Z"},
        {"x-ratelimit-reset": "1772445630"},
    ],
)
def test_an_instant_that_means_nothing_here_is_left_out_and_told(told: dict[str, str]) -> None:
    """A reset in the past would have a client do what it never did."""
    got = imported(interaction(429, ERROR, told=told))
    assert OddityKind.ABSOLUTE_TIME in kinds(got)
    assert only(got).provider.payloads["recorded_429_server_error"].headers == {}


def test_prompts_and_answers_are_kept_only_when_asked_for() -> None:
    """By default their length and digest stand for them; secrets go in both cases."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "Mail a@b.example today"}]}
    neutral = only(imported(interaction(200, GOOD, asked=asked)))
    kept = only(imported(interaction(200, GOOD, asked=asked), texts_kept=True))
    assert neutral.tasks[0].prompt.startswith("A recorded prompt of 22 characters, sha256 ")
    assert neutral.provider.reply.startswith("A recorded answer of 2 characters, sha256 ")
    assert kept.tasks[0].prompt == "Mail person_scrubbed1 today"
    assert kept.provider.reply == "Hi"


def test_a_conversation_has_its_answers_by_their_place() -> None:
    """As many messages of the assistant as a request holds, so far is it."""
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    choice = {"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    asked = {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "content": "found"},
        ],
    }
    scenario = only(
        imported(
            interaction(200, {"choices": [choice]}, at="10:00:00"),
            interaction(200, GOOD, asked=asked, at="10:00:01"),
            texts_kept=True,
        )
    )
    first, second = scenario.provider.replies
    assert (first.tool_calls[0].name, first.tool_calls[0].arguments) == ("look", '{"a": 1}')
    assert second.text == "Hi"


@pytest.mark.parametrize(
    ("url", "dialect", "endpoint"),
    [
        (CHAT, "openai-chat", None),
        ("https://api.openai.com/v1/responses", "openai-responses", None),
        ("https://api.anthropic.com/v1/messages", "anthropic-messages", None),
        ("https://x.openai.azure.com/openai/deployments/d/chat/completions", "azure-openai", None),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
            "gemini-generate-content",
            None,
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse",
            "bedrock-converse",
            None,
        ),
        ("https://openrouter.ai/api/v1/chat/completions", "openrouter", None),
        ("https://api.mistral.ai/v1/chat/completions", "mistral", None),
        ("https://api.deepseek.com/chat/completions", "deepseek", None),
        ("https://api.deepseek.com/responses", "openai-responses", None),
        ("https://api.cohere.com/v2/chat", "cohere", None),
        ("http://localhost:11434/api/chat", "ollama", None),
        ("http://127.0.0.1:8000/v1/chat/completions", "openai-compatible", None),
        (
            "https://api.groq.com/openai/v1/chat/completions",
            "openai-compatible",
            "https://api.groq.com/openai/v1",
        ),
    ],
)
def test_a_provider_is_known_by_host_and_path(url: str, dialect: str, endpoint: str | None) -> None:
    """A host that speaks OpenAI's shapes is asked where it was asked."""
    provider = only(imported(interaction(500, ERROR, url=url))).provider
    assert provider.dialect == dialect
    assert (provider.endpoint and provider.endpoint.base_url) == endpoint


@pytest.mark.parametrize(
    ("url", "method", "kind"),
    [
        ("https://example.com/", "POST", OddityKind.OTHER_HOST),
        ("http://localhost:4318/v1/traces", "POST", OddityKind.OTHER_HOST),
        ("https://[broken/", "POST", OddityKind.OTHER_HOST),
        ("https://api.openai.com/v1/models", "GET", OddityKind.UNKNOWN_PATH),
        ("https://api.openai.com/v1/embeddings", "POST", OddityKind.UNKNOWN_PATH),
        ("https://api.anthropic.com/v1/complete", "POST", OddityKind.UNKNOWN_PATH),
    ],
)
def test_what_is_no_call_of_a_model_is_left_out_and_told(
    url: str, method: str, kind: OddityKind
) -> None:
    """With how many there were, and without a word of what they said."""
    item = interaction(200, "<html>", url=url, method=method)
    got = imported(item, item)
    assert got.scenarios == ()
    assert got.left_out == 2
    assert kinds(got) == [kind]
    assert "(and 1 more like it)" in got.oddities[0].message


def test_a_huge_body_is_cut_and_told() -> None:
    """Its beginning tells which page it is."""
    got = imported(interaction(502, "<html>" + "x y " * 100_000))
    (payload,) = only(got).provider.payloads.values()
    assert payload.text is not None
    assert len(payload.text) == 16_000
    assert OddityKind.HUGE_BODY in kinds(got)


def test_a_thousand_calls_become_several_scenarios() -> None:
    """Each of a size that a person can read."""
    items = [
        interaction(429, ERROR, asked={"model": "m", "messages": [], "n": number}, at="10:00:00")
        for number in range(1_000)
    ]
    got = imported(*items)
    assert sum(item.exchanges for item in got.scenarios) == 1_000
    assert max(len(item.text) for item in got.scenarios) < 100_000


def test_many_long_pages_are_cut_until_the_file_can_be_read() -> None:
    """Our own loader takes no file of more than a megabyte."""
    items = [
        interaction(502, f"<html>{number} " + "x y " * 5_000, asked={"n": number})
        for number in range(60)
    ]
    (written,) = imported(*items).scenarios
    assert len(written.text) < 1_000_000
    assert len(written.scenario.provider.payloads) == 60


def test_the_name_of_a_private_gateway_is_not_written() -> None:
    """It would tell whose it is; equal ones stay equal."""
    url = "https://llm.acme.example/teams/secret/v1/chat/completions"
    body = {"error": {"message": "llm.acme.example is down", "type": "t", "code": "c"}}
    (written,) = imported(interaction(503, body, url=url)).scenarios
    assert "acme" not in written.text
    endpoint = written.scenario.provider.endpoint
    assert endpoint is not None
    assert endpoint.base_url == "https://host-scrubbed1.example.com/v1"
    assert "host_scrubbed1 is down" in written.text


def test_what_gemini_puts_into_a_list_is_sent_as_it_is() -> None:
    """A body that is no object is a text of its content type."""
    (payload,) = only(imported(interaction(429, [ERROR]))).provider.payloads.values()
    assert payload.text is not None
    assert json.loads(payload.text) == [ERROR]
    assert payload.content_type == "application/json"


@pytest.mark.parametrize("number", ["1e400", "-Infinity", "1" * 60])
def test_a_number_that_no_file_can_hold_is_sent_as_text(number: str) -> None:
    """The body stays byte for byte what it was."""
    body = '{"error": {"message": "m", "n": ' + number + "}}"
    (payload,) = only(imported(interaction(500, body))).provider.payloads.values()
    assert payload.text is not None
    assert payload.text.startswith('{"error": {"message": "m", "n": ')


@pytest.mark.parametrize(
    ("text", "slug"),
    [("Test Chat[1].x", "test-chat-1-x"), ("---", "recording"), ("é" * 90, "recording")],
)
def test_a_name_becomes_a_part_of_an_id(text: str, slug: str) -> None:
    """Whatever a file is called."""
    assert slug_of(text) == slug


def test_mutated_recordings_end_in_scenarios_or_in_one_clear_error() -> None:
    """No traceback, no secret; `python -m tests.recordings.fuzz 10000` tries many more."""
    tally = Tally()
    for number in range(250):
        try_one(number, tally)
    assert tally.crashes == []
    assert tally.leaks == []
    assert tally.scenarios > 50


_WORDS = st.sampled_from(
    ["interactions", "request", "response", "body", "string", "headers", "uri", "method", CHAT]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=25,
)


@given(st.lists(_ANY, max_size=3), st.sampled_from(["interactions", "http_interactions"]))
def test_any_structure_is_imported_or_refused(items: list[Any], key: str) -> None:
    """Whatever stands where interactions should."""
    got = import_recording(
        json.dumps({key: items}).encode(), "x", family="recorded", dialects=dialects
    )
    assert got.left_out == got.exchanges - sum(item.exchanges for item in got.scenarios)


@given(_ANY, _ANY, _ANY)
def test_any_answer_is_imported_or_left_out(status: Any, headers: Any, body: Any) -> None:
    """To a request that is right."""
    item = interaction()
    item["response"] = {"status": {"code": status}, "headers": headers, "body": {"string": body}}
    assert imported(item, interaction(500, ERROR)).scenarios


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_text_is_imported_or_refused(content: str | bytes) -> None:
    """Nothing but an InputError says that it is no recording."""
    given_bytes = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        import_recording(given_bytes, "x", family="recorded", dialects=dialects)
    except InputError as error:
        told = str(error)
    else:
        told = ""
    assert "Traceback" not in told


def test_a_scenario_tells_the_oddities_of_its_own_session() -> None:
    """And those of the whole file; what is odd about another session is in that one's file."""
    first, second = imported(
        interaction(500, ERROR, at="10:00:00"),
        interaction(502, "<html>no</html>", told={"Content-Type": "text/html"}, at="12:00:00"),
    ).scenarios
    assert "[several-sessions]" in first.text
    assert "[several-sessions]" in second.text
    assert "[html-body]" not in first.text
    assert "[html-body]" in second.text
    assert "# Its exchange begins on line " in first.text


def test_waits_that_nobody_knows_are_told_in_words() -> None:
    """No question mark stands where a person looks for a number."""
    (written,) = imported(interaction(500, ERROR), interaction(500, ERROR)).scenarios
    assert "2 attempts were recorded; the waits between them are unknown." in written.text
    assert "# Its exchanges begin on lines " in written.text


def test_an_error_inside_a_200_says_that_its_status_was_made_up() -> None:
    """A payload has an error status; nobody is to take it for recorded."""
    scenario = only(imported(interaction(200, ERROR, at="10:00:00")))
    (payload,) = scenario.provider.payloads.values()
    assert payload.status == 500
    assert payload.source.endswith("; it came inside a 200, the status here was made up")
