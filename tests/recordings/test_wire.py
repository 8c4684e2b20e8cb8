"""Answers in the bytes of a connection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.recordings.wire import answer_on_wire, request_on_wire

_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Of: us\r\n\r\n"


def test_the_pieces_of_a_chunked_body_have_the_instants_of_their_reads() -> None:
    """The framing is in none of the figures."""
    reads = [(5, _HEAD), (7, b"3\r\nabc\r\n"), (9, b"2\r\nde\r\n0\r\n\r\n")]
    found = answer_on_wire("POST", reads)
    assert found is not None
    assert (found.status, found.message, found.head_ns) == (200, "OK", 5)
    assert (found.chunks, found.body) == (((7, 3), (9, 2)), b"abcde")
    assert ("X-Of", "us") in found.headers


def test_how_an_answer_ended_is_in_its_bytes() -> None:
    """Whole, broken off by the end of the connection, or left while there was more to come."""
    start = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab"
    endings = [(b"c",), (b"",), ()]
    found = [answer_on_wire("POST", [(1, start), *((2, one) for one in end)]) for end in endings]
    assert [one and one.ending for one in found] == ["complete", "eof", None]
    until_the_end = [(1, b"HTTP/1.1 200 OK\r\n\r\nab"), (2, b"c"), (3, b"")]
    whole = answer_on_wire("POST", until_the_end)
    assert whole is not None
    assert (whole.ending, whole.body) == ("complete", b"abc")


def test_what_comes_after_an_answer_belongs_to_the_next_one() -> None:
    """A connection that is kept is read on."""
    wire = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na"
    found = answer_on_wire("POST", [(1, wire), (2, wire)])
    assert found is not None
    assert (found.body, found.chunks) == (b"a", ((1, 1),))


def test_a_request_is_read_back_with_its_names() -> None:
    """In the letters that were sent, and out of chunks."""
    sent = b"POST /v1 HTTP/1.1\r\nHost: a\r\nX-Of: us\r\nTransfer-Encoding: chunked\r\n\r\n"
    found = request_on_wire(sent + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
    assert found is not None
    assert found.body == b"abc"
    assert ("X-Of", "us") in found.headers
    assert request_on_wire(b"\x16\x03\x01") is None
    assert request_on_wire(b"") is None


def test_several_chunks_of_one_read_came_together() -> None:
    """One read is one instant, however the sender has framed it."""
    found = answer_on_wire("POST", [(5, _HEAD + b"1\r\na\r\n1\r\nb\r\n"), (8, b"1\r\nc\r\n")])
    assert found is not None
    assert found.chunks == ((5, 2), (8, 1))


def test_a_body_that_was_cut_is_kept_as_far_as_it_came() -> None:
    """The head announced more than there is."""
    reads = [(1, b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc")]
    found = answer_on_wire("POST", reads)
    assert found is not None
    assert (found.body, found.chunks) == (b"abc", ((1, 3),))


def test_an_answer_to_head_and_an_interim_answer_have_no_body() -> None:
    """The length that is announced is that of another answer."""
    reads = [
        (1, b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (2, b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"),
    ]
    found = answer_on_wire("HEAD", reads)
    assert found is not None
    assert (found.status, found.head_ns, found.chunks) == (200, 2, ())


@pytest.mark.parametrize("reads", [[], [(1, b"HTTP/1.1 200")], [(1, b"SSH-2.0-x\r\n\r\n")]])
def test_without_a_head_there_is_no_answer(reads: list[tuple[int, bytes]]) -> None:
    """Whatever else came."""
    assert answer_on_wire("POST", reads) is None


@given(st.lists(st.binary(max_size=40), max_size=8), st.sampled_from(["GET", "HEAD", "?", ""]))
def test_no_bytes_raise_anything(pieces: list[bytes], method: str) -> None:
    """What comes from a socket is somebody else's."""
    found = answer_on_wire(method, [(1, _HEAD), *((at, one) for at, one in enumerate(pieces, 2))])
    assert found is None or sum(size for _, size in found.chunks) == len(found.body)


@given(st.binary(min_size=1, max_size=200), st.lists(st.integers(1, 60), min_size=1, max_size=9))
def test_however_it_is_cut_into_reads_the_body_is_the_same(body: bytes, cuts: list[int]) -> None:
    """No piece is lost, and instants never go back."""
    wire = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    reads, at = [], 0
    for number, size in enumerate(cuts):
        reads.append((number, wire[at : at + size]))
        at += size
    reads.append((len(cuts), wire[at:]))
    found = answer_on_wire("POST", [(at_ns, data) for at_ns, data in reads if data])
    assert found is not None
    assert found.body == body
    instants = [at_ns for at_ns, _ in found.chunks]
    assert instants == sorted(instants)
