"""What open circuit breakers kept back: it was asked for, and it was not sent.

That something was asked for while a breaker was open is seen from a turn, a retry or a step of a
chain that was due and was not made; that it was refused, from the class and code that the subject
tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import covers
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import split
from faultclock.oracle.attempts import Call
from faultclock.oracle.breaker_fold import Breakers, breakers_in
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of, providers_of
from faultclock.oracle.requests import Request
from faultclock.oracle.run_end import told_pairs
from faultclock.oracle.silent_turns import failed_before_asking

__all__ = ["BreakerRefusal", "breaker_refusals", "moves_on"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerRefusal:
    """Something that was asked of a provider while its breaker was shut, and was not sent.

    Attributes:
        provider: empty for the first of the chain.
        seq: the fact after which it was refused, at `at_ns`.
        moved: whether another provider was asked in its place.
        told: whether the subject says that it was refused.
    """

    call: str
    provider: str
    at_ns: int
    seq: int
    moved: bool
    told: bool
    events: tuple[int, ...]


def breaker_refusals(history: History, model: ErrorModel) -> tuple[BreakerRefusal, ...]:
    """Return what open breakers kept back, in order; nothing where the model has none."""
    breakers = breakers_in(history, model)
    if breakers is None:
        return ()
    found: list[BreakerRefusal] = []
    for call in history.calls:
        if call.is_turn:
            found += _never_asked(history, model, breakers, call)
    for request, _ in plans_of(history, model):
        owner = history.call(request.id)
        if owner is not None and owner.is_turn:
            found += _skipped(history, model, breakers, owner, request)
            found += _not_retried(history, model, breakers, owner, request)
    return tuple(sorted(found, key=lambda item: item.seq))


def _never_asked(
    history: History, model: ErrorModel, breakers: Breakers, call: Call
) -> Iterator[BreakerRefusal]:
    """Yield the refusal of a turn in which no provider was asked."""
    if call.attempts or call.end is None or call.stop is not None:
        return
    told = breakers.rules.refusal in told_pairs(history, model, call)
    if history.trace.header.scenario.workflow is not None and not told:
        # It need not have come to a node that asks the model.
        return
    if not told and failed_before_asking(history, call):
        return
    for provider in providers_of(history.trace.header.scenario):
        if breakers.gate(provider, call.life, call.start.seq, call.start.at_ns) != "shut":
            continue
        opened = breakers.at(provider, call.life, call.start.seq).by
        yield BreakerRefusal(
            call=call.id,
            provider=provider,
            at_ns=call.start.at_ns,
            seq=call.start.seq,
            moved=False,
            told=told,
            events=(*opened, call.start.seq, call.end.seq),
        )
        if model.chain is None or not moves_on(model):
            return


def _skipped(
    history: History, model: ErrorModel, breakers: Breakers, call: Call, request: Request
) -> Iterator[BreakerRefusal]:
    """Yield the providers of a chain that a request passed over."""
    order = providers_of(history.trace.header.scenario)
    before = -1
    for attempt in request.attempts:
        place = order.index(attempt.provider)
        for provider in order[before + 1 : place]:
            start = attempt.start
            if breakers.gate(provider, call.life, start.seq, start.at_ns) == "shut":
                yield BreakerRefusal(
                    call=call.id,
                    provider=provider,
                    at_ns=start.at_ns,
                    seq=_seq_before(history, start),
                    moved=True,
                    told=breakers.rules.refusal in told_pairs(history, model, call),
                    events=(*breakers.at(provider, call.life, start.seq).by, start.seq),
                )
        before = place


def _seq_before(history: History, start: TraceEvent) -> int:
    """Return the last fact that the world had for the subject before a request began.

    What the subject says on its way there comes after the refusal, and so does what it does to
    send the request: a connection that is kept open has less of that than a new one.
    """
    before = reversed(history.trace.events[: start.seq - 1])
    return next((event.seq for event in before if not _is_of_the_way(event)), 0)


def _is_of_the_way(event: TraceEvent) -> bool:
    return event.actor == "subject" or event.kind in ("net.resolve", "net.connect", "net.sent")


def _not_retried(
    history: History, model: ErrorModel, breakers: Breakers, call: Call, request: Request
) -> Iterator[BreakerRefusal]:
    """Yield the refusal of what a request wanted after its last attempt, where it is recorded."""
    last = request.last_failure
    if last is None or request.end is None or not request.gave_up | request.returned:
        return
    end = request.end
    shut = breakers.gate(last.provider, call.life, end.seq, end.at_ns) == "shut"
    if shut and breakers.rules.refusal in told_pairs(history, model, call):
        yield BreakerRefusal(
            call=call.id,
            provider=last.provider,
            at_ns=max(last.start.at_ns, last.known_ns or 0),
            seq=max(last.events),
            moved=False,
            told=True,
            events=(*last.events, end.seq),
        )


def moves_on(model: ErrorModel) -> bool:
    """Return whether the chain goes to the next provider from one whose breaker is open."""
    chain, rules = model.chain, model.breaker
    if chain is None or rules is None:
        return False
    pair = split(rules.refusal)
    return covers(chain.advances_on, pair) and not covers(chain.stops_on, pair)
