"""What httpx2 under tenacity's documented decorator does: facts about tenacity 9.1."""

from __future__ import annotations

import json

import pytest

from tests.subjects.clients.simulated import error, play

LIMITED = error(429, "rate_limit_exceeded", retry_after="30")
SUBJECTS = ("httpx2-tenacity", "httpx2-tenacity-sync")
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern"}'}]

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern"})


def test_it_waits_at_random_below_a_doubling_bound_and_reads_no_header(subject: str) -> None:
    """At most 1, 2, 4, 8, 16 and 32 s, whatever Retry-After says; then a RetryError."""
    done = play(subject, *[LIMITED] * 7)
    assert done.attempts == 7
    assert all(wait <= 2**n + 1e-6 for n, wait in enumerate(done.waits_s))
    assert any(wait < 30 for wait in done.waits_s)
    (outer, *causes) = done.raised
    assert outer[0] == "tenacity.RetryError"
    assert causes[0][0] == "httpx2.HTTPStatusError"


def test_a_refused_key_is_asked_with_seven_times(subject: str) -> None:
    """The decorator retries every exception, unless it is told which."""
    assert play(subject, *[error(401, "invalid_api_key")] * 7).attempts == 7


@pytest.mark.parametrize("how", ["eof", "reset"])
def test_a_stream_that_is_cut_is_asked_for_again(subject: str, how: str) -> None:
    """The whole call is decorated, its stream included."""
    cut = {"kind": "truncate", "how": how, "after_chunks": 2}
    done = play(subject, cut, stream=True, reply="Hi there, you two.")
    assert (done.attempts, done.text) == (2, "Hi there, you two.")


def test_a_stream_that_ends_early_in_good_order_is_taken_for_whole(subject: str) -> None:
    """Lines end, and so does the loop over them."""
    cut = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    done = play(subject, cut, stream=True, reply="Hi there, you two.")
    assert done.attempts == 1
    assert done.text is not None
    assert "Hi there, you two.".startswith(done.text)
    assert done.text != "Hi there, you two."
