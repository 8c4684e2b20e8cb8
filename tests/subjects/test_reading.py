"""One reader for the answers of all libraries: it finds the text, and it never stumbles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion

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


@dataclass
class Result:
    """What many programs make of an answer, or of its failure."""

    text: str | None = None
    error: str | None = None
    status: Any = "ok"


@dataclass
class Failure:
    """What a program returns in place of an answer."""

    reason: str


@dataclass
class Truncated:
    """What a program returns where it has half of an answer."""

    text: str


class State(Enum):
    """How an answer ended."""

    WHOLE = auto()
    CUT = auto()


class Named(NamedTuple):
    """A pair whose members have names."""

    text: str
    ok: bool


@pytest.mark.parametrize(
    ("value", "text", "reason"),
    [
        ({"error": "timed out"}, "", "error"),
        ({"error": "timed out", "text": "Hi"}, "Hi", "error"),
        ({"error": None, "text": "Hi"}, "Hi", None),
        ({"ok": False, "text": None}, "", "error"),
        ({"ok": True, "text": "Hi"}, "Hi", None),
        ({"answer": "Hi", "truncated": True}, "Hi", "error"),
        ({"answer": "Hi", "truncated": False}, "Hi", None),
        ({"status": 503, "body": "busy"}, "", "error"),
        ({"status": 200, "text": "Hi"}, "Hi", None),
        (Result(error="timed out"), "", "error"),
        (Result("Hi", status="cut off"), "Hi", "cut off"),
        (Result("Hi", status="Completed"), "Hi", None),
        (Result("Hi"), "Hi", None),
        (Failure("timed out"), "", "error"),
        (ValueError("no answer"), "", "error"),
        # What stands beside an answer, or before a failure.
        (("Hi", None), "Hi", None),
        (("", None), "", None),
        (("Hi", "length"), "Hi", "length"),
        (("Hi", "APITimeoutError: timed out"), "Hi", "APITimeoutError: timed out"),
        (("Hi", "gpt-5-mini"), "Hi", None),
        (("Hi", 3), "Hi", None),
        ((None, "timed out"), "", "timed out"),
        ((None, None, "timed out"), "", "timed out"),
        ((None, ValueError("no answer")), "", "error"),
        ((False, "timed out"), "", "timed out"),
        (("Hi", State.CUT), "Hi", "CUT"),
        (("ok", "Hi"), "Hi", None),
        (("gpt-5-mini", "Hi"), "Hi", None),
        (Named("Hi", ok=False), "Hi", "error"),
        (Named("Hi", ok=True), "Hi", None),
        (Truncated("Hi"), "Hi", "error"),
        ({"content": "Hi", "status": "truncated"}, "Hi", "truncated"),
        ({"content": "Hi", "status": "ok"}, "Hi", None),
        ({"message": "Hi", "finish_reason": "success"}, "Hi", None),
        ({"text": "Hi", "stop_reason": "max_tokens"}, "Hi", "max_tokens"),
        # An empty answer with its reason is passed on as it was.
        ({"text": "", "stop_reason": "end_turn"}, "", "end_turn"),
        ({"text": "Hi", "state": State.WHOLE}, "Hi", None),
        ({"text": "Hi", "warnings": ["the stream was incomplete"]}, "Hi", None),
        (({"text": "Hi"}, "timed out"), "Hi", "timed out"),
        ((chat("Hi", "length"), "timed out"), "Hi", "length"),
    ],
    ids=repr,
)
def test_a_value_says_that_it_is_a_failure(value: Any, text: str, reason: str | None) -> None:
    """A program may return one in place of an exception; that of an answer has a text and none."""
    read = describe_reply(reply_of(value))
    assert (read["text"], read.get("finish_reason")) == (text, reason)


@pytest.mark.parametrize(
    "value",
    [{"content": None}, {"text": None, "finish_reason": "stop"}, {"answer": None}, Result()],
)
def test_a_value_without_its_text_is_no_answer(value: Any) -> None:
    """It is as if the program had returned None."""
    assert reply_of(value) is None


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (("Hi", True), "a bool"),
        ((False, "Hi"), "False before it"),
        ((None, "Hi"), "None before it"),
        (("Hi", "openai"), "a str"),
        ({"text": "Hi", "status": "delivered"}, "status"),
        ({"text": "Hi", "is_draft": False}, "is_draft"),
        ({"text": "Hi", "partial": "no"}, "partial"),
        ({"text": "Hi", "detail": "see the log"}, "detail"),
    ],
    ids=repr,
)
def test_what_is_said_beside_a_text_may_not_be_known(value: Any, what: str) -> None:
    """The text is the answer; where that is not whole, nothing is shown."""
    read = describe_reply(reply_of(value))
    assert read["text"] == "Hi"
    assert read["problem"] == f"what it says with {what} is not known"
    assert read["type"] == type(value).__name__


def test_what_an_object_of_a_library_says_is_known_by_its_own_reader() -> None:
    """Its members are not the program's words."""
    message = {"role": "assistant", "content": "Hi"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    read = reply_of(ChatCompletion.model_validate({**whole, "choices": [choice]}))
    assert read == Reply("Hi", (), "stop")


def test_a_value_of_a_programs_own_may_say_anything() -> None:
    """What a provider sends, or nothing at all, says no more than that it is no answer."""

    @dataclass
    class Own:
        why: str

    read = describe_reply(reply_of(Own("timed out")))
    assert read["problem"] == "it has no text, and what else it says is not known"
    of_boto3 = {"ResponseMetadata": {"HTTPStatusCode": 200}}
    for value in ({"choices": None}, {"why": "x", "message": "y"}, of_boto3, {}, [], 7):
        assert "problem" not in describe_reply(reply_of(value))


def test_an_error_beside_a_text_has_no_place_of_this_machine() -> None:
    """It may hold the address of an object, which differs in each process."""
    read = describe_reply(reply_of(("Hi", "error: <Client object at 0x7f31c0a1b2d0>")))
    assert read["finish_reason"] == "error: <Client object at 0x…>"


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
