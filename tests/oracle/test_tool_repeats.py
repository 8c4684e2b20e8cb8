"""A request that may have had its effect is not sent again without a key."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.common_model import verdict
from tests.oracle.tool_traces import RETRY, ToolTrace


def twice(method: str, status: int, retry: dict[str, Any] | None, **headers: str) -> ToolTrace:
    """Return an execution that asks the same thing twice, after an answer of `status`."""
    built = ToolTrace(retry=retry).begin()
    for given in (status, 200):
        built.item("/orders", given)
        asked = next(item for item in reversed(built.events) if item.kind == "http.request")
        asked.payload.update(method=method, headers=headers)  # type: ignore[attr-defined]
    built.replies()
    return built


@pytest.mark.parametrize(
    ("method", "status", "said"),
    [
        ("POST", 502, "WARN"),
        ("PATCH", 500, "WARN"),
        # The service says that it has done nothing.
        ("POST", 429, "NOT_APPLICABLE"),
        ("POST", 503, "NOT_APPLICABLE"),
        # Two are as good as one.
        ("GET", 502, "NOT_APPLICABLE"),
        ("PUT", 502, "NOT_APPLICABLE"),
    ],
)
def test_what_may_have_been_done_is_not_done_again(method: str, status: int, said: str) -> None:
    """Only of methods that are not idempotent, and of answers that leave it open."""
    assert verdict(twice(method, status, None), "tool.repeats") == said


def test_a_key_makes_it_safe() -> None:
    """By it the service knows that it is the same order."""
    built = twice("POST", 502, None, **{"idempotency-key": "k1"})
    assert verdict(built, "tool.repeats") == "NOT_APPLICABLE"


def test_a_tool_that_declares_retries_knows_why() -> None:
    """Its contract says that it may be tried again."""
    assert verdict(twice("POST", 502, RETRY), "tool.repeats") == "PASS"
