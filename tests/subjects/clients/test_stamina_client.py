"""What httpx2 under stamina's defaults does: facts about stamina 26.1 and httpx2 2.16."""

from __future__ import annotations

import json

import pytest

from tests.subjects.clients.simulated import error, play

SUBJECTS = ("stamina", "stamina-sync")
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern"}'}]

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern"})


def test_ten_attempts_with_jitter_on_top_of_a_doubling_wait(subject: str) -> None:
    """From 0.1 s on, plus up to a second, five seconds at most; the last error is let through."""
    done = play(subject, *[error(500, "server_error")] * 10)
    assert done.attempts == 10
    for number, wait in enumerate(done.waits_s):
        low = min(5.0, 0.1 * 2**number)
        assert low - 1e-6 <= wait <= min(5.0, low + 1.0) + 1e-6
    assert done.raised[0][0] == "httpx2.HTTPStatusError"


def test_nobody_reads_retry_after(subject: str) -> None:
    """Asked to wait for 30 s, it is back within 1.1 s."""
    done = play(subject, error(429, "rate_limit_exceeded", retry_after="30"))
    (wait,) = done.waits_s
    assert wait <= 1.1


def test_nothing_is_begun_45_seconds_after_the_first_attempt(subject: str) -> None:
    """Two attempts that hang for 30 s each are all of it."""
    done = play(subject, {"kind": "stall"}, {"kind": "stall"})
    assert done.attempts == 2
    assert done.raised[0][0] == "httpx2.ReadTimeout"


def test_an_error_object_in_the_answer_is_no_http_error(subject: str) -> None:
    """The KeyError is the program's own, and is not retried."""
    done = play(subject, {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"})
    assert (done.attempts, done.raised[0][0]) == (1, "KeyError")


def test_a_stream_that_is_reset_is_asked_for_again(subject: str) -> None:
    """A ReadError is an HTTPError, and the decorator is around the stream."""
    reset = {"kind": "truncate", "how": "reset", "after_chunks": 2}
    done = play(subject, reset, stream=True, reply="Hi there, you two.")
    assert (done.attempts, done.text) == (2, "Hi there, you two.")
