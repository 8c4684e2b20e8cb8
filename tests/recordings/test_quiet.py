"""Bodies without anybody's words."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.recordings.quiet import quiet_body
from faultclock.recordings.scrub import Scrubber


def _quiet(body: Any, *, failed: bool = False, texts_kept: bool = False) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    made = quiet_body(raw, Scrubber(), failed=failed, texts_kept=texts_kept)
    assert made is not None
    return made if isinstance(body, bytes) else json.loads(made)


def test_words_go_and_the_shape_stays() -> None:
    """Prompts, instructions and descriptions of tools go; models, roles and numbers stay."""
    made = _quiet(
        {
            "model": "gpt-4o-mini",
            "temperature": 0.5,
            "messages": [{"role": "user", "content": "Jane"}],
            "tools": [
                {
                    "name": "find",
                    "description": "Finds Jane's file",
                    "parameters": {"type": "object"},
                }
            ],
        }
    )
    assert (made["model"], made["temperature"]) == ("gpt-4o-mini", 0.5)
    assert made["messages"][0]["role"] == "user"
    assert made["tools"][0]["parameters"] == {"type": "object"}
    assert "Jane" not in json.dumps(made)


def test_a_text_under_a_key_that_nobody_knows_goes_when_it_has_words() -> None:
    """A new field of an API is no reason to write what a person said."""
    made = _quiet({"some_new_field": "call Jane back", "kind": "memo"})
    assert made["some_new_field"].startswith("A recorded text of 14 characters")
    assert made["kind"] == "memo"


def test_arguments_of_tools_are_empty_and_still_json() -> None:
    """As a text and as an object."""
    made = _quiet(
        {
            "a": {"arguments": '{"who": "Jane"}'},
            "b": {"args": {"who": "Jane"}},
            "c": {"input": {"x": 1}},
        }
    )
    assert made == {"a": {"arguments": "{}"}, "b": {"args": {}}, "c": {"input": {}}}


def test_an_error_keeps_its_message_but_not_what_it_quotes() -> None:
    """What failed is what the recording is for."""
    error = {"error": {"message": "Too many requests", "failed_generation": "Jane"}}
    for failed in (True, False):
        made = _quiet(error, failed=failed)
        assert made["error"]["message"] == "Too many requests"
        assert "Jane" not in json.dumps(made)


def test_a_stream_keeps_its_events_and_loses_its_letters() -> None:
    """The same number of events, each of its length, and one `{}` for the arguments of a tool."""
    body = (
        b'event: message\r\ndata: {"index":0,"delta":{"content":"Jane 7!"}}\r\n\r\n'
        b'data: {"index":1,"delta":{"arguments":"{\\"who\\""}}\n\n'
        b'data: {"index":1,"delta":{"arguments":": \\"Jane\\"}"}}\n\n'
        b": a comment\ndata: [DONE]\n\n"
    )
    assert _quiet(body) == (
        b'event: message\r\ndata: {"index":0,"delta":{"content":"xxxx 7!"}}\r\n\r\n'
        b'data: {"index":1,"delta":{"arguments":"{}"}}\n\n'
        b'data: {"index":1,"delta":{"arguments":""}}\n\n'
        b": a comment\ndata: [DONE]\n\n"
    )


def test_an_error_in_a_stream_keeps_its_message() -> None:
    """It is an error's body, wherever it stands."""
    body = b'data: {"error":{"message":"The server is overloaded"}}\n\n'
    assert _quiet(body) == body


def test_an_event_that_breaks_off_says_nothing() -> None:
    """What cannot be parsed cannot be known to be harmless."""
    assert _quiet(b'data: {"delta":{"content":"Ja') == b"data: "


def test_kept_texts_are_scrubbed() -> None:
    """A person may ask for the words, and never gets the secrets."""
    made = _quiet({"content": "Write to jane@example.com"}, texts_kept=True)
    assert made["content"] == "Write to person_scrubbed1"


def test_amazons_frames_are_made_anew() -> None:
    """Their checks fit, and their headers are untouched."""
    made = _quiet(_frame(b"head", {"delta": {"text": "Jane"}}) + _frame(b"", {"stop": "end"}))
    assert made == _frame(b"head", {"delta": {"text": "xxxx"}}) + _frame(b"", {"stop": "end"})


def test_what_is_no_text_is_not_written() -> None:
    """Nothing can be looked for in it."""
    assert _quiet(b"\xff\xfe\x00Jane").startswith(b"A recorded body of 7 characters")


@pytest.mark.parametrize("texts_kept", [True, False])
@given(body=st.binary(max_size=120))
def test_no_body_raises_anything(texts_kept: bool, body: bytes) -> None:
    """Whatever a server has sent."""
    for start in (b"", b"data: ", b"{", b"[", b'data: {"error":'):
        quiet_body(start + body, Scrubber(), failed=False, texts_kept=texts_kept)


@given(
    st.text(alphabet="abcdefgh ", min_size=12, max_size=60),
    st.sampled_from(["content", "text", "input", "other"]),
)
def test_no_sentence_of_a_request_comes_through(text: str, key: str) -> None:
    """Wherever it stands."""
    secret = f"Jane Recorded {text}"
    for body in (
        {key: secret},
        {"messages": [{"a": {key: [secret]}}]},
        [{"parts": [{key: secret}]}],
    ):
        assert "Jane" not in json.dumps(_quiet(body))


def _frame(headers: bytes, value: Any) -> bytes:
    payload = json.dumps(value, separators=(",", ":")).encode()
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    whole = start + struct.pack(">I", zlib.crc32(start)) + headers + payload
    return whole + struct.pack(">I", zlib.crc32(whole))
