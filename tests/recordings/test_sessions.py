"""Which exchanges make a session, and which attempts a call."""

from __future__ import annotations

import pytest

from faultclock.recordings.exchange import Exchange, Oddities, OddityKind
from faultclock.recordings.providers import Destination
from faultclock.recordings.sessions import CALLS_MAX, Placed, Session, sessions_of
from tests.recordings.builders import exchange

OPENAI = Destination(host="api.openai.com", provider=True, dialect="openai-chat")


def grouped(
    *items: tuple[Exchange, bool], destination: Destination = OPENAI
) -> tuple[Session, ...]:
    """Return the sessions of exchanges, each with whether it failed."""
    placed = [
        Placed(exchange=item, destination=destination, failed=failed) for item, failed in items
    ]
    return sessions_of(placed, Oddities())


def shape(sessions: tuple[Session, ...]) -> list[list[int]]:
    """Return how many attempts each call of each session has."""
    return [[len(call.attempts) for call in session.calls] for session in sessions]


def stainless(number: int, asked: bytes = b"{}", at_s: float | None = None) -> Exchange:
    """Return an attempt as OpenAI's and Anthropic's SDKs number it."""
    headers = (("x-stainless-retry-count", str(number - 1)),)
    return exchange(asked=asked, headers=headers, at_s=at_s)


def amazon(number: int, invocation: str) -> Exchange:
    """Return an attempt as Amazon's SDK numbers it."""
    headers = (
        ("amz-sdk-request", f"attempt={number}; max=5"),
        ("amz-sdk-invocation-id", invocation),
    )
    return exchange(headers=headers)


def test_an_equal_request_after_a_failure_is_the_next_attempt() -> None:
    """Where no header counts."""
    assert shape(grouped((exchange(), True), (exchange(), True), (exchange(), False))) == [[3]]


def test_an_equal_request_after_a_good_answer_is_another_call() -> None:
    """Nobody tries again what went well."""
    assert shape(grouped((exchange(), False), (exchange(), False))) == [[1, 1]]


def test_white_space_and_the_order_of_keys_do_not_make_another_request() -> None:
    """Some clients build the body anew for each attempt."""
    one, two = exchange(asked=b'{"a": 1, "b": 2}'), exchange(asked=b'{"b":2,"a":1}')
    assert shape(grouped((one, True), (two, False))) == [[2]]


def test_attempts_of_two_calls_may_interleave() -> None:
    """Two tasks of one program, each with its own retries."""
    a, b = b'{"messages": "a"}', b'{"messages": "b"}'
    items = [stainless(1, a), stainless(1, b), stainless(2, a), stainless(2, b)]
    assert shape(grouped(*((item, True) for item in items))) == [[2, 2]]


def test_a_count_that_begins_again_is_another_call() -> None:
    """An outer layer that tries again calls the SDK anew; that is told."""
    oddities = Oddities()
    items = [stainless(1), stainless(2), stainless(1), stainless(2)]
    placed = [Placed(exchange=item, destination=OPENAI, failed=True) for item in items]
    assert shape(sessions_of(placed, oddities)) == [[2, 2]]
    assert [oddity.kind for oddity in oddities] == [OddityKind.REPEATED_REQUEST]


def test_attempts_that_were_not_recorded_are_told() -> None:
    """A recording that was switched on late begins with a retry."""
    oddities = Oddities()
    placed = [Placed(exchange=stainless(3), destination=OPENAI, failed=True)]
    assert shape(sessions_of(placed, oddities)) == [[1]]
    assert [oddity.kind for oddity in oddities] == [OddityKind.ATTEMPTS_MISSING]


def test_an_invocation_id_groups_attempts_by_itself() -> None:
    """Amazon's SDK names the call."""
    items = [amazon(1, "a"), amazon(1, "b"), amazon(2, "a"), amazon(2, "b")]
    assert shape(grouped(*((item, True) for item in items))) == [[2, 2]]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (exchange(headers=(("authorization", "Bearer a"),)), exchange()),
        (exchange(headers=(("x-api-key", "a"),)), exchange(headers=(("x-api-key", "b"),))),
        (exchange(url="https://x.example/?key=a"), exchange(url="https://x.example/?key=b")),
        (exchange(headers=(("session-id", "a"),)), exchange(headers=(("session-id", "b"),))),
        (exchange(asked=b'{"session_id": "a"}'), exchange(asked=b'{"session_id": "b"}')),
        (exchange(at_s=1_000.0), exchange(at_s=1_601.0)),
        (exchange(at_s=1_000.0), exchange(at_s=900.0)),
    ],
)
def test_another_key_session_or_time_begins_another_session(one: Exchange, two: Exchange) -> None:
    """Recordings are often put together from several runs."""
    assert shape(grouped((one, True), (two, True))) == [[1], [1]]


def test_ten_minutes_are_no_pause_yet() -> None:
    """An SDK may be told to come back much later than it would by itself."""
    items = [(exchange(at_s=1_000.0), True), (exchange(at_s=1_600.0), True)]
    assert shape(grouped(*items)) == [[2]]


def test_a_clock_of_whole_seconds_may_seem_to_go_back() -> None:
    """Answers overtake each other within a second; more than that is told."""
    items = [(exchange(at_s=1_001.0), True), (exchange(at_s=1_000.0), True)]
    assert shape(grouped(*items)) == [[2]]


def test_hosts_are_apart() -> None:
    """Two providers in one file are two sessions, however they interleave."""
    other = Destination(host="api.groq.com", provider=True, dialect="openai-compatible")
    placed = [
        Placed(exchange=exchange(asked=body), destination=destination, failed=False)
        for body, destination in ((b"1", OPENAI), (b"2", other), (b"3", OPENAI))
    ]
    assert shape(sessions_of(placed, Oddities())) == [[1, 1], [1]]


def test_a_long_session_becomes_several() -> None:
    """A scenario of a thousand calls would be read by nobody."""
    items = [(exchange(asked=str(number).encode()), False) for number in range(CALLS_MAX + 1)]
    assert [len(calls) for calls in shape(grouped(*items))] == [CALLS_MAX, 1]
