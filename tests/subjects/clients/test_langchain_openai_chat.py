"""What LangChain's ChatOpenAI does: facts about langchain-openai 1.7.3 and openai 3.54.

It leaves retries to the SDK (chat_models/base.py: `max_retries` is None, so openai 3.54.0,
_constants.py, has its two), and has classes of its own for most errors.
"""

from __future__ import annotations

import json

import pytest

from tests.subjects.clients.simulated import error, play, recorded

SUBJECTS = ("langchain-openai", "langchain-openai-sync")
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


def test_the_sdk_gives_up_at_its_third_attempt(subject: str) -> None:
    """Half a second, then one, each up to a quarter shorter; LangChain adds no attempts."""
    done = play(subject, *[error(429, "rate_limit_exceeded")] * 9)
    first, second = done.waits_s
    assert done.attempts == 3
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    assert done.raised[0][0] == "langchain_openai.chat_models.base.OpenAIRateLimitError"


def test_a_stream_that_is_cut_is_not_asked_for_again(subject: str) -> None:
    """The first chunks were handed out already."""
    done = play(subject, CUT, stream=True)
    assert done.attempts == 1
    assert done.raised[0][0] == "langchain_openai.chat_models.base.OpenAIConnectionError"


def test_an_error_in_the_stream_keeps_the_class_of_the_sdk(subject: str) -> None:
    """Of all failures this one has no class of LangChain's."""
    broken = {"kind": "stream_error", "error": "server_error", "after_chunks": 3}
    done = play(subject, broken, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, "openai.APIError")


def test_half_an_answer_passes_for_one(subject: str) -> None:
    """A stream that ends without its finish reason is taken as finished."""
    done = play(subject, UNFINISHED, stream=True)
    assert (done.attempts, done.text) == (1, "Hello from")


def test_an_error_object_in_the_answer_is_a_plain_value_error(subject: str) -> None:
    """chat_models/base.py, `_create_chat_result`; nobody tries again."""
    done = play(subject, {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"})
    assert (done.attempts, done.raised[0][0]) == (1, "ValueError")


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_run_twice_is_the_same(subject: str, stream: bool) -> None:
    """Its run ids are UUIDs that an extension module draws."""
    faults = error(429, "rate_limit_exceeded"), error(500, "server_error"), CUT
    one, two = (recorded(subject, *faults, stream=stream) for _ in range(2))
    assert one.events == two.events
    assert one.footer == two.footer
