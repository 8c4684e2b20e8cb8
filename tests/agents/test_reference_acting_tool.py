"""The reference tool that acts: what it says of an order that it cannot be sure of."""

from __future__ import annotations

import pytest

from faultclock.agents.json_exchange import ServiceError
from faultclock.agents.tool import Order
from faultclock.subjects.ports import CancelSignal, ToolRequest
from tests.subjects.conftest import FakeHost


@pytest.fixture
def steps(host: FakeHost) -> Order:
    """The steps of one execution."""
    signal = CancelSignal()
    return Order(
        ToolRequest(
            host=host, arguments={"item": 17}, call_id="call_1", timeout_s=30.0, signal=signal
        )
    )


@pytest.mark.parametrize(
    "arguments", [{}, {"item": "17"}, {"item": 0}, {"item": True}, {"item": 1, "more": 2}]
)
def test_what_does_not_fit_is_refused(steps: Order, arguments: dict[str, object]) -> None:
    """By its own schema, before anything is sent."""
    refusal = steps.refused(arguments)
    assert refusal is not None
    assert refusal.code == "InputInvalid"


def test_what_fits_is_not(steps: Order) -> None:
    """A whole number from 1."""
    assert steps.refused({"item": 1}) is None


@pytest.mark.parametrize(
    ("failure", "unknown"),
    [
        (ServiceError("deadline"), True),
        (ServiceError("network"), True),
        (ServiceError("malformed"), True),
        (ServiceError("status", 502), True),
        (ServiceError("status", 503), False),
        (ServiceError("status", 429), False),
        (ServiceError("status", 403), False),
        (ServiceError("status", 404), False),
    ],
)
def test_an_order_that_may_have_been_placed_is_said_to_be_so(
    steps: Order, failure: ServiceError, unknown: bool
) -> None:
    """A service that refuses has placed none; an answer that was lost says nothing."""
    message = steps.problem(failure).message or ""
    assert ("may have been placed" in message) is unknown
