"""What the Mistral SDK 3.7 does when its provider fails, as it is: facts about that version.

A newer SDK that does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import Done, error, play, recorded

TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]

pytestmark = pytest.mark.parametrize("subject", ["mistralai", "mistralai-sync"])


def outermost(done: Done) -> str:
    """Return the class of what was raised."""
    assert done.raised, done
    return done.raised[0][0].rpartition(".")[2]


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern", "unit": "celsius"})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (error(401, "invalid_api_key"), "SDKError"),
        (error(422, "unprocessable"), "HTTPValidationError"),
        (error(429, "rate_limit_exceeded", retry_after="1"), "SDKError"),
        (error(500, "server_error"), "SDKError"),
        (error(502, "bad_gateway"), "SDKError"),
        (error(503, "overloaded", retry_after="1"), "SDKError"),
    ],
)
def test_no_status_is_tried_again(
    subject: str, stream: bool, fault: dict[str, Any], raises: str
) -> None:
    """Unless it is told to; one class stands for nearly all of them."""
    done = play(subject, fault, stream=stream)
    assert (done.attempts, outermost(done)) == (1, raises)


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "connect_refused"}, "ConnectError"),
        ({"kind": "connect_timeout"}, "ConnectTimeout"),
        ({"kind": "dns_failure"}, "ConnectError"),
        ({"kind": "reset_before_response"}, "ReadError"),
        ({"kind": "reset_before_response", "how": "eof"}, "RemoteProtocolError"),
        ({"kind": "truncate", "how": "eof", "after_body_bytes": 20}, "RemoteProtocolError"),
        ({"kind": "stall"}, "ReadTimeout"),
    ],
)
def test_a_failure_of_the_network_comes_through_as_httpx2s(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """Tried once."""
    done = play(subject, fault, reply="Hi.")
    assert done.attempts <= 1
    assert done.raised[0][0] == f"httpx2.{raises}"


@pytest.mark.parametrize("name", ["overloaded_error", "rate_limit_exceeded", "server_error"])
def test_an_error_inside_a_stream_is_nothing_but_a_finish_reason(subject: str, name: str) -> None:
    """Who reads the text alone takes what came before it for the answer."""
    fault = {"kind": "stream_error", "after_chunks": 3, "error": name}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


def test_a_stream_that_ends_early_is_taken_for_whole(subject: str) -> None:
    """Neither the missing finish reason nor the missing end marker is an error."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 3}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "truncate", "how": "eof", "after_chunks": 2}, "httpx2.RemoteProtocolError"),
        ({"kind": "truncate", "how": "reset", "after_chunks": 2}, "httpx2.ReadError"),
        ({"kind": "stall", "after_chunks": 2}, "httpx2.ReadTimeout"),
    ],
)
def test_a_broken_stream_raises_the_error_of_the_transport(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """It is neither retried nor made one of the SDK's own errors."""
    done = play(subject, fault, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, raises)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"},
        {"kind": "corrupt_body", "at_byte": 30, "bytes_count": 5},
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_sdk(
    subject: str, stream: bool, fault: dict[str, Any]
) -> None:
    """Its types check what they are given; the status that is told is 200."""
    done = play(subject, fault, stream=stream)
    unexpected = stream and fault["kind"] == "ok_with_error_body"
    raises = "SDKError" if unexpected else "ResponseValidationError"
    assert (done.attempts, outermost(done)) == (1, raises)


def test_a_run_is_the_same_twice(subject: str) -> None:
    """To the last byte."""
    fault = error(503, "overloaded")
    assert recorded(subject, fault).events == recorded(subject, fault).events
