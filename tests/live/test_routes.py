"""Which call a request belongs to, by its path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.live.routes import Routed, Routes, call_ids
from tests.live.wires import scenario

_SERVED = scenario(tasks=[{"id": "ask-twice", "copies": 2}, {"id": "tell"}])
_ROUTES = Routes(_SERVED)


def test_calls_are_numbered_by_task_and_copy() -> None:
    """As the simulation calls them."""
    assert call_ids(_SERVED) == ("ask-twice/1", "ask-twice/2", "tell/1")


@pytest.mark.parametrize(
    ("target", "call", "rest"),
    [
        ("/v1/x", "ask-twice/1", "/v1/x"),
        ("/call/ask-twice-2/v1/x?y=1", "ask-twice/2", "/v1/x?y=1"),
        ("/call/tell-1/", "tell/1", "/"),
        ("/call/tell-1", "tell/1", "/"),
        ("/call/tell-2/v1/x", None, "/v1/x"),
        ("/call/nobody-1/v1/x", None, "/v1/x"),
        ("/call/", None, "/"),
        ("/calling/v1", "ask-twice/1", "/calling/v1"),
        ("*", "ask-twice/1", "*"),
    ],
)
def test_a_path_leads_to_a_call(target: str, call: str | None, rest: str) -> None:
    """The prefix is taken off; a call that is not in the scenario is nobody's."""
    assert _ROUTES.of_target(target) == Routed(call=call, target=rest)


@pytest.mark.parametrize("call", call_ids(_SERVED))
def test_the_prefix_of_a_call_leads_back_to_it(call: str) -> None:
    """Whatever its task is called."""
    routed = _ROUTES.of_head(f"POST {_ROUTES.prefix(call)}/v1/x HTTP/1.1\r\nhost: a".encode())
    assert routed == Routed(call=call, target="/v1/x")


@given(st.binary(max_size=200))
def test_anything_may_come_first(head: bytes) -> None:
    """What is no request line leads nowhere, and breaks nothing."""
    routed = _ROUTES.of_head(head)
    assert routed is None or b" HTTP/1." in head


def test_half_a_line_is_none() -> None:
    """The call may still be to come."""
    assert _ROUTES.of_head(b"POST /call/tell-1/v1 HTTP/1.") is None
    assert _ROUTES.of_head(b"POST /call/tell-1/v1 HTTP/1.1\r\n") is not None
