"""A provider that talks: its answers follow the conversation, and it notes what it is told."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.provider.provider import FakeProvider, ProviderState
from faultclock.fakes.wire.chat_messages import message_facts
from faultclock.fakes.wire.dialect import Asked, Exchange
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.model.scenario.provider_script import ProviderReply, ProviderScript, ToolCallReply

DIALECT = dialect_named("openai-chat")
CALL = ToolCallReply(name="write_file", arguments='{"path": "a"}')
SCRIPT = ProviderScript(
    replies=(ProviderReply(tool_calls=(CALL, CALL)), ProviderReply(text="It is written."))
)
USER = {"role": "user", "content": "Write it."}
ASSISTANT = {"role": "assistant", "content": "Yes."}


def asked(*messages: Any, stream: bool = False, **body: Any) -> Asked:
    """Return what the dialect reads of a conversation."""
    content = {"model": "gpt-x", "messages": list(messages), "stream": stream, **body}
    request = HttpRequest(
        method="POST",
        target="/v1/chat/completions",
        headers={"authorization": "Bearer sk-x"},
        body=json.dumps(content).encode(),
    )
    return DIALECT.read(request)


def exchange(number: int = 1, seed: int = 0) -> Exchange:
    """Return an exchange."""
    return Exchange(number=number, seed=seed, unix_s=1_767_225_600, think_ms=100)


def answer(*messages: Any, number: int = 1, seed: int = 0) -> ChatCompletion:
    """Return the good answer to a conversation, validated by the SDK's model."""
    good = DIALECT.good_answer(SCRIPT, asked(*messages), exchange(number, seed))
    return ChatCompletion.model_validate_json(good.chunks[0], strict=True)


def ids(completion: ChatCompletion) -> list[str]:
    """Return the ids of the tool calls that an answer asks for."""
    return [call.id for call in completion.choices[0].message.tool_calls or ()]


def test_the_answer_is_that_of_its_place_in_the_conversation() -> None:
    """A request with n messages of the assistant gets answer n, and the last one repeats."""
    texts = [answer(USER, *[ASSISTANT] * n).choices[0].message.content for n in range(4)]
    assert texts == [None, "It is written.", "It is written.", "It is written."]
    assert answer(USER).choices[0].finish_reason == "tool_calls"


def test_tools_that_ran_are_not_asked_for_again() -> None:
    """A program that loops until there are no calls is answered in words, as a model would."""
    script = ProviderScript(tool_calls=(CALL,), reply="It is written.")
    asking = DIALECT.good_answer(script, asked(USER), exchange())
    assert [call["name"] for call in asking.tool_calls] == ["write_file"]
    ran = [{**ASSISTANT, "tool_calls": []}, {"role": "tool", "content": "done"}]
    after = DIALECT.good_answer(script, asked(USER, *ran), exchange(2))
    assert (after.text, after.tool_calls) == ("It is written.", ())


def test_a_request_that_offers_other_tools_is_asked_for_one_of_those() -> None:
    """A model calls no tool that it does not know; where none is offered, the script is all."""
    script = ProviderScript(tool_calls=(CALL,))
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}
    tool = {"type": "function", "function": {"name": "forecast", "parameters": schema}}
    (call,) = DIALECT.good_answer(script, asked(USER, tools=[tool]), exchange()).tool_calls
    assert (call["name"], list(json.loads(call["arguments"]))) == ("forecast", ["days"])
    tool["function"]["name"] = CALL.name
    (call,) = DIALECT.good_answer(script, asked(USER, tools=[tool]), exchange()).tool_calls
    assert (call["name"], list(json.loads(call["arguments"]))) == (CALL.name, ["days"])
    (same,) = DIALECT.good_answer(script, asked(USER), exchange()).tool_calls
    assert same["name"] == CALL.name


def test_tool_calls_have_the_same_ids_when_the_request_is_sent_again() -> None:
    """As a retry does, and no two calls share one."""
    first = ids(answer(USER))
    assert len(set(first)) == 2
    assert all(id_.startswith("call_") for id_ in first)
    assert ids(answer(USER, number=9)) == first
    other = {"role": "user", "content": "Write it again."}
    assert not set(ids(answer(other))) & set(first)
    assert not set(ids(answer(USER, seed=1))) & set(first)


def test_an_answer_says_what_it_asks_for_and_what_it_cost() -> None:
    """So that the trace can; a stream tells its usage only where it was asked to."""
    good = DIALECT.good_answer(SCRIPT, asked(USER), exchange())
    assert [call["name"] for call in good.tool_calls] == ["write_file"] * 2
    assert [call["arguments"] for call in good.tool_calls] == [CALL.arguments] * 2
    assert set(good.usage or ()) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    stream = asked(USER, stream=True)
    assert DIALECT.good_answer(SCRIPT, stream, exchange()).usage is None
    counted = asked(USER, stream=True, stream_options={"include_usage": True})
    assert DIALECT.good_answer(SCRIPT, counted, exchange()).usage == good.usage


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_the_model_is_told_is_noted_without_its_text() -> None:
    """But for what tools are said to have answered, where no secret is kept."""
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    told = 'boom at /srv/run.py with sk-simulated-0123456789abcdef"'
    messages = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": told},
    ]
    assert message_facts({"messages": messages}) == [
        {"role": "user", "content_sha256": digest("Write it.")},
        {
            "role": "assistant",
            "content_sha256": digest(""),
            "tool_calls": [{"id": "call_1", "name": "f"}],
        },
        {
            "role": "tool",
            "content_sha256": digest(told),
            "content": 'boom at /srv/run.py with <secret>"',
            "tool_call_id": "call_1",
        },
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "image_url"}], '[{"type": "image_url"}]'),
        (7, "7"),
        (None, ""),
        ("x" * 5_000, "x" * 2_000),
    ],
    ids=["parts", "other parts", "number", "none", "long"],
)
def test_content_may_be_anything(content: Any, text: str) -> None:
    """It is read as a text where that is possible, and cut."""
    (fact,) = message_facts({"messages": [{"role": "tool", "content": content}]})
    assert fact["content"] == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(
    messages=st.lists(
        st.fixed_dictionaries(
            {},
            optional={"role": JSON, "content": JSON, "tool_calls": JSON, "tool_call_id": JSON},
        )
    )
)
def test_whatever_a_subject_sends_can_be_noted(messages: list[Any]) -> None:
    """A request may be malformed: that is data, and never an exception of ours."""
    assert len(json.dumps(message_facts({"messages": messages}))) >= 2
    assert message_facts({"messages": "none"}) == []


def test_only_an_observant_provider_notes_it(payloads: Any, make_rig: Callable[..., Any]) -> None:
    """Traces of provider adapters stay as they are."""
    quiet = make_rig()
    quiet.exchange()
    assert "messages" not in quiet.of_kind("http.request")[0]
    assert "usage" not in quiet.of_kind("http.exchange_ended")[0]
    rig = type(quiet)(FakeProvider(SCRIPT, payloads, observant=True))
    rig.exchange(messages=[USER])
    rig.exchange(messages=[USER, ASSISTANT])
    asked_tools, answered = rig.of_kind("http.exchange_ended")
    assert [item["role"] for item in rig.of_kind("http.request")[1]["messages"]] == [
        "user",
        "assistant",
    ]
    assert [call["name"] for call in asked_tools["tool_calls"]] == ["write_file"] * 2
    assert "tool_calls" not in answered
    assert answered["usage"]["total_tokens"] > 0


def test_an_answer_that_was_cut_has_asked_for_nothing(
    payloads: Any, make_rig: Callable[..., Any]
) -> None:
    """Nobody has read it whole."""
    cut = {"kind": "truncate", "after_body_bytes": 40, "how": "eof"}
    rules = make_rig(cut).provider._script.faults
    script = SCRIPT.model_copy(update={"faults": rules})
    rig = type(make_rig())(FakeProvider(script, payloads, observant=True))
    rig.exchange(messages=[USER])
    (ended,) = rig.of_kind("http.exchange_ended")
    assert ended["how"] == "eof"
    assert not {"tool_calls", "usage"} & set(ended)


def test_a_provider_goes_on_where_it_was_left(payloads: Any, make_rig: Callable[..., Any]) -> None:
    """In a later life of its subject: the numbers, and the rules that were met."""
    fails = {"kind": "http_error", "status": 500, "error": "server_error"}
    script = make_rig(fails).provider._script
    state = ProviderState()
    for life in (1, 2):
        rig = type(make_rig())(FakeProvider(script, payloads, state=state))
        rig.exchange()
        (request,) = rig.of_kind("http.request")
        assert (request["exchange"], request["attempt"]) == (f"x{life}", life)
        assert len(rig.of_kind("fault.fired")) == 1
        state = pickle.loads(pickle.dumps(state))
