"""Reading answers as most programs do: what arrives is kept, and odd data raises where it is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from faultclock.subjects.clients.plain_chat import (
    StreamedText,
    body_of,
    headers_of,
    reply_of,
    url_of,
)
from faultclock.subjects.ports import ProviderRequest, Reply, ToolCall


def chunk(**delta: Any) -> str:
    """Return a line of a stream that holds one delta."""
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]})


def test_a_request_has_what_the_api_wants_and_no_more(request_: ProviderRequest) -> None:
    """Neither a stream nor tools are mentioned when nobody asked for them."""
    assert url_of(request_) == "https://api.openai.com/v1/chat/completions"
    assert headers_of(request_) == {"Authorization": f"Bearer {request_.api_key}"}
    assert body_of(request_) == {"model": request_.model, "messages": request_.messages}


def test_a_completion_is_read_with_its_tool_calls() -> None:
    """The text may be null when tools are asked for."""
    call = {"function": {"name": "weather", "arguments": "{}"}}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [call]}}]}
    assert reply_of(answer) == Reply("", (ToolCall("weather", "{}"),))


@pytest.mark.parametrize("answer", [{"error": {"message": "no"}}, {"choices": []}, [], None])
def test_what_is_no_completion_raises(answer: Any) -> None:
    """As a subscript does; nothing is made up."""
    with pytest.raises((KeyError, IndexError, TypeError)):
        reply_of(answer)


def test_a_stream_is_put_together_until_it_is_done() -> None:
    """Comments, blank lines and other fields are no data."""
    streamed = StreamedText()
    lines = [": ping", "", "event: x", chunk(role="assistant"), chunk(content="Hi "), chunk()]
    for line in [*lines, chunk(content="there."), "data: [DONE]"]:
        assert not streamed.done
        streamed.add(line)
    assert streamed.done
    assert streamed.reply() == Reply("Hi there.")


def test_the_pieces_of_tool_calls_find_together() -> None:
    """By their index, in whatever order they come."""
    streamed = StreamedText()
    for index, name, arguments in [
        (1, "b", ""),
        (0, "a", '{"x"'),
        (1, None, "{}"),
        (0, None, ":1}"),
    ]:
        function = {"name": name, "arguments": arguments}
        streamed.add(chunk(tool_calls=[{"index": index, "function": function}]))
    assert streamed.reply().tool_calls == (ToolCall("a", '{"x":1}'), ToolCall("b", "{}"))


def test_a_stream_that_just_stops_is_returned_as_it_is() -> None:
    """Nobody asks whether that was all: this is what the census shows."""
    streamed = StreamedText()
    streamed.add(chunk(content="Hel"))
    assert not streamed.done
    assert streamed.reply() == Reply("Hel")


@pytest.mark.parametrize(
    ("line", "error"),
    [('data: {"error": {"code": "x"}}', KeyError), ("data: {", ValueError), ("data: 1", TypeError)],
)
def test_data_that_is_no_chunk_raises(line: str, error: type[Exception]) -> None:
    """An error object in a stream is met by a subscript."""
    with pytest.raises(error):
        StreamedText().add(line)
