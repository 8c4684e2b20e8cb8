"""Which provider of the chain may be asked at which instant, and where a request may go from one.

A visit is the attempts of one request at one provider. A provider that failed in a way for which
the model parks it is parked from when the request left it; its retries before that are its own
affair. An open breaker shuts a provider as well. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from typing import Literal

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import ChainRules, covers
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.retries.breaker_fold import Breakers, Gate, breakers_in, gate_of
from faultclock.oracle.retries.plans import plans_of, providers_of
from faultclock.oracle.retries.predict import Step
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Attempt, Request

_STRICTEST: tuple[Gate, ...] = ("shut", "either", "free")

# -------------------------------------------------------------------------------------- visits


class Visit(Struct, frozen=True, kw_only=True):
    """One visit of a request at a provider.

    Attributes:
        first: whether it is the first of its request.
        skipped: the providers that the request passed over on its way there.
        following: the first attempt of the same request at the next provider; None for none.
    """

    call: Call
    request: Request
    provider: str
    steps: tuple[Step, ...]
    first: bool
    skipped: tuple[str, ...]
    following: Attempt | None

    @property
    def start(self) -> TraceEvent:
        """The act that began it."""
        return self.steps[0].attempt.start

    @property
    def last(self) -> Step:
        """Its last attempt."""
        return self.steps[-1]

    @property
    def pair(self) -> tuple[str, str] | None:
        """Class and code that it failed with; None for none."""
        seen = self.last.classification
        return None if seen is None or not self.last.attempt.failed else seen.pair

    @property
    def seq(self) -> int:
        """The last event of its last attempt."""
        return max(self.last.attempt.events)

    @property
    def known_ns(self) -> int:
        """When its end could be known, at the latest."""
        attempt = self.last.attempt
        if attempt.known_ns is not None:
            return attempt.known_ns
        later = self.request.end if self.following is None else self.following.start
        return attempt.start.at_ns if later is None else later.at_ns

    @property
    def is_over(self) -> bool:
        """Whether the subject is known to have left the provider, for this request."""
        ended = self.request.gave_up or self.request.returned
        return self.following is not None or (ended and self.request.end is not None)


@once
def visits_in(history: History, model: ErrorModel) -> tuple[Visit, ...]:
    """Return the visits of all requests at the providers of the chain, as they began."""
    found = [visit for plan in plans_of(history, model) for visit in _visits(history, *plan)]
    return tuple(sorted(found, key=lambda visit: visit.start.seq))


def _visits(history: History, request: Request, steps: tuple[Step, ...]) -> Iterator[Visit]:
    call, order = history.call(request.id), providers_of(history.trace.header.scenario)
    since = 0
    groups = [tuple(own) for _, own in groupby(steps, key=lambda step: step.attempt.provider)]
    for own, after in zip_longest(groups, groups[1:]):
        provider = own[0].attempt.provider
        if call is not None:
            yield Visit(
                call=call,
                request=request,
                provider=provider,
                steps=own,
                first=own is groups[0],
                skipped=order[since : order.index(provider)],
                following=None if after is None else after[0].attempt,
            )
        since = order.index(provider) + 1


# ---------------------------------------------------------------------------------------- access


class Park(Struct, frozen=True, kw_only=True):
    """A time for which a provider is not asked, from the event `seq` on."""

    provider: str
    life: int
    seq: int
    until_low_ns: int
    until_high_ns: int
    events: tuple[int, ...]


class Access(Struct, frozen=True, kw_only=True):
    """When each provider may be asked: where it is neither parked, nor cut off by a breaker.

    An instant is a life, the `seq` of an event before which things stand as is asked for, and a
    virtual time.

    Attributes:
        order: the providers of the chain; the first one is empty.
    """

    order: tuple[str, ...]
    parks: tuple[Park, ...]
    breakers: Breakers | None

    def gate(self, provider: str, life: int, seq: int, at_ns: int) -> Gate:
        """Return whether a provider may be asked at an instant."""
        breakers = self.breakers
        cut_off = "free" if breakers is None else breakers.gate(provider, life, seq, at_ns)
        return _strictest((self.parked(provider, life, seq, at_ns), cut_off))

    def parked(self, provider: str, life: int, seq: int, at_ns: int) -> Gate:
        """Return whether a provider may be asked at an instant, but for its breaker."""
        own = self.parks_of(provider, life, seq)
        return _strictest(gate_of(at_ns, park.until_low_ns, park.until_high_ns) for park in own)

    def parks_of(self, provider: str, life: int, seq: int) -> list[Park]:
        """Return the parks of a provider that began before an event."""
        return [
            park
            for park in self.parks
            if park.provider == provider and park.life == life and park.seq < seq
        ]

    def first_open(
        self, providers: Iterable[str], life: int, seq: int, at_ns: int
    ) -> tuple[tuple[str, ...], bool]:
        """Return which of the `providers` may be asked first, and whether one of them has to be."""
        may: list[str] = []
        for provider in providers:
            opening = self.gate(provider, life, seq, at_ns)
            if opening != "shut":
                may.append(provider)
            if opening == "free":
                return tuple(may), True
        return tuple(may), False


def _strictest(gates: Iterable[Gate]) -> Gate:
    return min(gates, key=_STRICTEST.index, default="free")


@once
def access_in(history: History, model: ErrorModel) -> Access:
    """Return when each provider may be asked."""
    rules = model.chain
    return Access(
        order=providers_of(history.trace.header.scenario),
        parks=() if rules is None else tuple(_parks(rules, visits_in(history, model))),
        breakers=breakers_in(history, model),
    )


def _parks(rules: ChainRules, visits: Iterable[Visit]) -> Iterator[Park]:
    for visit in visits:
        duration_ns = None if visit.pair is None else rules.park.get("/".join(visit.pair))
        if duration_ns is None or (visit.last.act == "retry" and not visit.is_over):
            continue
        knowable_ns = visit.last.attempt.knowable_ns
        yield Park(
            provider=visit.provider,
            life=visit.call.life,
            seq=visit.seq,
            until_low_ns=(visit.known_ns if knowable_ns is None else knowable_ns) + duration_ns,
            until_high_ns=visit.known_ns + duration_ns,
            events=visit.last.attempt.events,
        )


# -------------------------------------------------------------------------------------- turnings

Move = Literal["advances", "stops", "after_content"]


class Turning(Struct, frozen=True, kw_only=True):
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


def turnings(history: History, model: ErrorModel, rules: ChainRules) -> Iterator[Turning]:
    """Yield the visits after which a request may go on in the chain, or must not, in order."""
    access = access_in(history, model)
    for visit in visits_in(history, model):
        pair, following = visit.pair, visit.following
        if pair is None or (visit.call.stop is not None and following is None):
            continue
        later = access.order[access.order.index(visit.provider) + 1 :]
        move: Move = "advances"
        if covers(rules.stops_on, pair) or not covers(rules.advances_on, pair):
            move = "stops"
        elif visit.last.attempt.content and rules.after_content == "never":
            move = "after_content"
        seq, at_ns = visit.seq + 1, visit.known_ns
        if following is not None:
            seq, at_ns = following.start.seq, following.start.at_ns
        may, due = access.first_open(later, visit.call.life, seq, at_ns)
        yield Turning(visit=visit, move=move, may=may, due=due, left=bool(later))


def asked_nothing(call: Call) -> bool:
    """Return whether a turn came to its own end, and asked no provider."""
    return call.is_turn and not call.attempts and call.end is not None and call.stop is None


def failed_before_asking(history: History, call: Call) -> bool:
    """Return whether something beside the providers failed in `call`."""
    replies = ("store.answered", "hook.replied", "telemetry.answered", "queue.answered")
    return any(event.call == call.id and not event.ok for event in history.of(*replies))
