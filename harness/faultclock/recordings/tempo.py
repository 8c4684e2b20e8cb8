"""How fast a recorded provider was, as the figures of a scenario's provider.

Medians, because a scenario has one figure for all answers; what each answer took stands in the
cassette. Where our own recorder has timed an exchange, the network is part of what it measured.
"""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.duration import MILLISECOND_NS, format_duration
from faultclock.recordings.exchange import Exchange
from faultclock.recordings.sessions import Call, Session

_LATENCY_NS = MILLISECOND_NS


def tempo_of(session: Session) -> tuple[dict[str, str], list[str]]:
    """Return figures of the provider, and what is to be reported of them."""
    exchanges = [item.exchange for call in session.calls for item in call.attempts]
    if not any(exchange.instants is not None for exchange in exchanges):
        waits = [call.first.wait_ns for call in session.calls if call.first.wait_ns]
        if not waits:
            return {}, []
        told = "The time that the provider thinks is the recorded median."
        return {"think_time": _duration(_median(waits))}, [told]
    figures: dict[str, str] = {}
    comments = ["The figures of the provider are recorded medians; the cassette has each instant."]
    waits = [ns for exchange in exchanges if (ns := _wait_ns(exchange)) is not None]
    if waits:
        figures["latency"] = format_duration(_LATENCY_NS)
        figures["think_time"] = _duration(_median(waits) - 2 * _LATENCY_NS)
    gaps = [gap for exchange in exchanges for gap in _gaps_ns(exchange)]
    if gaps:
        figures["chunk_interval"] = _duration(_median(gaps))
    return figures, comments


def pauses_of(call: Call) -> list[str] | None:
    """Return how long the client waited before each further attempt, as texts for a person.

    None is for a recording that is not ours: it knows no such thing.
    """
    pauses = []
    for before, after in pairwise(item.exchange.instants for item in call.attempts):
        if before is None or after is None:
            return None
        pauses.append(f"{(after.started_ns - before.ended_ns) / 1e9:.3f} s")
    return pauses


def _wait_ns(exchange: Exchange) -> int | None:
    instants = exchange.instants
    if instants is None or instants.head_ns is None:
        return None
    return instants.head_ns - instants.started_ns


def _gaps_ns(exchange: Exchange) -> list[int]:
    if exchange.instants is None or (exchange.status or 0) >= 400:
        return []
    return [after - before for (before, _), (after, _) in pairwise(exchange.instants.chunks)]


def _median(values: list[int]) -> int:
    return sorted(values)[len(values) // 2]


def _duration(value_ns: int) -> str:
    """Return a duration in whole milliseconds, of at least one."""
    return format_duration(max(MILLISECOND_NS, value_ns - value_ns % MILLISECOND_NS))
