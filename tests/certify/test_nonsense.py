"""A valid signature below what is no trace, no file of a certificate, or no run: a sentence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from faultclock.certify.contents import trace_name
from faultclock.model.trace.trace import TraceEvent
from tests.certify.conftest import Certificate
from tests.certify.forging import KEPT, refused, sealed_by_hand, trace_of, with_trace
from tests.certify.small import resigned

NONSENSE: dict[str, Any] = {
    "deep": None,
    "null": {"call": None, "connection": None, "headers": None, "status": None},
    "lists": {"call": [], "status": {}, "headers": [1], "exchange": {}, "error": []},
    "numbers": {"call": 1, "status": "many", "attempt": -1, "headers": {"retry-after": 7}},
    "huge": {"call": "x" * 10_000, "attempt": 10**300, "status": 10**300, "bytes_count": -1},
}

#: Values that an event can have by the catalogue, and that no run comes to.
HUGE: dict[type, object] = {str: "x" * 10_000, int: 2**63 - 1}


@pytest.mark.parametrize("everywhere", [True, False], ids=["everywhere", "in-its-place"])
@pytest.mark.parametrize("kind", NONSENSE)
def test_a_trace_of_nonsense_leads_to_a_refusal(
    copied: Certificate, kind: str, everywhere: bool
) -> None:
    """Whatever a signer writes into a trace, a verifier gets a sentence.

    Where no event has such a field, and where only the value is nonsense.
    """
    trace = trace_of(copied)
    payload = NONSENSE[kind]
    if payload is None:
        payload = {}
        for _ in range(400):
            payload = {"call": payload}

    def nonsense(event: TraceEvent) -> dict[str, Any]:
        return {k: v for k, v in payload.items() if everywhere or k in event.payload}

    events = tuple(
        TraceEvent(e.seq, e.at_ns, e.actor, e.kind, {**e.payload, **nonsense(e)})
        for e in trace.events
    )
    resigned(copied.root, copied.key, with_trace(copied, sealed_by_hand(trace, events)))
    place = re.search(
        r"seed-0\.jsonl:(\d+):1: event (\d+): [a-z.]+: payload\.(\w+)",
        refused(copied, trace_name(KEPT)),
    )
    assert place is not None
    # The header is the first line.
    assert int(place[1]) == int(place[2]) + 1
    assert place[3] in nonsense(trace.events[int(place[2]) - 1])


@pytest.mark.parametrize("field", ["call", "connection", "attempt", "bytes_count"])
def test_nonsense_that_fits_the_catalogue_leads_to_a_refusal(
    copied: Certificate, field: str
) -> None:
    """What a trace may hold, and no run has: it is read, and then it is judged."""
    trace = trace_of(copied)
    events = tuple(
        replace(e, payload={**e.payload, field: HUGE[type(e.payload[field])]})
        if e.payload.get(field) is not None
        else e
        for e in trace.events
    )
    assert events != trace.events
    resigned(copied.root, copied.key, with_trace(copied, sealed_by_hand(trace, events)))
    assert "not a trace" not in refused(copied, "report.html", "report.json")


@pytest.mark.parametrize(
    "content", [b"", b"{}\n", b"[" * 200_000, b"\xff", b'{"header":{}}\n{"footer":{}}\n'],
    ids=range(5),
)  # fmt: skip
def test_what_is_no_trace_is_named(copied: Certificate, content: bytes) -> None:
    """A signed file that is no trace is a fault of that file."""
    resigned(copied.root, copied.key, {trace_name(KEPT): content})
    refused(copied, trace_name(KEPT))


@pytest.mark.parametrize("name", ["evidence.json", "artifact.json", "requirement-set.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 100_000, b"\xff", b"null"], ids=range(5))
def test_what_is_no_such_file_is_named(copied: Certificate, name: str, content: bytes) -> None:
    """The same for what is read before the traces."""
    resigned(copied.root, copied.key, {name: content})
    refused(copied, name)
