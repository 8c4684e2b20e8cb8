"""A signer who signs lies: a trace of a certificate changed, and all digests put right."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from faultclock.certify.contents import trace_name
from faultclock.load.trace_file import read_trace
from faultclock.model.trace.trace import Trace, TraceEvent, trace_digest, trace_lines
from faultclock.run.execute import seal
from tests.certify.conftest import Certificate

KEPT = "rate-limits/retry-after-integer.seed-0"


def json_of(certificate: Certificate, name: str) -> dict[str, Any]:
    """Return what a file of a certificate holds."""
    value = json.loads((certificate.root / name).read_bytes())
    assert isinstance(value, dict)
    return value


def bytes_of(value: object) -> bytes:
    """Return a value as a signer writes it down."""
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode()


def trace_of(certificate: Certificate, name: str = KEPT) -> Trace:
    """Return a trace of a certificate."""
    return read_trace(certificate.root / trace_name(name))


def lines_of(trace: Trace) -> bytes:
    """Return a trace as its file has it."""
    return "".join(trace_lines(trace)).encode()


def resealed(trace: Trace, events: tuple[TraceEvent, ...] | None = None, **header: Any) -> Trace:
    """Return a trace with other events or another header, closed as Faultclock closes one."""
    footer = trace.footer
    return seal(
        trace.header.model_copy(update=header),
        trace.events if events is None else events,
        footer.ending,
        footer.detail,
        footer.ended_at_ns,
    )


def sealed_by_hand(trace: Trace, events: tuple[TraceEvent, ...]) -> Trace:
    """Close a trace as a signer can who does not ask Faultclock whether it records such events."""
    digest = trace_digest(trace.header, events)
    return replace(trace, events=events, footer=trace.footer.model_copy(update={"digest": digest}))


def with_trace(certificate: Certificate, trace: Trace, name: str = KEPT) -> dict[str, bytes | None]:
    """Return the changes that put a trace in the place of another, digests and all."""
    evidence = json_of(certificate, "evidence.json")
    for item in evidence["traces"]:
        if item["name"] == name:
            item["digest"] = trace.footer.digest
    return {trace_name(name): lines_of(trace), "evidence.json": bytes_of(evidence)}


def refused(certificate: Certificate, *named: str) -> str:
    """Return what is said of a certificate that is refused because of these files."""
    found = certificate.verified()
    assert found.vouched, "the signature itself is valid"
    assert found.verdict == "refused"
    assert {fault.file for fault in found.faults} == set(named)
    return "\n".join(fault.what for fault in found.faults)
