"""Where a request may go in a chain of providers: which one it may ask next, and whether it has to.

What counts is the failure of the last attempt at a provider, once its own attempts are over, and
who may be asked at that instant: neither parked nor cut off by a breaker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import ChainRules, covers
from faultclock.oracle.attempts import Call
from faultclock.oracle.breaker_fold import breakers_in
from faultclock.oracle.history import History
from faultclock.oracle.plans import providers_of
from faultclock.oracle.visits import Visit, parks_in, visits_in

__all__ = ["Turning", "first_open", "gate", "turnings"]

Move = Literal["advances", "stops", "after_content"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """A visit that failed with a known class and code: where the request may go from there.

    Attributes:
        may: the providers that may be asked next, in order; the last one is to be asked.
        due: whether one of them has to be asked.
        left: whether there is another provider after it at all.
    """

    visit: Visit
    move: Move
    may: tuple[str, ...]
    due: bool
    left: bool


def gate(
    history: History, model: ErrorModel, provider: str, life: int, seq: int, at_ns: int
) -> Literal["free", "shut", "either"]:
    """Return whether a provider may be asked at `at_ns`: it is neither parked, nor cut off."""
    gates = {parks_in(history, model).gate(provider, life, seq, at_ns)}
    if (breakers := breakers_in(history, model)) is not None:
        gates.add(breakers.gate(provider, life, seq, at_ns))
    if "shut" in gates:
        return "shut"
    return "either" if "either" in gates else "free"


def turnings(history: History, model: ErrorModel, rules: ChainRules) -> Iterator[Turning]:
    """Yield the visits after which a request may go on in the chain, or must not, in order."""
    order = providers_of(history.trace.header.scenario)
    for visit in visits_in(history, model):
        pair = visit.pair
        if pair is None or (visit.call.stop is not None and visit.following is None):
            continue
        later = order[order.index(visit.provider) + 1 :]
        move: Move = "advances"
        if covers(rules.stops_on, pair) or not covers(rules.advances_on, pair):
            move = "stops"
        elif visit.last.attempt.content and rules.after_content == "never":
            move = "after_content"
        may, due = _open_ones(history, model, visit, later)
        yield Turning(visit=visit, move=move, may=may, due=due, left=bool(later))


def _open_ones(
    history: History, model: ErrorModel, visit: Visit, later: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """Return which of the `later` providers may be asked next, and whether one has to be."""
    start = visit.following_start
    seq, at_ns = (visit.seq + 1, visit.known_ns) if start is None else (start.seq, start.at_ns)
    return first_open(history, model, visit.call, later, seq, at_ns)


def first_open(
    history: History,
    model: ErrorModel,
    call: Call,
    providers: tuple[str, ...],
    seq: int,
    at_ns: int,
) -> tuple[tuple[str, ...], bool]:
    """Return which of the `providers` may be asked first, and whether one of them has to be."""
    may: list[str] = []
    for provider in providers:
        opening = gate(history, model, provider, call.life, seq, at_ns)
        if opening != "shut":
            may.append(provider)
        if opening == "free":
            return tuple(may), True
    return tuple(may), False
