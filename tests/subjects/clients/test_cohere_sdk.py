"""What the Cohere SDK 7.3 does when its provider fails, as it is: facts about that version.

A newer SDK that does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import Done, error, play, recorded

LIMITED = error(429, "rate_limit_exceeded")
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]
#: The second since 1970 at which every run begins: 2026-01-01T00:00:00Z.
BEGIN_S = 1_767_225_600

pytestmark = pytest.mark.parametrize("subject", ["cohere", "cohere-sync"])


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


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (error(408, "request_timeout"), "ApiError"),
        (error(409, "conflict"), "ApiError"),
        (LIMITED, "TooManyRequestsError"),
        (error(429, "insufficient_quota"), "TooManyRequestsError"),
        (error(500, "server_error"), "InternalServerError"),
        (error(502, "bad_gateway"), "ApiError"),
        (error(503, "overloaded"), "ServiceUnavailableError"),
    ],
)
def test_it_retries_twice_and_then_raises_the_class_of_the_status(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """Waits of 1 s and 2 s, each give or take a tenth; a used up quota is retried as well."""
    done = play(subject, fault, fault, fault)
    assert (done.attempts, outermost(done)) == (3, raises)
    first, second = done.waits_s
    assert 0.9 <= first <= 1.1
    assert 1.8 <= second <= 2.2


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (error(400, "context_length_exceeded"), "BadRequestError"),
        (error(401, "invalid_api_key"), "UnauthorizedError"),
        (error(402, "billing_hard_limit_reached"), "ApiError"),
        (error(498, "content_filter"), "InvalidTokenError"),
    ],
)
def test_other_refusals_are_final(subject: str, fault: dict[str, Any], raises: str) -> None:
    """One attempt each; a filtered prompt is called an invalid token."""
    done = play(subject, fault)
    assert (done.attempts, outermost(done)) == (1, raises)


@pytest.mark.parametrize(
    ("headers", "low_s", "high_s"),
    [
        ({"retry_after": "7"}, 7, 7),
        ({"retry_after": "3600"}, 60, 60),
        ({"retry_after": "Thu, 01 Jan 2026 00:00:10 GMT"}, 9, 10),
        # What follows is read as no hint at all, and the usual first wait is taken.
        ({"retry_after": "0"}, 0.9, 1.1),
        ({"retry_after": "1.5"}, 0.9, 1.1),
        ({"retry_after_ms": "5000"}, 0.9, 1.1),
        ({"x_ratelimit_reset": "2026-01-01T00:00:20Z"}, 0.9, 1.1),
        # Up to a fifth more than the reset says, and 60 s before that is added.
        ({"x_ratelimit_reset": str(BEGIN_S + 20)}, 19, 24),
        ({"x_ratelimit_reset": str(BEGIN_S + 3600)}, 60, 72),
    ],
)
def test_hints_are_honored_up_to_a_minute(
    subject: str, headers: dict[str, str], low_s: float, high_s: float
) -> None:
    """Whole seconds, a date, and a second since 1970; a hint in milliseconds is never heeded."""
    done = play(subject, error(429, "rate_limit_exceeded", **headers), reply="Hi.")
    assert done.text == "Hi."
    (wait_s,) = done.waits_s
    assert low_s - 1e-6 <= wait_s <= high_s + 1e-6


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "connect_refused"},
        {"kind": "dns_failure"},
        {"kind": "reset_before_response", "how": "eof"},
        {"kind": "truncate", "how": "eof", "after_body_bytes": 20},
    ],
)
def test_a_connection_that_failed_or_ended_too_early_is_retried(
    subject: str, fault: dict[str, Any]
) -> None:
    """A plain answer is read before it is anybody's."""
    assert play(subject, fault, reply="Hi.").text == "Hi."


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "connect_timeout"}, "ConnectTimeout"),
        ({"kind": "stall"}, "ReadTimeout"),
        ({"kind": "reset_before_response"}, "ReadError"),
        ({"kind": "truncate", "how": "reset", "after_body_bytes": 20}, "ReadError"),
    ],
)
def test_a_deadline_or_a_reset_is_not(subject: str, fault: dict[str, Any], raises: str) -> None:
    """What comes out is httpx's own error."""
    done = play(subject, fault, reply="Hi.")
    assert (done.attempts <= 1, outermost(done)) == (True, raises)


@pytest.mark.parametrize("fault", [LIMITED, error(503, "overloaded"), {"kind": "connect_refused"}])
def test_a_stream_is_asked_for_once(subject: str, fault: dict[str, Any]) -> None:
    """What is retried for a plain answer is final there."""
    done = play(subject, fault, stream=True, reply="Hi.")
    assert (done.attempts <= 1, done.text) == (True, None)


@pytest.mark.parametrize("name", ["overloaded_error", "rate_limit_exceeded", "server_error"])
def test_an_error_inside_a_stream_is_nothing_but_its_last_event(subject: str, name: str) -> None:
    """Who reads the text alone takes what came before it for the answer."""
    fault = {"kind": "stream_error", "after_chunks": 4, "error": name}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


def test_a_stream_that_ends_early_is_taken_for_whole(subject: str) -> None:
    """Nobody misses the last event."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 4}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One two")


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "truncate", "how": "eof", "after_chunks": 3}, "RemoteProtocolError"),
        ({"kind": "truncate", "how": "reset", "after_chunks": 3}, "ReadError"),
        ({"kind": "stall", "after_chunks": 3}, "ReadTimeout"),
    ],
)
def test_a_broken_stream_raises_the_error_of_the_transport(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """It is neither retried nor made one of the SDK's own errors."""
    done = play(subject, fault, stream=True)
    assert (done.attempts, outermost(done)) == (1, raises)


def test_an_event_that_cannot_be_read_is_left_out(subject: str) -> None:
    """The text has a hole, and only a log would say so."""
    in_the_first_piece = {"kind": "corrupt_body", "at_byte": 0, "bytes_count": 5}
    done = play(subject, in_the_first_piece, stream=True, reply="One two three.")
    assert done.text == " two three."


@pytest.mark.parametrize(("stream", "raises"), [(False, "TypeError"), (True, "SSEError")])
def test_an_error_object_in_a_200_breaks_the_sdk(subject: str, stream: bool, raises: str) -> None:
    """Its message is no object, and it is no event stream."""
    done = play(subject, {"kind": "ok_with_error_body", "error": "server_error"}, stream=stream)
    assert (done.attempts, outermost(done)) == (1, raises)


def test_a_garbled_body_is_an_error_without_a_class(subject: str) -> None:
    """Which tells the status 200."""
    done = play(subject, {"kind": "corrupt_body", "at_byte": 0, "bytes_count": 5})
    assert (done.attempts, outermost(done)) == (1, "ApiError")
    assert "status_code: 200" in done.raised[0][1]


def test_a_run_is_the_same_twice(subject: str) -> None:
    """Its jitter included."""
    assert recorded(subject, LIMITED).events == recorded(subject, LIMITED).events
