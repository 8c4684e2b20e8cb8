"""What the Anthropic SDK 2.12 does when its provider fails, as it is: facts about that version.

A newer SDK that does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import Done, error, play

SUBJECTS = ("anthropic", "anthropic-sync")
LIMITED = error(429, "rate_limit_exceeded")
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]

pytestmark = pytest.mark.parametrize("subject", SUBJECTS)


def outermost(done: Done) -> str:
    """Return the type of what was raised."""
    assert done.raised, done
    return done.raised[0][0]


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(subject: str, stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(subject, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(subject, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern", "unit": "celsius"})


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        (error(408, "request_timeout"), "anthropic.RequestTimeoutError"),
        (error(409, "conflict"), "anthropic.ConflictError"),
        (LIMITED, "anthropic.RateLimitError"),
        (error(500, "server_error"), "anthropic.InternalServerError"),
        (error(529, "overloaded"), "anthropic.OverloadedError"),
    ],
)
def test_it_retries_twice_and_then_raises_the_class_of_the_status(
    subject: str, fault: dict[str, Any], raises: str
) -> None:
    """Waits of 0.5 s and 1 s, each less up to a quarter."""
    done = play(subject, fault, fault, fault)
    assert done.attempts == 3
    first, second = done.waits_s
    assert 0.375 <= first <= 0.5
    assert 0.75 <= second <= 1.0
    assert outermost(done) == raises


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "1.5"}, 1.5),
        ({"retry_after_ms": "250", "retry_after": "9"}, 0.25),
        ({"retry_after": "86400"}, 86_400.0),
        ({"retry_after": "99999999"}, 4_294_967.0),
    ],
)
def test_retry_after_is_honored_to_the_end(
    subject: str, headers: dict[str, str], wait_s: float
) -> None:
    """There is no ceiling below fifty days."""
    done = play(subject, error(429, "rate_limit_exceeded", **headers), reply="Hi.")
    assert list(done.waits_s) == pytest.approx([wait_s])
    assert done.text == "Hi."


def test_the_provider_has_the_last_word_on_retries(subject: str) -> None:
    """`x-should-retry` overrules the status in both directions."""
    told_no = play(subject, error(500, "server_error", x_should_retry="false"))
    assert (told_no.attempts, outermost(told_no)) == (1, "anthropic.InternalServerError")
    told_yes = play(subject, error(400, "invalid_request", x_should_retry="true"), reply="Hi.")
    assert (told_yes.attempts, told_yes.text) == (2, "Hi.")


def test_a_used_up_account_is_retried_like_a_rate_limit(subject: str) -> None:
    """The class tells them apart, the retries do not."""
    fault = error(429, "insufficient_quota")
    done = play(subject, fault, fault, fault)
    assert (done.attempts, outermost(done)) == (3, "anthropic.EnforcedSpendLimitReachedError")
    done = play(subject, error(400, "credit_balance_too_low"))
    assert (done.attempts, outermost(done)) == (1, "anthropic.BadRequestError")


@pytest.mark.parametrize("name", ["overloaded_error", "rate_limit_in_stream", "server_error"])
@pytest.mark.parametrize("after_chunks", [0, 3])
def test_an_error_inside_a_stream_is_neither_retried_nor_told_by_its_class(
    subject: str, name: str, after_chunks: int
) -> None:
    """Whatever its type, and even before any text: the response's status was 200."""
    fault = {"kind": "stream_error", "after_chunks": after_chunks, "error": name}
    done = play(subject, fault, stream=True)
    assert (done.attempts, outermost(done)) == (1, "anthropic.APIStatusError")


def test_a_stream_that_ends_early_is_taken_for_whole(subject: str) -> None:
    """Neither the missing stop reason nor the missing last event is an error."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    done = play(subject, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One")


def test_the_arguments_of_a_cut_tool_call_look_whole(subject: str) -> None:
    """What arrived of their JSON is completed to an object that the model never sent."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 3}
    done = play(subject, fault, stream=True, tool_calls=TOOLS)
    ((name, arguments),) = done.tool_calls
    assert (name, json.loads(arguments)) == ("weather", {})
    fault["after_chunks"] = 4
    ((_, arguments),) = play(subject, fault, stream=True, tool_calls=TOOLS).tool_calls
    assert json.loads(arguments) == {"city": "Bern"}


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
    assert (done.attempts, outermost(done)) == (1, raises)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "reset_before_response"},
        {"kind": "truncate", "how": "eof", "after_body_bytes": 20},
        {"kind": "connect_refused"},
    ],
)
def test_what_breaks_before_an_answer_is_whole_is_retried(
    subject: str, fault: dict[str, Any]
) -> None:
    """A plain answer is read before it is anybody's."""
    done = play(subject, fault, reply="Hi.")
    assert done.text == "Hi."


def test_a_garbled_body_is_the_callers_problem(subject: str) -> None:
    """What the JSON parser raises comes out as it is, and nothing is retried."""
    done = play(subject, {"kind": "corrupt_body", "at_byte": 0, "bytes_count": 5})
    assert (done.attempts, outermost(done)) == (1, "json.decoder.JSONDecodeError")


def test_an_error_object_in_a_200_is_a_message_without_content(subject: str) -> None:
    """The SDK raises nothing: it returns a message whose content is None."""
    done = play(subject, {"kind": "ok_with_error_body", "error": "overloaded"})
    assert (done.attempts, done.raised, done.text) == (1, (), None)
