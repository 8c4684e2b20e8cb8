"""Reads what our own recorder adds to vcrpy's format: when things happened, and what failed.

vcrpy knows neither. `tape` writes it; any of it may be missing or wrong in a file that a person has
edited, and is then left aside, as if the recorder had not known.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from faultclock.load.located.tree import Mapping, Node, Sequence
from faultclock.recordings.exchange import Exchange, Instants
from faultclock.recordings.reading import Parts, entry, number_of, text_of

#: A program that is recorded for a month.
_NS_MAX = 30 * 86_400 * 10**9
_CHUNKS_MAX = 100_000
_FAILURE_CHARS_MAX = 60


class Ours(Struct, frozen=True, kw_only=True):
    """What a recording of ours says of itself.

    Attributes:
        began_s: Unix time of instant 0; None where it cannot be read.
        dialect: the API that hosts on the recording machine spoke, if it was given.
        without_response: the interactions that vcrpy could not load.
    """

    began_s: float | None
    dialect: str | None
    without_response: tuple[Node, ...]


def ours_in(tree: Mapping) -> Ours | None:
    """Return what the recording says of itself, None where it is not ours."""
    head = tree.values.get("faultclock")
    if not isinstance(head, Mapping):
        return None
    without = entry(head, "without_response")
    return Ours(
        began_s=_unix_s(text_of(entry(head, "began"))),
        dialect=text_of(entry(head, "dialect")),
        without_response=tuple(without.items) if isinstance(without, Sequence) else (),
    )


def timed(parts: Parts, ours: Ours) -> Parts:
    """Return what was read of an interaction with its instants."""
    told = entry(parts.node, "recorded")
    started_ns, ended_ns = _ns(told, "started_ns"), _ns(told, "ended_ns")
    failure = text_of(entry(told, "failure"))
    failure = None if failure is None else failure[:_FAILURE_CHARS_MAX]
    if started_ns is None or ended_ns is None or ended_ns < started_ns:
        return replace(parts, failure=failure)
    head_ns = _ns(told, "head_ns")
    if head_ns is not None and not started_ns <= head_ns <= ended_ns:
        head_ns = None
    answered_ns = ended_ns if head_ns is None else head_ns
    instants = Instants(
        started_ns=started_ns,
        head_ns=head_ns,
        ended_ns=ended_ns,
        chunks=_chunks(entry(told, "chunks"), started_ns, ended_ns),
        left=text_of(entry(told, "how")) == "left",
    )
    if ours.began_s is None:
        return replace(parts, failure=failure, instants=instants)
    return replace(
        parts,
        failure=failure,
        recorded_at_s=ours.began_s + answered_ns / 1e9,
        exact=True,
        wait_ns=answered_ns - started_ns,
        receive_ns=ended_ns - answered_ns,
        instants=instants,
    )


def by_start(exchange: Exchange) -> int:
    """Return what to sort the exchanges of one recording by; all of them have it, or none."""
    return 0 if exchange.instants is None else exchange.instants.started_ns


def _ns(told: Node | None, name: str) -> int | None:
    value = number_of(entry(told, name))
    return int(value) if value is not None and 0 <= value <= _NS_MAX else None


def _chunks(node: Node | None, first_ns: int, last_ns: int) -> tuple[tuple[int, int], ...]:
    found: list[tuple[int, int]] = []
    for item in node.items[:_CHUNKS_MAX] if isinstance(node, Sequence) else ():
        pair = [number_of(part) for part in item.items] if isinstance(item, Sequence) else []
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            return ()
        at_ns, size = int(pair[0]), int(pair[1])
        if not (found[-1][0] if found else first_ns) <= at_ns <= last_ns or size < 0:
            return ()
        found.append((at_ns, size))
    return tuple(found)


def _unix_s(text: str | None) -> float | None:
    try:
        moment = datetime.fromisoformat((text or "")[:60])
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None
