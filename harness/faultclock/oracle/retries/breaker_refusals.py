"""What open circuit breakers kept back: what was due to be asked, and was not sent."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import covers
from faultclock.model.error_model.turn_rules import split
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.run_end import told_pairs
from faultclock.oracle.retries.breaker_fold import Breakers, breakers_in
from faultclock.oracle.retries.plans import providers_of
from faultclock.oracle.retries.providers import (
    Visit,
    asked_nothing,
    failed_before_asking,
    visits_in,
)
from faultclock.oracle.wire.attempts import Call

#: The way of a request to its provider.
_SENDING = ("net.resolve", "net.connect", "net.sent")

# -------------------------------------------------------------------- what a breaker kept back


class BreakerRefusal(Struct, frozen=True, kw_only=True):
    """Something that was asked of a provider while its breaker was shut, and was not sent.

    That it was asked for is seen from a turn, a retry or a step of a chain that was due and was
    not made.

    Attributes:
        provider: empty for the first of the chain.
        seq: the fact after which it was refused, at `at_ns`.
        moved: whether another provider was asked in its place.
        told: whether the subject names the class and code of a refusal.
    """

    call: str
    provider: str
    at_ns: int
    seq: int
    moved: bool
    told: bool
    events: tuple[int, ...]


@once
def breaker_refusals(history: History, model: ErrorModel) -> tuple[BreakerRefusal, ...]:
    """Return what open breakers kept back, in order; nothing where the model has none."""
    breakers = breakers_in(history, model)
    if breakers is None:
        return ()
    found: list[BreakerRefusal] = []
    for call in filter(asked_nothing, history.calls):
        found += _never_asked(history, model, breakers, call)
    for visit in visits_in(history, model):
        if visit.call.is_turn:
            found += _skipped(history, model, breakers, visit)
            found += _not_retried(history, model, breakers, visit)
    return tuple(sorted(found, key=lambda item: item.seq))


def names_refusal(history: History, model: ErrorModel, call: Call) -> bool:
    """Return whether the subject names the refusal of an open breaker in a call."""
    return model.breaker is not None and model.breaker.refusal in told_pairs(history, model, call)


def _never_asked(
    history: History, model: ErrorModel, breakers: Breakers, call: Call
) -> Iterator[BreakerRefusal]:
    """Yield the refusal of a turn in which no provider was asked."""
    told, start = names_refusal(history, model, call), call.start
    # A workflow need not have come to a node that asks the model.
    workflow = history.world.workflow is not None
    if not told and (workflow or failed_before_asking(history, call)):
        return
    for provider in providers_of(history.trace.header.scenario):
        if breakers.gate(provider, call.life, start.seq, start.at_ns) != "shut":
            continue
        yield BreakerRefusal(
            call=call.id,
            provider=provider,
            seq=start.seq,
            at_ns=start.at_ns,
            moved=False,
            told=told,
            events=(*breakers.at(provider, call.life, start.seq).by, *call.bounds),
        )
        if not moves_on(model):
            return


def _skipped(
    history: History, model: ErrorModel, breakers: Breakers, visit: Visit
) -> Iterator[BreakerRefusal]:
    """Yield the providers of a chain that a request passed over."""
    call, start = visit.call, visit.start
    for provider in visit.skipped:
        if breakers.gate(provider, call.life, start.seq, start.at_ns) == "shut":
            yield BreakerRefusal(
                call=call.id,
                provider=provider,
                seq=_seq_before(history, start),
                at_ns=start.at_ns,
                moved=True,
                told=names_refusal(history, model, call),
                events=(*breakers.at(provider, call.life, start.seq).by, start.seq),
            )


def _seq_before(history: History, start: TraceEvent) -> int:
    """Return the last fact that the world had for the subject before a request began.

    What the subject says on its way there comes after the refusal, and so does what it does to
    send the request: a connection that is kept open has less of that than a new one.
    """
    before = reversed(history.trace.events[: start.seq - 1])
    facts = (item.seq for item in before if item.actor != "subject" and item.kind not in _SENDING)
    return next(facts, 0)


def _not_retried(
    history: History, model: ErrorModel, breakers: Breakers, visit: Visit
) -> Iterator[BreakerRefusal]:
    """Yield the refusal of what a request wanted after its last attempt, where it is recorded."""
    call, last, end = visit.call, visit.last.attempt, visit.request.end
    if visit.following is not None or not last.failed or end is None or not visit.is_over:
        return
    shut = breakers.gate(last.provider, call.life, end.seq, end.at_ns) == "shut"
    if shut and names_refusal(history, model, call):
        yield BreakerRefusal(
            call=call.id,
            provider=last.provider,
            seq=visit.seq,
            at_ns=max(last.start.at_ns, last.known_ns or 0),
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
