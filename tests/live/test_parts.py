"""What agents told, put together."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from faultclock.live.record.parts import takes_of


def _told(started_ns: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "exchange",
        "pid": 1,
        "client": "httpx2",
        "wall_ns": 10,
        "started_ns": started_ns,
        "ended_ns": started_ns + 9,
        "how": "complete",
        "request": {
            "method": "POST",
            "uri": "https://a/b",
            "headers": {"A": ["1", "2"]},
            "body": None,
        },
        "chunks": [[started_ns + 5, 2]],
        "wire": [],
        **more,
    }


def _coded(data: bytes) -> str:
    return b64encode(data).decode()


def test_exchanges_of_all_processes_are_in_the_order_of_their_starts() -> None:
    """Whoever told first: all have one clock."""
    takes = takes_of([_told(30, pid=2), {"kind": "hello", "pid": 2}, _told(10), _told(20, pid=3)])
    assert [(take.started_ns, take.process) for take in takes] == [(10, 1), (20, 3), (30, 2)]
    assert takes[0].request_headers == (("A", "1"), ("A", "2"))


def test_what_was_told_of_an_answer_is_kept() -> None:
    """With the instants of its pieces."""
    response = {
        "status": {"code": 429, "message": "Slow"},
        "headers": {"Retry-After": ["1"]},
        "body": _coded(b"{}"),
    }
    (take,) = takes_of([_told(1, response=response, head_ns=3)])
    assert (take.status, take.message, take.response_body) == (429, "Slow", b"{}")
    assert (take.head_ns, take.chunks) == (3, ((6, 2),))


def test_reads_of_a_connection_time_an_answer_or_are_all_that_came_of_it() -> None:
    """A client that failed in the middle has told no answer; the bytes have."""
    wire = [[4, _coded(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n")], [6, _coded(b"abc")]]
    failed = {"failure": {"kind": "reset", "class": "ConnectionResetError"}, "how": "failed"}
    (take,) = takes_of([_told(1, wire=wire, **failed)])
    assert (take.status, take.response_body, take.failure) == (200, b"abc", "reset")
    assert (take.head_ns, take.chunks) == (4, ((6, 3),))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below),
    max_leaves=6,
)


@given(st.sampled_from(sorted(_told(1))), _JSON)
def test_a_message_that_is_not_ours_is_left_out(key: str, value: Any) -> None:
    """A program can write to our socket whatever it likes."""
    assert len(takes_of([{**_told(1), key: value}])) <= 1
