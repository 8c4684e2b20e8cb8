"""What Google's Gen AI SDK 3.4 does when its provider fails, as it is: facts about that version.

Async it goes over aiohttp 3.14, blocking over httpx2, and does not do the same. A newer SDK that
does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import Done, error, play, recorded

ASYNC, SYNC = "google-genai", "google-genai-sync"
CLIENT_ERROR = "google.genai.errors.ClientError"
SERVER_ERROR = "google.genai.errors.ServerError"
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]
FAILED = [
    {"kind": "connect_refused"},
    {"kind": "dns_failure"},
    {"kind": "reset_before_response", "how": "eof"},
    {"kind": "reset_before_response"},
]

both = pytest.mark.parametrize("subject", [ASYNC, SYNC])


def outermost(done: Done) -> str:
    """Return the type of what was raised."""
    assert done.raised, done
    return done.raised[0][0]


@both
@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern", "unit": "celsius"})


@both
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (error(400, "invalid_api_key"), CLIENT_ERROR),
        (error(408, "request_timeout"), CLIENT_ERROR),
        (error(429, "rate_limit_exceeded", retry_after="1"), CLIENT_ERROR),
        (error(429, "rate_limit_with_retry_info"), CLIENT_ERROR),
        (error(429, "insufficient_quota"), CLIENT_ERROR),
        (error(500, "server_error"), SERVER_ERROR),
        (error(502, "bad_gateway"), SERVER_ERROR),
        (error(503, "overloaded", retry_after="1"), SERVER_ERROR),
    ],
)
def test_no_status_is_tried_again(
    subject: str, stream: bool, fault: dict[str, Any], raises: str
) -> None:
    """Neither Retry-After nor RetryInfo changes that; a quota and a rate limit are one class."""
    done = play(subject, fault, stream=stream)
    assert (done.attempts, outermost(done)) == (1, raises)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", FAILED)
def test_async_a_failed_connection_is_tried_once_more_after_up_to_ten_seconds(
    stream: bool, fault: dict[str, Any]
) -> None:
    """A whole number of them, of at least one, though no retries were asked for."""
    trace = recorded(ASYNC, fault, stream=stream, reply="Hi.")
    (returned,) = trace.of_kind("call.returned")
    assert returned.payload["text"] == "Hi."
    seconds, rest = divmod(returned.at_ns, 10**9)
    assert 1 <= seconds <= 10
    assert rest < 5 * 10**8


@pytest.mark.parametrize("fault", FAILED)
def test_async_it_is_tried_no_third_time(fault: dict[str, Any]) -> None:
    """What comes out is aiohttp's own error."""
    done = play(ASYNC, fault, fault, reply="Hi.")
    assert outermost(done).startswith("aiohttp.client_exceptions.")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (FAILED[0], "ConnectError"),
        (FAILED[1], "ConnectError"),
        (FAILED[2], "RemoteProtocolError"),
        (FAILED[3], "ReadError"),
    ],
)
def test_blocking_a_failed_connection_is_tried_once(
    stream: bool, fault: dict[str, Any], raises: str
) -> None:
    """What comes out is httpx2's own error."""
    done = play(SYNC, fault, stream=stream, reply="Hi.")
    assert outermost(done) == f"httpx2.{raises}"


@both
@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "connect_timeout"},
        {"kind": "stall"},
        {"kind": "truncate", "how": "eof", "after_body_bytes": 20},
        {"kind": "truncate", "how": "reset", "after_body_bytes": 20},
    ],
)
def test_what_passes_the_deadline_or_breaks_off_is_not_tried_again(
    subject: str, fault: dict[str, Any]
) -> None:
    """Not even where a failed connection is."""
    done = play(subject, fault, reply="Hi.")
    assert (done.text, done.attempts <= 1) == (None, True)


def test_the_deadline_is_of_the_whole_answer_over_aiohttp_and_of_each_read_over_httpx2() -> None:
    """An answer that drips for longer than that arrives in one of the two."""
    fault = {"kind": "slow_drip", "bytes_per_step": 16, "every": "2s"}
    assert outermost(play(ASYNC, fault, reply="Hi.")) == "TimeoutError"
    assert play(SYNC, fault, reply="Hi.").text == "Hi."


@both
@pytest.mark.parametrize("after_chunks", [0, 2])
@pytest.mark.parametrize(
    ("name", "raises"), [("rate_limit_exceeded", CLIENT_ERROR), ("overloaded_error", SERVER_ERROR)]
)
def test_an_error_inside_a_stream_is_raised_by_its_code(
    subject: str, after_chunks: int, name: str, raises: str
) -> None:
    """And not retried."""
    fault = {"kind": "stream_error", "after_chunks": after_chunks, "error": name}
    done = play(subject, fault, stream=True)
    assert (done.attempts, outermost(done)) == (1, raises)


@both
def test_a_stream_that_ends_early_is_taken_for_whole(subject: str) -> None:
    """Nobody misses the finish reason."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


@pytest.mark.parametrize(
    ("subject", "fault", "raises"),
    [
        (ASYNC, {"kind": "truncate", "how": "eof"}, "aiohttp.client_exceptions.ClientPayloadError"),
        (
            ASYNC,
            {"kind": "truncate", "how": "reset"},
            "aiohttp.client_exceptions.ClientPayloadError",
        ),
        (ASYNC, {"kind": "stall"}, "TimeoutError"),
        (SYNC, {"kind": "truncate", "how": "eof"}, "httpx2.RemoteProtocolError"),
        (SYNC, {"kind": "truncate", "how": "reset"}, "httpx2.ReadError"),
        (SYNC, {"kind": "stall"}, "httpx2.ReadTimeout"),
    ],
)
def test_a_broken_stream_raises_the_error_of_the_transport(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """It is neither retried nor made one of the SDK's own errors."""
    done = play(subject, {**fault, "after_chunks": 2}, stream=True)
    assert (done.attempts, outermost(done)) == (1, raises)


@both
def test_an_error_object_in_a_200_is_an_answer_without_text(subject: str) -> None:
    """Only where a stream was asked for, it is raised."""
    fault = {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"}
    assert (play(subject, fault).text, play(subject, fault).raised) == (None, ())
    assert outermost(play(subject, fault, stream=True)) == CLIENT_ERROR


@both
@pytest.mark.parametrize(
    ("stream", "raises"),
    [
        (False, "json.decoder.JSONDecodeError"),
        (True, "google.genai.errors.UnknownApiResponseError"),
    ],
)
def test_a_garbled_body_has_an_error_of_its_own_in_a_stream_only(
    subject: str, stream: bool, raises: str
) -> None:
    """A whole answer's comes out of the JSON parser as it is."""
    fault = {"kind": "corrupt_body", "at_byte": 20, "bytes_count": 5}
    done = play(subject, fault, stream=stream)
    assert (done.attempts, outermost(done)) == (1, raises)


@both
def test_a_run_is_the_same_twice(subject: str) -> None:
    """Its random wait included."""
    fault = {"kind": "reset_before_response"}
    assert recorded(subject, fault).events == recorded(subject, fault).events
