"""What a provider objects to in a conversation: unknown roles, calls and answers without pair."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.fakes.dialects import dialect_named, dialect_names
from faultclock.fakes.provider.conversation import EXAMPLES, OBJECTIONS, objection
from faultclock.fakes.provider.refusal_words import filled
from faultclock.fakes.wire.dialect import Refusal
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.load.payloads import load_payloads
from tests.fakes.dialects.asking import EXCHANGE, request

MakeRig = Callable[..., Any]
Talk = dict[str, Any]
ARGUMENTS = {"city": "Bern"}
SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/bedrock/aws4_request, "
    f"SignedHeaders=host, Signature={'0' * 64}"
)
#: Where a request goes, and what it shows there.
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "anthropic-messages": ("/v1/messages", {"x-api-key": "k", "anthropic-version": "2023-06-01"}),
    "azure-openai": ("/openai/deployments/d/chat/completions?api-version=1", {"api-key": "k"}),
    "bedrock-converse": ("/model/m/converse", {"authorization": SIGNED, "x-amz-date": "1"}),
    "cohere": ("/v2/chat", {"authorization": "Bearer k"}),
    "gemini-generate-content": ("/v1beta/models/m:generateContent?key=k", {}),
    "ollama": ("/api/chat", {}),
    "openai-responses": ("/v1/responses", {"authorization": "Bearer k"}),
}
#: Those that look at no conversation, as their files say.
TAKE_ANYTHING = {"http-json", "mcp", "ollama", "openai-compatible"}
STRICT = sorted(set(dialect_names()) - TAKE_ANYTHING)


def said(role: str, text: str = "Hi.") -> Talk:
    """Return a message of a role."""
    return {"role": role, "text": text}


def calls(*ids: str) -> Talk:
    """Return a message of the model that asks for a tool once for each id."""
    return {"role": "assistant", "calls": ids}


def answers(*ids: str) -> Talk:
    """Return what tools answered."""
    return {"role": "tool", "answers": ids}


def conversation(dialect: str, *talk: Talk, **body: Any) -> HttpRequest:
    """Return a request with a conversation as a dialect has it."""
    target, headers = ASKED.get(dialect, ("/v1/chat/completions", {"authorization": "Bearer k"}))
    messages = [item for said_ in talk for item in _written(dialect, said_)]
    match dialect:
        case "gemini-generate-content":
            content: dict[str, Any] = {"contents": messages}
        case "openai-responses":
            content = {"model": "m", "input": messages}
        case _:
            content = {"model": "m", "max_tokens": 9, "messages": messages}
    return request(target, headers=headers, content=json.dumps({**content, **body}).encode())


def _written(dialect: str, talk: Talk) -> list[dict[str, Any]]:
    role, asked, answered = talk["role"], talk.get("calls", ()), talk.get("answers", ())
    match dialect:
        case "anthropic-messages":
            blocks = [
                *({"type": "tool_use", "id": it, "name": "f", "input": ARGUMENTS} for it in asked),
                *({"type": "tool_result", "tool_use_id": it, "content": "x"} for it in answered),
            ]
            return [{"role": "user" if answered else role, "content": blocks or talk["text"]}]
        case "bedrock-converse":
            blocks = [
                *({"toolUse": {"toolUseId": it, "name": "f", "input": {}}} for it in asked),
                *({"toolResult": {"toolUseId": it, "content": []}} for it in answered),
            ]
            parts = blocks or [{"text": talk["text"]}]
            return [{"role": "user" if answered else role, "content": parts}]
        case "gemini-generate-content":
            parts = [
                *({"functionCall": {"name": "f", "args": ARGUMENTS}} for _ in asked),
                *({"functionResponse": {"name": "f", "response": {}}} for _ in answered),
            ] or [{"text": talk["text"]}]
            own = {"assistant": "model", "tool": "user"}.get(role, role)
            return [{"role": own, "parts": parts}]
        case "openai-responses":
            if asked or answered:
                kind = "function_call" if asked else "function_call_output"
                return [{"type": kind, "call_id": it, "name": "f"} for it in (*asked, *answered)]
            return [{"role": role, "content": talk["text"]}]
    if answered:
        return [{"role": "tool", "tool_call_id": it, "content": "x"} for it in answered]
    if asked:
        used = [{"id": it, "type": "function", "function": {"name": "f"}} for it in asked]
        return [{"role": role, "content": None, "tool_calls": used}]
    return [{"role": role, "content": talk["text"]}]


def refused(dialect: str, sent: HttpRequest) -> tuple[str, str] | None:
    """Return the name and the whole body of what a provider objects to."""
    spoken, payloads = dialect_named(dialect), load_payloads(dialect)
    asked = spoken.read(sent)
    assert asked.refusal is None
    found = objection(spoken, asked, payloads)
    if found is None:
        return None
    body = filled(payloads[found.payload], found.places).body
    return found.payload, json.dumps(body, ensure_ascii=False)


GOOD = (said("user"), calls("c1", "c2"), answers("c1", "c2"), said("assistant"), said("user"))


@pytest.mark.parametrize("dialect", STRICT)
def test_a_conversation_in_which_each_call_is_answered_is_taken(dialect: str) -> None:
    """However often tools were asked for, and by however many calls at once."""
    again = (calls("c3"), answers("c3"))
    assert refused(dialect, conversation(dialect, *GOOD, *again)) is None


@pytest.mark.parametrize("dialect", STRICT)
@pytest.mark.parametrize(
    ("talk", "objected"),
    [
        ((said("user"), calls("c1"), said("user", "And?")), "tool_call_unanswered"),
        ((said("user"), calls("c1")), "tool_call_unanswered"),
        ((said("user"), calls("c1", "c2"), answers("c1"), said("user")), "tool_call_unanswered"),
        ((said("user"), answers("c1")), "tool_result_unasked"),
        ((*GOOD, answers("c3")), "tool_result_unasked"),
        ((said("user"), said("robot")), "unknown_role"),
    ],
    ids=["unanswered", "unanswered at the end", "one of two", "unasked", "too late", "role"],
)
def test_what_does_not_belong_together_is_refused(
    dialect: str, talk: tuple[Talk, ...], objected: str
) -> None:
    """By each provider that really does, in words without a place left open."""
    found = refused(dialect, conversation(dialect, *talk))
    assert found is not None
    name, body = found
    assert name == objected
    assert not [place for place in EXAMPLES if f"{{{place}}}" in body]
    payload = load_payloads(dialect)[name]
    assert payload.status in (400, 422)
    assert payload.means == "invalid_request"
    assert "read 2026-11-23" in payload.source


@pytest.mark.parametrize(
    ("dialect", "talk", "words"),
    [
        ("openai-chat", (said("user"), calls("c1"), said("user")), "response messages: c1"),
        ("openai-chat", (said("user"), calls("c1"), said("user")), "messages.[2].role"),
        ("openai-chat", (said("user"), said("robot")), "messages[1].role"),
        ("anthropic-messages", (said("user"), calls("c1", "c2")), "messages.1: `tool_use` ids"),
        ("anthropic-messages", (said("user"), answers("c7")), "messages.1.content.0: unexpected"),
        ("bedrock-converse", (said("user"), calls("c1")), "messages.2.content for the following"),
        ("bedrock-converse", (said("robot"),), "'robot' at 'messages.1.member.role'"),
        ("cohere", (said("user"), answers("c7")), "messages[1]: tool call id 'c7' not found"),
        ("mistral", (said("user"), answers("c7")), "Unexpected role 'tool' after role 'user'"),
        ("mistral", (said("user"), said("robot")), '["body", "messages", 1]'),
        ("openai-responses", (said("user"), calls("c1")), "function call c1."),
    ],
)
def test_the_words_name_what_is_wrong(dialect: str, talk: tuple[Talk, ...], words: str) -> None:
    """With the place in the request and the ids, as the provider writes them."""
    found = refused(dialect, conversation(dialect, *talk))
    assert found is not None
    assert words in found[1]


@pytest.mark.parametrize("dialect", sorted(TAKE_ANYTHING - {"http-json", "mcp"}))
def test_a_server_that_takes_anything_takes_this_too(dialect: str) -> None:
    """No source says that it refuses a conversation."""
    assert not OBJECTIONS & set(load_payloads(dialect))
    assert refused(dialect, conversation(dialect, said("robot"), answers("c1"))) is None


def test_a_call_can_stand_in_what_the_provider_has_kept() -> None:
    """Then an answer finds it there, and its place is still that in the request."""
    spoken, payloads = dialect_named("openai-responses"), load_payloads("openai-responses")
    call = {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
    shelf = {"resp_1": {"earlier": [], "input": [], "response": {"output": [call]}}}

    def found(*talk: Talk) -> Refusal | None:
        sent = conversation("openai-responses", *talk, previous_response_id="resp_1")
        asked = spoken.recalled(spoken.read(sent), sent, shelf, EXCHANGE)
        assert asked.refusal is None
        return objection(spoken, asked, payloads)

    assert found(answers("c1"), said("user")) is None
    unanswered, unasked = found(said("user")), found(answers("c2"))
    assert unanswered is not None
    assert unanswered.payload == "tool_call_unanswered"
    assert unasked is not None
    assert (unasked.payload, unasked.places["at"]) == (
        "tool_result_unasked",
        "0",
    )


def test_the_responses_api_takes_an_answer_anywhere_behind_its_call() -> None:
    """The items are no turns."""
    talk = (said("user"), calls("c1"), said("assistant"), answers("c1"))
    assert refused("openai-responses", conversation("openai-responses", *talk)) is None
    assert refused("openai-chat", conversation("openai-chat", *talk)) is not None


def test_a_refused_conversation_is_an_error_in_the_ledger(make_rig: MakeRig, wire: Any) -> None:
    """With the words of the provider; a fault of the plan is not spent on it."""
    rig = make_rig({"kind": "http_error", "status": 500, "error": "server_error"})
    tool = {"role": "tool", "tool_call_id": "c1", "content": "x"}
    got = wire.parse(wire.received(rig.exchange(wire.request(messages=[tool]))))
    assert got.status == 400
    (response,) = rig.of_kind("http.response")
    assert response["status"] == 400
    assert response["error"]["means"] == "invalid_request"
    assert "must be a response to a preceeding message" in response["error"]["message"]
    assert rig.of_kind("fault.fired") == []


def test_a_scenario_can_name_the_refusal_of_a_conversation(make_rig: MakeRig, wire: Any) -> None:
    """Then its words speak of an example, as nothing is wrong with the request."""
    rig = make_rig({"kind": "http_error", "status": 400, "error": "tool_call_unanswered"})
    got = wire.parse(wire.received(rig.exchange()))
    assert got.status == 400
    assert EXAMPLES["ids"] in got.body.decode()
