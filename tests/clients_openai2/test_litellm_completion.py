"""What LiteLLM does: facts about litellm 1.106.2 and openai 2.54.

Its documentation of `max_retries` says 0 (main.py, `completion`); where nobody sets it, the SDK
below is given 2 (llms/openai/openai.py, `inference_params.pop("max_retries", 2)`), and waits as it
does (openai 2.54.0, _base_client.py, `_calculate_retry_timeout`).
"""

from __future__ import annotations

import json

import pytest

from tests.subjects.clients.simulated import error, play, recorded

SUBJECTS = ("litellm", "litellm-sync")
CUT = {"kind": "truncate", "how": "eof", "after_chunks": 3}
UNFINISHED = {"kind": "truncate", "how": "clean_end", "after_chunks": 3}
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern"}'}]

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    done = play(subject, stream=stream, reply="Hi there.")
    assert (done.attempts, done.text) == (1, "Hi there.")
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern"})


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_waits_as_long_as_it_is_told(subject: str, stream: bool) -> None:
    """Retry-After is followed up to two minutes, to the nanosecond."""
    done = play(subject, error(429, "rate_limit_exceeded", retry_after="7"), stream=stream)
    assert (done.attempts, done.waits_s) == (2, (7.0,))
    assert done.text == "Hello from the simulated provider."


def test_three_attempts_though_none_is_documented(subject: str) -> None:
    """Half a second, then one, each up to a quarter shorter; the class is LiteLLM's."""
    done = play(subject, *[error(429, "rate_limit_exceeded")] * 9)
    first, second = done.waits_s
    assert done.attempts == 3
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    assert done.raised[0][0] == "litellm.exceptions.RateLimitError"


def test_a_stream_that_is_cut_is_left_to_a_fallback(subject: str) -> None:
    """litellm_core_utils/streaming_handler.py: the error asks a router to go on, and none is here.

    Nothing is asked again.
    """
    done = play(subject, CUT, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, "litellm.exceptions.MidStreamFallbackError")


def test_half_an_answer_passes_for_one(subject: str) -> None:
    """A stream that ends without its finish reason is taken as finished."""
    done = play(subject, UNFINISHED, stream=True)
    assert (done.attempts, done.text) == (1, "Hello from")


def test_a_rate_limit_in_a_good_status_is_two_things(subject: str) -> None:
    """The one that blocks has lost the provider's words, the other one classifies by them."""
    done = play(subject, {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"})
    ((name, message), *_) = done.raised
    classes = {"litellm": "RateLimitError", "litellm-sync": "APIError"}
    assert (done.attempts, name) == (1, f"litellm.exceptions.{classes[subject]}")
    assert ("Rate limit" in message) == (subject == "litellm")


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_run_twice_is_the_same(subject: str, stream: bool) -> None:
    """Its ids come from an extension module, its logging runs on threads and in tasks."""
    faults = error(429, "rate_limit_exceeded"), error(500, "server_error"), CUT
    one, two = (recorded(subject, *faults, stream=stream) for _ in range(2))
    assert one.events == two.events
    assert one.footer == two.footer
