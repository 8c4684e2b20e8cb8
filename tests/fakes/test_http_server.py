"""The sans-I/O server connection: whatever bytes come in, in whatever pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.fakes.wire.http_server import (
    BadRequest,
    ContinueWanted,
    HttpRequest,
    ServerConnection,
)

POST = (
    b"POST /v1/x?y=1 HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 4\r\n\r\nbody"
)


def events_of(data: bytes, connection: ServerConnection | None = None) -> list[Any]:
    """Feed `data` in one piece and return what it amounts to."""
    connection = connection or ServerConnection()
    connection.receive(data)
    return list(connection.events())


def answer(connection: ServerConnection, body: bytes = b"ok") -> bytes:
    """Answer with a fixed length."""
    start = connection.start(200, [("content-length", str(len(body)))])
    return start + connection.data(body) + connection.end()


def test_a_request_is_read_with_joined_lower_case_headers() -> None:
    """Repeated headers become one value, as RFC 9110 allows."""
    expected = HttpRequest(
        method="POST",
        target="/v1/x?y=1",
        headers={"host": "a", "x-two": "1, 2", "content-length": "4"},
        body=b"body",
    )
    assert events_of(POST) == [expected]


@given(st.lists(st.integers(1, len(POST)), max_size=8))
def test_where_the_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    """TCP promises bytes, not pieces."""
    connection, got, start = ServerConnection(), [], 0
    for end in [*sorted(set(cuts)), len(POST)]:
        if POST[start:end]:
            got += events_of(POST[start:end], connection)
        start = end
    assert [event.body for event in got] == [b"body"]


def test_a_chunked_body_is_put_together() -> None:
    """The coding is taken off."""
    data = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    (event,) = events_of(data + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    assert event.body == b"abcde"


def test_the_connection_is_kept_and_pipelined_requests_are_answered_in_order() -> None:
    """The second request is not seen before the first is answered."""
    connection = ServerConnection()
    assert len(events_of(POST + POST.replace(b"y=1", b"y=2"), connection)) == 1
    assert list(connection.events()) == []
    assert answer(connection).endswith(b"\r\n\r\nok")
    (second,) = connection.events()
    assert second.target == "/v1/x?y=2"
    assert not connection.must_close


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.0\r\n", b"GET / HTTP/1.1\r\nConnection: close\r\n"]
)
def test_a_client_that_does_not_keep_the_connection_must_be_closed(head: bytes) -> None:
    """HTTP/1.0, or Connection: close."""
    connection = ServerConnection()
    assert len(events_of(head + b"Host: a\r\n\r\n", connection)) == 1
    answer(connection)
    assert connection.must_close


def test_expect_100_continue_is_answered_before_the_body() -> None:
    """Once: the body follows."""
    head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    connection = ServerConnection()
    (wanted,) = events_of(head, connection)
    assert isinstance(wanted, ContinueWanted)
    assert wanted.answer.startswith(b"HTTP/1.1 100 ")
    (request,) = events_of(b"hi", connection)
    assert request.body == b"hi"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GARBAGE\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 70_000, b"431"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", b"501"),
    ],
)
def test_what_is_not_http_is_refused(data: bytes, status: bytes) -> None:
    """With a status, and with a reason for the trace."""
    connection = ServerConnection()
    (bad,) = events_of(data, connection)
    assert isinstance(bad, BadRequest)
    assert bad.answer.split(b" ")[1] == status
    assert b"connection: close" in bad.answer
    assert bad.reason
    assert connection.must_close


@pytest.mark.parametrize(
    "line",
    [
        b"Authorization : Bearer hunter2",
        b"x-api-key hunter2",
        b"x-quoted: 'hunter2\x00",
    ],
)
def test_what_is_objected_to_is_not_repeated(line: bytes) -> None:
    """It may be a key with a space too many."""
    server = ServerConnection()
    server.receive(b"POST / HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n")
    (bad,) = server.events()
    assert isinstance(bad, BadRequest)
    assert bad.reason == "illegal header line"


def test_a_request_line_that_is_none_is_not_repeated() -> None:
    """Its target may have a key in it."""
    server = ServerConnection()
    server.receive(b"GET /?key=hunter2 HTTP/1.1 and more\r\nHost: x\r\n\r\n")
    (bad,) = server.events()
    assert isinstance(bad, BadRequest)
    assert bad.reason == "illegal request line"


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (200, b"OK"),
        (413, b"Request Entity Too Large"),
        (422, b"Unprocessable Entity"),
        (529, b""),
    ],
)
def test_a_status_has_the_same_words_on_every_python(status: int, words: bytes) -> None:
    """Python 3.13 has other words than 3.11 for some; a trace counts the bytes."""
    connection = ServerConnection()
    events_of(POST, connection)
    line = connection.start(status, [("content-length", "0")]).partition(b"\r\n")[0]
    assert line == b"HTTP/1.1 %d %s" % (status, words)


def test_head_is_answered_without_a_body() -> None:
    """The headers say how long it would have been."""
    connection = ServerConnection()
    events_of(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", connection)
    sent = answer(connection)
    assert sent.endswith(b"content-length: 2\r\n\r\n")
    assert not connection.must_close


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    """Whatever a client sends, it is a request, a refusal, or not enough yet."""
    connection = ServerConnection()
    connection.receive(data)
    for event in connection.events():
        assert isinstance(event, (HttpRequest, ContinueWanted, BadRequest))
