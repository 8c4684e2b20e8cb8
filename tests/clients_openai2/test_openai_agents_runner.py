"""What the OpenAI Agents SDK does: facts about openai-agents 0.20 and openai 2.54.

A run adds no attempts of its own (openai-agents 0.20.0, models/openai_chatcompletions.py): retries
and waits are those of the SDK below (openai 2.54.0, _constants.py and _base_client.py,
`_calculate_retry_timeout`).
"""

from __future__ import annotations

import pytest

from tests.subjects.clients.simulated import error, play, recorded

SUBJECTS = ("openai-agents", "openai-agents-sync")
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
    """Half a second, then one, each up to a quarter shorter; its error comes through unchanged."""
    done = play(subject, *[error(429, "rate_limit_exceeded")] * 9)
    first, second = done.waits_s
    assert done.attempts == 3
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    assert done.raised[0][0] == "openai.RateLimitError"


def test_a_stream_that_is_cut_raises_what_the_http_client_raised(subject: str) -> None:
    """This SDK wraps errors of a request, and none that come while a stream is read."""
    done = play(subject, CUT, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, "httpx.RemoteProtocolError")


def test_half_an_answer_passes_for_one(subject: str) -> None:
    """A stream that ends without its finish reason is taken as finished."""
    done = play(subject, UNFINISHED, stream=True)
    assert (done.attempts, done.text) == (1, "Hello from")


def test_an_unknown_tool_ends_the_run(subject: str) -> None:
    """run_internal/turn_resolution.py: the model is not told that there is none."""
    done = play(subject, tool_calls=[{"name": "weather", "arguments": "{}"}])
    assert (done.attempts, done.raised[0][0]) == (1, "agents.exceptions.ModelBehaviorError")


def test_a_key_in_the_environment_uploads_nothing(
    subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each trace that went to the provider's host would count as an attempt."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    trace = recorded(subject, error(429, "rate_limit_exceeded", retry_after="30"))
    targets = [event.payload["target"] for event in trace.of_kind("http.request")]
    assert targets == ["/v1/chat/completions"] * 2


@pytest.mark.parametrize("stream", [False, True])
def test_the_same_run_twice_is_the_same(subject: str, stream: bool) -> None:
    """Ids, clocks and background tasks of a run are the world's."""
    faults = error(429, "rate_limit_exceeded"), error(500, "server_error"), CUT
    one, two = (recorded(subject, *faults, stream=stream) for _ in range(2))
    assert one.events == two.events
    assert one.footer == two.footer
