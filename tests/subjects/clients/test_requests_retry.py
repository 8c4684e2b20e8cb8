"""What requests with urllib3's Retry does: facts about requests 2.34 and urllib3 2.8."""

from __future__ import annotations

import json

import pytest

from tests.subjects.clients.simulated import error, play

SUBJECT = "requests-retry"
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern"}'}]


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(SUBJECT, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(SUBJECT, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern"})


def test_a_listed_status_is_retried_at_once_and_then_by_a_doubling_factor() -> None:
    """No wait, 0.2 s, 0.4 s, without jitter; then a RetryError."""
    done = play(SUBJECT, *[error(503, "service_unavailable")] * 4)
    assert done.attempts == 4
    assert done.waits_s == (pytest.approx(0), pytest.approx(0.2), pytest.approx(0.4))
    assert done.raised[0][0] == "requests.exceptions.RetryError"


def test_a_429_is_retried_for_its_header_alone() -> None:
    """It is not in the list, and is retried when the provider says when to come back."""
    assert play(SUBJECT, error(429, "rate_limit_exceeded", retry_after="7")).waits_s == (
        pytest.approx(7),
    )
    done = play(SUBJECT, error(429, "rate_limit_exceeded"))
    assert (done.attempts, done.raised[0][0]) == (1, "requests.exceptions.HTTPError")


@pytest.mark.parametrize("header", ["1.5", "soon", "-1"])
def test_a_header_that_is_no_whole_number_ends_the_call(header: str) -> None:
    """urllib3 raises InvalidHeader in place of the provider's 429."""
    done = play(SUBJECT, error(429, "rate_limit_exceeded", retry_after=header))
    assert (done.attempts, done.raised[0][0]) == (1, "requests.exceptions.InvalidHeader")


@pytest.mark.parametrize("how", ["eof", "reset"])
def test_what_breaks_after_the_headers_is_never_retried(how: str) -> None:
    """The adapter's work ends where the body begins."""
    cut = {"kind": "truncate", "how": how, "after_chunks": 2}
    done = play(SUBJECT, cut, stream=True, reply="Hi there, you two.")
    assert (done.attempts, done.raised[0][0]) == (1, "requests.exceptions.ChunkedEncodingError")
