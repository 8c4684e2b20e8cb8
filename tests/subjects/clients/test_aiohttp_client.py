"""What aiohttp does when nobody wrote a retry around it: facts about aiohttp 3.14."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.subjects.clients.simulated import error, play

SUBJECT = "aiohttp"
TOOLS = [{"name": "weather", "arguments": '{"city": "Bern"}'}]
CUT = {"kind": "truncate", "how": "eof", "after_chunks": 2}


@pytest.mark.parametrize("stream", [False, True])
def test_good_answers_arrive(stream: bool) -> None:
    """Texts and tool calls, whole and streamed."""
    assert play(SUBJECT, stream=stream, reply="Hi there.").text == "Hi there."
    ((name, arguments),) = play(SUBJECT, stream=stream, tool_calls=TOOLS).tool_calls
    assert (name, json.loads(arguments)) == ("weather", {"city": "Bern"})


@pytest.mark.parametrize(
    ("fault", "raises", "stream"),
    [
        (error(429, "rate_limit_exceeded", retry_after="1"), "ClientResponseError", False),
        ({"kind": "connect_refused"}, "ClientConnectorError", False),
        ({"kind": "dns_failure"}, "ClientConnectorDNSError", False),
        ({"kind": "reset_before_response", "how": "eof"}, "ServerDisconnectedError", False),
        (CUT, "ClientPayloadError", True),
    ],
)
def test_every_failure_is_raised_at_once(fault: dict[str, Any], raises: str, stream: bool) -> None:
    """One attempt, and an exception of aiohttp's own."""
    done = play(SUBJECT, fault, stream=stream)
    assert done.attempts <= 1
    assert done.waits_s == ()
    library, _, name = done.raised[0][0].rpartition(".")
    assert (library.partition(".")[0], name) == ("aiohttp", raises)


def test_the_deadline_is_that_of_the_whole_request() -> None:
    """A body that never stops dripping is ended by it, too."""
    done = play(SUBJECT, {"kind": "stall"})
    assert done.raised[0][0] == "TimeoutError"
