"""What the Ollama SDK 0.6 does when its provider fails, as it is: facts about that version.

A newer SDK that does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import Done, error, play, recorded

TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]
RESPONSE_ERROR = "ollama._types.ResponseError"

pytestmark = pytest.mark.parametrize("subject", ["ollama", "ollama-sync"])


def outermost(done: Done) -> str:
    """Return the type of what was raised."""
    assert done.raised, done
    return done.raised[0][0]


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern", "unit": "celsius"})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        error(401, "invalid_api_key"),
        error(404, "model_not_found"),
        error(429, "rate_limit_exceeded", retry_after="1"),
        error(500, "server_error"),
        error(502, "bad_gateway"),
        error(503, "overloaded", retry_after="1"),
    ],
)
def test_no_status_is_tried_again(subject: str, stream: bool, fault: dict[str, Any]) -> None:
    """One class stands for all of them, and tells the status."""
    done = play(subject, fault, stream=stream)
    assert (done.attempts, outermost(done)) == (1, RESPONSE_ERROR)
    assert f"(status code: {fault['status']})" in done.raised[0][1]


@pytest.mark.parametrize("fault", [{"kind": "connect_refused"}, {"kind": "dns_failure"}])
def test_a_connection_that_fails_is_pythons_error_but_for_a_stream(
    subject: str, fault: dict[str, Any]
) -> None:
    """Where a stream is asked for, it comes through as httpx's."""
    assert outermost(play(subject, fault)) == "ConnectionError"
    assert outermost(play(subject, fault, stream=True)) == "httpx.ConnectError"


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "connect_timeout"}, "ConnectTimeout"),
        ({"kind": "reset_before_response"}, "ReadError"),
        ({"kind": "reset_before_response", "how": "eof"}, "RemoteProtocolError"),
        ({"kind": "truncate", "how": "eof", "after_body_bytes": 20}, "RemoteProtocolError"),
        ({"kind": "stall"}, "ReadTimeout"),
    ],
)
def test_other_failures_of_the_network_come_through_as_httpxs(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """Tried once."""
    done = play(subject, fault)
    assert (done.attempts <= 1, outermost(done)) == (True, f"httpx.{raises}")


@pytest.mark.parametrize("name", ["overloaded_error", "rate_limit_exceeded", "server_error"])
@pytest.mark.parametrize("after_chunks", [0, 2])
def test_an_error_inside_a_stream_is_raised_without_a_status(
    subject: str, name: str, after_chunks: int
) -> None:
    """It is -1, whatever it would have been."""
    fault = {"kind": "stream_error", "after_chunks": after_chunks, "error": name}
    done = play(subject, fault, stream=True)
    assert (done.attempts, outermost(done)) == (1, RESPONSE_ERROR)
    assert "(status code: -1)" in done.raised[0][1]


def test_a_stream_that_ends_early_is_taken_for_whole(subject: str) -> None:
    """Nobody misses the line that says `done`."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "truncate", "how": "eof", "after_chunks": 2}, "httpx.RemoteProtocolError"),
        ({"kind": "truncate", "how": "reset", "after_chunks": 2}, "httpx.ReadError"),
        ({"kind": "stall", "after_chunks": 2}, "httpx.ReadTimeout"),
        ({"kind": "corrupt_body", "at_byte": 30, "bytes_count": 5}, "json.decoder.JSONDecodeError"),
    ],
)
def test_a_broken_stream_raises_what_broke(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """It is neither retried nor made one of the SDK's own errors."""
    done = play(subject, fault, stream=True)
    assert (done.attempts, outermost(done)) == (1, raises)


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (
            {"kind": "ok_with_error_body", "error": "server_error"},
            "pydantic_core._pydantic_core.ValidationError",
        ),
        ({"kind": "corrupt_body", "at_byte": 0, "bytes_count": 5}, "json.decoder.JSONDecodeError"),
    ],
)
def test_an_answer_that_is_none_is_the_error_of_its_parser(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """Nothing of it is the SDK's own."""
    done = play(subject, fault)
    assert (done.attempts, outermost(done)) == (1, raises)


def test_a_run_is_the_same_twice(subject: str) -> None:
    """To the last byte."""
    fault = error(503, "overloaded")
    assert recorded(subject, fault).events == recorded(subject, fault).events
