"""One request to a JSON service, byte by byte and without a network."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.agents.json_exchange import JsonExchange, ServiceError

GOOD = (
    b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{"text":"a"}'
)


def failure(*pieces: bytes) -> ServiceError:
    """Return what is raised when `pieces` arrive."""
    exchange = JsonExchange("http://service.example/v1/items/1")
    for piece in pieces[:-1]:
        exchange.feed(piece)
    with pytest.raises(ServiceError) as raised:
        exchange.feed(pieces[-1])
    return raised.value


def test_the_request_is_whole_and_carries_the_key() -> None:
    """It names the host, the path with its query, and who asks."""
    exchange = JsonExchange("https://service.example/v1/items?id=1", "sk-test-12345678")
    assert (exchange.host, exchange.port, exchange.secure) == ("service.example", 443, True)
    head = exchange.request_bytes.decode()
    assert head.startswith("GET /v1/items?id=1 HTTP/1.1\r\n")
    assert "authorization: bearer sk-test-12345678" in head.lower()


def test_a_body_is_posted_as_json() -> None:
    """With its length, so that the service knows where it ends."""
    exchange = JsonExchange("https://service.example/v1/orders", body={"item": 17})
    head, _, body = exchange.request_bytes.decode().partition("\r\n\r\n")
    assert head.startswith("POST /v1/orders HTTP/1.1\r\n")
    assert "content-length: 12" in head.lower()
    assert body == '{"item": 17}'


@given(cuts=st.lists(st.integers(0, len(GOOD)), max_size=6))
def test_an_answer_may_arrive_in_any_pieces(cuts: list[int]) -> None:
    """What is read does not depend on how it was cut."""
    exchange = JsonExchange("http://service.example/")
    places = [0, *sorted(cuts), len(GOOD)]
    for start, end in pairwise(places):
        if end > start and not exchange.done:
            exchange.feed(GOOD[start:end])
    assert exchange.answer == {"text": "a"}


def test_an_error_status_is_kept() -> None:
    """Whatever the body says."""
    error = failure(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno")
    assert (error.kind, error.status) == ("status", 404)


def test_a_status_is_known_though_its_body_is_cut() -> None:
    """It says more than the missing rest."""
    error = failure(b"HTTP/1.1 503 Busy\r\ncontent-length: 9\r\n\r\nno", b"")
    assert (error.kind, error.status) == ("status", 503)


def test_a_cut_answer_is_a_network_failure_and_a_broken_one_is_malformed() -> None:
    """One may be asked again, the other says that the service is not what it seems."""
    assert failure(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{", b"").kind == "network"
    assert failure(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n\x1a\x1a}").kind == "malformed"
    assert failure(b"hello\r\n\r\n").kind == "malformed"
