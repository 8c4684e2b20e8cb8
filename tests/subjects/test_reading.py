"""One reader for the answers of all libraries: it finds the text, and it never stumbles."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.subjects.outcome import describe_reply
from faultclock.subjects.ports import Reply, ToolCall
from faultclock.subjects.reading import StreamedReply, UnclearReply, piece_of, reply_of

#: Members that answers have: a value that has some of them is nearly one.
MEMBERS = (
    "choices",
    "candidates",
    "message",
    "content",
    "text",
    "output",
    "output_text",
    "parts",
    "delta",
    "data",
    "type",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "finish_reason",
    "stop_reason",
    "usage",
    "error",
    "role",
    "index",
    "status",
    "incomplete_details",
    "toolUse",
    "response_metadata",
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.binary(max_size=4)
)
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4)
        | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4).map(
            lambda members: SimpleNamespace(**members)
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_no_value_makes_the_reader_raise(value: Any) -> None:
    """What comes out is a text, a Reply that can be described, None, or the value itself."""
    read = reply_of(value)
    assert read is value or read is None or isinstance(read, str | Reply)
    if isinstance(read, Reply):
        assert isinstance(read.text, str)
        assert read.finish_reason is None or isinstance(read.finish_reason, str)
        assert type(read) is UnclearReply or "problem" not in describe_reply(read)


@given(st.lists(JSON, max_size=5))
def test_no_pieces_make_the_reader_raise(pieces: list[Any]) -> None:
    """An odd chunk adds nothing; what it adds is what the pieces come to."""
    streamed = StreamedReply()
    added = [streamed.add(piece) for piece in pieces]
    assert streamed.reply().text == "".join(added) == streamed.text
    assert describe_reply(streamed.reply())["text"] is not None


def chat(content: Any, finish_reason: str | None = "stop", **message: Any) -> dict[str, Any]:
    """Return a chat completion."""
    choice = {
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish_reason,
    }
    return {"choices": [choice], "usage": {"total_tokens": 7}}


def objects(value: Any) -> Any:
    """Return JSON as an SDK has it, with members in place of keys."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: objects(item) for name, item in value.items()})
    return [objects(item) for item in value] if isinstance(value, list) else value


ANSWERS = {
    "openai": (chat("Hi", "length"), "length"),
    "openai-parts": (chat([{"type": "text", "text": "Hi"}]), "stop"),
    "anthropic": (
        {
            "content": [{"type": "thinking", "text": "Hm"}, {"type": "text", "text": "Hi"}],
            "stop_reason": "max_tokens",
        },
        "max_tokens",
    ),
    "gemini": (
        {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finish_reason": "MAX_TOKENS"}]},
        "MAX_TOKENS",
    ),
    "ollama": ({"message": {"role": "assistant", "content": "Hi"}, "done_reason": "stop"}, "stop"),
    "cohere": (
        {
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]},
            "finish_reason": "COMPLETE",
        },
        "COMPLETE",
    ),
    "bedrock": (
        {
            "output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
            "stopReason": "end_turn",
        },
        "end_turn",
    ),
    "responses": (
        {
            "output": [
                {"type": "reasoning", "content": [{"text": "Hm"}]},
                {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
            ],
            "status": "incomplete",
            "incomplete_details": {"reason": "max_output_tokens"},
        },
        "max_output_tokens",
    ),
    "langchain": (
        {"content": "Hi", "response_metadata": {"finish_reason": "content_filter"}},
        "content_filter",
    ),
    "langchain, of responses": (
        {
            "content": [{"type": "text", "text": "Hi"}],
            "response_metadata": {
                "object": "response",
                "status": "incomplete",
                "incomplete_details": {"reason": "content_filter"},
            },
        },
        "content_filter",
    ),
    "langchain, whole, of responses": (
        {"content": "Hi", "response_metadata": {"object": "response", "status": "completed"}},
        "completed",
    ),
    "a result": ({"output": "Hi"}, None),
    "an answer of one's own": ({"answer": {"text": "Hi"}, "cost": 3}, None),
}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("shape", [dict, objects])
def test_the_text_and_the_finish_reason_of_each_api_are_found(name: str, shape: Any) -> None:
    """In mappings and in objects alike."""
    answer, reason = ANSWERS[name]
    read = reply_of(shape(answer))
    assert (read.text, read.finish_reason) == ("Hi", reason)


def test_the_tools_that_an_answer_asks_for_are_read() -> None:
    """Arguments that are no text become JSON, as the trace has them."""
    calls = [{"id": "c1", "function": {"name": "look", "arguments": '{"a": 1}'}}]
    assert reply_of(chat(None, "tool_calls", tool_calls=calls)) == Reply(
        "", (ToolCall("look", '{"a": 1}'),)
    )
    in_node = {"choices": [{"message": {"content": "", "toolCalls": calls}}]}
    assert reply_of(in_node) == Reply("", (ToolCall("look", '{"a": 1}'),))
    block = {"type": "tool_use", "name": "look", "input": {"a": 1}, "id": "c1"}
    assert reply_of({"content": [block]}) == Reply("", (ToolCall("look", '{"a": 1}'),))
    part = {"functionCall": {"name": "look", "args": {"a": 1}}}
    gemini = {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
    assert reply_of(gemini) == Reply("", (ToolCall("look", '{"a": 1}'),))


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        {},
        [],
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{"message": None}]},
        {"candidates": None},
        {"error": {"message": "overloaded"}},
        MagicMock(),
    ],
)
def test_what_has_no_readable_text_is_handed_on_as_it_is(value: Any) -> None:
    """A check can then say that something without a text was passed on as an answer."""
    assert reply_of(value) is value
    assert describe_reply(reply_of(value))["text"] is None


def test_an_empty_message_is_an_empty_answer() -> None:
    """The provider did answer, and said nothing."""
    assert reply_of(chat(None)).text == ""
    assert reply_of(chat("")).text == ""


def test_a_text_and_a_reply_stay_and_bytes_are_decoded() -> None:
    """Also where the text says something that looks like JSON."""
    said = Reply("Hi")
    assert reply_of(said) is said
    assert reply_of('{"text": "Hi"}') == '{"text": "Hi"}'
    assert reply_of("Grüß Gott".encode()) == "Grüß Gott"
    assert reply_of(b"\xff") == "\ufffd"


def test_what_functions_return_around_an_answer_is_unpacked() -> None:
    """A pair of text and usage, a list of texts, a conversation, the answer of an HTTP client."""

    @dataclass
    class Response:
        status_code: int = 200

        def json(self) -> Any:
            return chat("Hi")

    assert reply_of(("Hi", {"total_tokens": 3})).text == "Hi"
    assert reply_of(["H", "i"]).text == "Hi"
    assert reply_of([{"role": "user", "content": "?"}, {"role": "a", "content": "Hi"}]).text == "Hi"
    assert reply_of(Response()).text == "Hi"


def test_a_member_that_raises_is_no_answer() -> None:
    """A property of another library may do anything."""

    class Odd:
        @property
        def choices(self) -> Any:
            raise RuntimeError("closed")

    odd = Odd()
    assert reply_of(odd) is odd


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["H", b"i"], "Hi"),
        (
            [
                {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
                {"choices": [{"delta": {"content": "Hi"}, "finish_reason": None}]},
                {"choices": [{"delta": {}, "finish_reason": "stop"}]},
                {"choices": [], "usage": {}},
            ],
            "Hi",
        ),
        (
            [
                {"type": "message_start", "message": {"content": []}},
                {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
                {"type": "content_block_stop", "content_block": {"type": "text", "text": "Hi"}},
                {"type": "message_delta", "delta": {"stop_reason": "stop"}},
            ],
            "Hi",
        ),
        (
            [
                {"type": "response.output_text.delta", "delta": "Hi"},
                {"type": "response.output_text.done", "text": "Hi"},
            ],
            "Hi",
        ),
        ([{"data": {"choices": [{"delta": {"content": "Hi"}}]}}], "Hi"),
        ([{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}], "Hi"),
        ([{"message": {"content": "H"}}, {"message": {"content": "i"}, "done": True}], "Hi"),
    ],
)
def test_pieces_are_joined_and_what_repeats_them_is_not(pieces: list[Any], text: str) -> None:
    """Some events of a stream hold the whole text so far."""
    streamed = StreamedReply()
    for piece in pieces:
        streamed.add(piece)
    assert streamed.reply().text == text


def test_the_end_of_a_stream_gives_its_reason() -> None:
    """Where no piece says why it ended, none is known."""
    streamed = StreamedReply()
    streamed.add({"choices": [{"delta": {"content": "Hi"}, "finish_reason": None}]})
    assert streamed.finish_reason is None
    streamed.add({"choices": [{"delta": {}, "finish_reason": "length"}]})
    assert streamed.reply().finish_reason == "length"
    assert piece_of({"choices": []}) == ""


@pytest.mark.parametrize("shape", [dict, objects])
@pytest.mark.parametrize(
    ("content", "reason"), [([], "completed"), ([{"type": "refusal", "refusal": "No"}], "refusal")]
)
def test_a_message_of_langchain_without_a_text_says_how_it_ended(
    content: list[dict[str, str]], reason: str, shape: Any
) -> None:
    """Its metadata are those of the response, and a refusal is a block of its content."""
    metadata = {"object": "response", "status": "completed"}
    read = reply_of(shape({"content": content, "response_metadata": metadata}))
    assert (read.text, read.finish_reason) == ("", reason)
