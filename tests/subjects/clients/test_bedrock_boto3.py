"""What boto3 on botocore 1.44.5 does when Bedrock fails, as it is: facts about that version.

A newer SDK that does otherwise fails here by name; then these facts are to be written anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.subjects.clients.simulated import error, play

SUBJECT = "bedrock"
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern", "unit": "celsius"}'}]


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(stream: bool) -> None:
    """Texts and tool calls, whole and as a binary stream."""
    assert play(SUBJECT, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(SUBJECT, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern", "unit": "celsius"})


@pytest.mark.parametrize(
    ("fault", "raises", "scale_s"),
    [
        (error(429, "rate_limit_exceeded"), "ThrottlingException", 1.0),
        (error(429, "insufficient_quota"), "ThrottlingException", 1.0),
        (error(429, "model_not_ready"), "ModelNotReadyException", 0.05),
        (error(500, "server_error"), "InternalServerException", 0.05),
        (error(503, "overloaded"), "ServiceUnavailableException", 0.05),
    ],
)
def test_it_retries_twice_and_then_raises_the_exception(
    fault: dict[str, Any], raises: str, scale_s: float
) -> None:
    """A throttled call waits up to 1 s and 2 s, any other up to 50 ms and 100 ms."""
    done = play(SUBJECT, fault, fault, fault)
    assert (done.attempts, done.raised[0][0]) == (3, f"botocore.errorfactory.{raises}")
    first, second = done.waits_s
    assert 0 <= first <= scale_s
    assert 0 <= second <= 2 * scale_s
    assert max(first / scale_s, second / scale_s) > 0.05


@pytest.mark.parametrize(
    ("status", "name", "raises"),
    [
        (400, "context_length_exceeded", "errorfactory.ValidationException"),
        (403, "invalid_api_key", "exceptions.ClientError"),
        (408, "request_timeout", "errorfactory.ModelTimeoutException"),
        (424, "model_error", "errorfactory.ModelErrorException"),
    ],
)
def test_it_does_not_retry_what_will_not_mend(status: int, name: str, raises: str) -> None:
    """Nor a model's own time out and failure, which might."""
    done = play(SUBJECT, error(status, name))
    assert (done.attempts, done.raised[0][0]) == (1, f"botocore.{raises}")


def test_retry_after_is_not_read() -> None:
    """The header that every HTTP client knows means nothing to it."""
    done = play(SUBJECT, error(429, "rate_limit_exceeded", retry_after="30"), reply="Hi.")
    assert done.text == "Hi."
    assert done.waits_s[0] < 1


def test_its_own_header_raises_a_wait_by_five_seconds_at_most() -> None:
    """Whatever the provider asks for."""
    short = error(429, "rate_limit_exceeded", x_amz_retry_after="3000")
    assert list(play(SUBJECT, short, reply="Hi.").waits_s) == pytest.approx([3.0])
    long = error(429, "rate_limit_exceeded", x_amz_retry_after="3600000")
    (wait_s,) = play(SUBJECT, long, reply="Hi.").waits_s
    assert 5 <= wait_s <= 6


@pytest.mark.parametrize("name", ["overloaded_error", "rate_limit_in_stream", "model_stream_error"])
@pytest.mark.parametrize("after_chunks", [0, 3])
def test_an_exception_inside_a_stream_is_neither_retried_nor_told_by_its_class(
    name: str, after_chunks: int
) -> None:
    """All are EventStreamErrors; only the code in the text tells them apart."""
    fault = {"kind": "stream_error", "after_chunks": after_chunks, "error": name}
    done = play(SUBJECT, fault, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, "botocore.exceptions.EventStreamError")


def test_a_stream_that_ends_early_is_taken_for_whole() -> None:
    """Neither the missing stop reason nor the missing usage is an error."""
    fault = {"kind": "truncate", "how": "clean_end", "after_chunks": 2}
    done = play(SUBJECT, fault, stream=True, reply="One two three.")
    assert (done.attempts, done.text) == (1, "One")


@pytest.mark.parametrize(
    ("fault", "raises"),
    [
        ({"kind": "truncate", "how": "eof", "after_chunks": 2}, "ProtocolError"),
        ({"kind": "truncate", "how": "reset", "after_chunks": 2}, "ProtocolError"),
        ({"kind": "stall", "after_chunks": 2}, "ReadTimeoutError"),
    ],
)
def test_a_broken_stream_raises_the_error_of_the_transport(
    fault: dict[str, Any], raises: str
) -> None:
    """urllib3's, not one of botocore's own."""
    done = play(SUBJECT, fault, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, f"urllib3.exceptions.{raises}")


def test_a_garbled_stream_is_noticed_by_its_checksum() -> None:
    """The error is the parser's."""
    fault = {"kind": "corrupt_body", "at_byte": 150, "bytes_count": 2}
    done = play(SUBJECT, fault, stream=True)
    assert (done.attempts, done.raised[0][0]) == (1, "botocore.eventstream.ChecksumMismatch")


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "truncate", "how": "eof", "after_body_bytes": 20},
        {"kind": "corrupt_body", "at_byte": 0, "bytes_count": 5},
        {"kind": "ok_with_error_body", "error": "rate_limit_exceeded"},
    ],
)
def test_a_body_that_is_cut_or_garbled_is_an_answer_without_text(fault: dict[str, Any]) -> None:
    """The SDK raises nothing: it returns an answer that has no output."""
    done = play(SUBJECT, fault)
    assert (done.attempts, done.raised, done.text) == (1, (), None)


def test_the_machines_own_keys_and_settings_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that would break any client is passed over."""
    for name in ("config", "credentials"):
        (tmp_path / ".aws").mkdir(exist_ok=True)
        (tmp_path / ".aws" / name).write_text("this is [no configuration")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert play(SUBJECT, reply="Hi.").text == "Hi."
