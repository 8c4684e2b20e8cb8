"""Visits: the attempts of one request at one provider of the chain, and the parking that follows.

A provider that failed in a way for which the model parks it is parked from when the request left
it. Its retries before that are its own affair. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import ChainRules
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.history import History, once
from faultclock.oracle.plans import plans_of
from faultclock.oracle.predict import SLACK_NS, Step
from faultclock.oracle.requests import Request

__all__ = ["Parks", "Visit", "parks_of", "visits_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One visit of a request at a provider.

    Attributes:
        following: the visit of the same request after it; None for none.
    """

    call: Call
    request: Request
    provider: str
    steps: tuple[Step, ...]
    first: bool
    following: str | None
    following_start: TraceEvent | None

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
        later = self.following_start or self.request.end
        return attempt.start.at_ns if later is None else later.at_ns

    @property
    def is_over(self) -> bool:
        """Whether the subject is known to have left the provider, for this request."""
        ended = self.request.gave_up or self.request.returned
        return self.following is not None or (ended and self.request.end is not None)


@once
def visits_in(history: History, model: ErrorModel) -> tuple[Visit, ...]:
    """Return the visits of all requests at the providers of the chain, in order."""
    return visits_of(history.calls, plans_of(history, model))


@once
def parks_in(history: History, model: ErrorModel) -> Parks:
    """Return when each provider was parked."""
    return parks_of(model.chain, visits_in(history, model))


def visits_of(
    calls: Iterable[Call], plans: Iterable[tuple[Request, tuple[Step, ...]]]
) -> tuple[Visit, ...]:
    """Return the visits of all requests, in the order in which they began."""
    by_id = {call.id: call for call in calls}
    found = [
        visit for request, steps in plans for visit in _visits(by_id[request.id], request, steps)
    ]
    return tuple(sorted(found, key=lambda visit: visit.start.seq))


def _visits(call: Call, request: Request, steps: tuple[Step, ...]) -> Iterator[Visit]:
    groups = [tuple(own) for _, own in groupby(steps, key=lambda step: step.attempt.provider)]
    for index, own in enumerate(groups):
        after = groups[index + 1][0].attempt if index + 1 < len(groups) else None
        yield Visit(
            call=call,
            request=request,
            provider=own[0].attempt.provider,
            steps=own,
            first=index == 0,
            following=None if after is None else after.provider,
            following_start=None if after is None else after.start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Park:
    provider: str
    life: int
    seq: int
    until_low_ns: int
    until_high_ns: int
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parks:
    """When each provider was parked."""

    parks: tuple[_Park, ...] = ()

    def gate(
        self, provider: str, life: int, seq: int, at_ns: int
    ) -> Literal["free", "shut", "either"]:
        """Return whether a provider may be asked at `at_ns`, as things stood before `seq`."""
        own = list(self._own(provider, life, seq))
        if any(at_ns < park.until_low_ns - SLACK_NS for park in own):
            return "shut"
        return "either" if any(at_ns <= park.until_high_ns + SLACK_NS for park in own) else "free"

    def shown_by(self, provider: str, life: int, seq: int) -> tuple[int, ...]:
        """Return the events of the failure by which it was parked last."""
        own = list(self._own(provider, life, seq))
        return own[-1].events if own else ()

    def _own(self, provider: str, life: int, seq: int) -> Iterator[_Park]:
        return (
            park
            for park in self.parks
            if park.provider == provider and park.life == life and park.seq < seq
        )


def parks_of(rules: ChainRules | None, visits: Iterable[Visit]) -> Parks:
    """Return what `rules` park, over all visits of a trace."""
    if rules is None or not rules.park:
        return Parks()
    return Parks(parks=tuple(_parks(rules, visits)))


def _parks(rules: ChainRules, visits: Iterable[Visit]) -> Iterator[_Park]:
    for visit in visits:
        duration_ns = None if visit.pair is None else rules.park.get("/".join(visit.pair))
        if duration_ns is None or (visit.last.act == "retry" and not visit.is_over):
            continue
        knowable_ns = visit.last.attempt.knowable_ns
        yield _Park(
            provider=visit.provider,
            life=visit.call.life,
            seq=visit.seq,
            until_low_ns=(visit.known_ns if knowable_ns is None else knowable_ns) + duration_ns,
            until_high_ns=visit.known_ns + duration_ns,
            events=visit.last.attempt.events,
        )
