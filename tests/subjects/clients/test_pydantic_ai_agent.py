"""What Pydantic AI on the OpenAI SDK does: facts about pydantic-ai-slim 2.68 and openai 3.54.

Retries and waits are the SDK's (openai 3.54.0, _constants.py and _base_client.py,
`_calculate_retry_timeout`); the classes are the framework's (pydantic-ai-slim 2.68.0,
_model_errors.py).
"""

from __future__ import annotations

import pytest

from tests.subjects.clients.simulated import error, play, recorded

SUBJECTS = ("pydantic-ai", "pydantic-ai-sync")
CUT = {"kind": "truncate", "how": "eof", "after_chunks": 3}
UNFINISHED = {"kind": "truncate", "how": "clean_end", "after_chunks": 3}

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Whole and streamed, asked for once."""
    done = play(subject, stream=stream, reply="Hi there.")
    assert (done.attempts, done.text) == (1, "Hi there.")


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_waits_as_long_as_it_is_told(subject: str, stream: bool) -> None:
    """Retry-After is followed up to two minutes, to the nanosecond."""
    done = play(subject, error(429, "rate_limit_exceeded", retry_after="7"), stream=stream)
    assert (done.attempts, done.waits_s) == (2, (7.0,))
    assert done.text == "Hello from the simulated provider."


def test_the_sdk_gives_up_at_its_third_attempt(subject: str) -> None:
    """Half a second, then one, each up to a quarter shorter; the framework adds no attempts."""
    done = play(subject, *[error(429, "rate_limit_exceeded")] * 9)
    first, second = done.waits_s
    assert done.attempts == 3
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    names = [name for name, _ in done.raised[:2]]
    assert names == ["pydantic_ai.exceptions.ModelRateLimitError", "openai.RateLimitError"]


def test_a_hint_of_more_than_two_minutes_is_the_end(subject: str) -> None:
    """Nothing is asked again."""
    done = play(subject, error(429, "rate_limit_exceeded", retry_after="121"))
    assert (done.attempts, done.text) == (1, None)


def test_a_stream_that_is_cut_is_not_asked_for_again(subject: str) -> None:
    """The framework says so by a class of its own."""
    done = play(subject, CUT, stream=True)
    assert done.attempts == 1
    assert done.raised[0][0] == "pydantic_ai.exceptions.ModelConnectionError"


def test_half_an_answer_passes_for_one(subject: str) -> None:
    """A stream that ends without its finish reason is taken as finished.

    models/openai/_chat_streaming.py, `_missing_finish_reason`: some compatible providers never
    send one.
    """
    done = play(subject, UNFINISHED, stream=True)
    assert (done.attempts, done.text) == (1, "Hello from")


def test_an_unknown_tool_is_answered_by_the_framework(subject: str) -> None:
    """It tells the model that there is none (tool_manager.py), and the model answers in words."""
    done = play(subject, tool_calls=[{"name": "weather", "arguments": "{}"}])
    assert (done.attempts, done.text) == (2, "Hello from the simulated provider.")


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_run_twice_is_the_same(subject: str, stream: bool) -> None:
    """Its run ids are UUIDs of time and entropy, its instrumentation reads two clocks."""
    faults = error(429, "rate_limit_exceeded"), error(500, "server_error"), CUT
    one, two = (recorded(subject, *faults, stream=stream) for _ in range(2))
    assert one.events == two.events
    assert one.footer == two.footer
