"""The patterns that count one set of events: none, at least one, exactly one, at most so many."""

# ruff: noqa: D102 - `Stretch` says what each method does

from __future__ import annotations

from dataclasses import dataclass, field

from faultclock.model.duration import format_roughly
from faultclock.model.report.finding import OrderStep
from faultclock.model.trace.events import EVENTS, happened
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.joins import Key
from faultclock.oracle.rules.match import field_of
from faultclock.oracle.rules.scope import EVENT, Fault, Stretch, agrees, differs


class Absence(Stretch):
    """`event` never occurs."""

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT:
            self.blame(
                Fault(
                    observed=f"{happened(event)}{self._since(event)}",
                    proof=(event,),
                    order=(differs(f"no {self.terms.words.event}", event),),
                )
            )

    def _since(self, event: TraceEvent) -> str:
        """Return how long that was after what forbids it, where plain words have that."""
        opened = self.opened_by[0] if self.opened_by else None
        known = None if opened is None else EVENTS.get(opened.kind)
        if opened is None or known is None or not known.happened:
            return ""
        since_ns = event.at_ns - opened.at_ns
        return f" {format_roughly(since_ns) if since_ns else 'right'} after {happened(opened)}"

    def conclude(self, *, forgiven: bool) -> None:  # noqa: ARG002 - what must not be is never due
        self.judged = max(1, len(self.faults))


@dataclass(slots=True, kw_only=True)
class Existence(Stretch):
    """`event` occurs."""

    found: list[TraceEvent] = field(default_factory=list)

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT and len(self.found) < 2:
            self.found.append(event)

    def conclude(self, *, forgiven: bool) -> None:
        wanted = self.terms.words.event
        if self.found or not forgiven:
            self.judged = 1
        if not self.found and not forgiven:
            missing = OrderStep(expected=wanted, agrees=False)
            self.blame(Fault(observed=f"there was no {wanted}", order=(missing,)))


class ExactlyOne(Existence):
    """`event` occurs once."""

    def conclude(self, *, forgiven: bool) -> None:
        Existence.conclude(self, forgiven=forgiven)
        if len(self.found) > 1:
            wanted = self.terms.words.event
            first, second = self.found
            self.blame(
                Fault(
                    observed=f"there was more than one {wanted}",
                    proof=(first, second),
                    order=(agrees(wanted, first), differs(f"no further {wanted}", second)),
                )
            )


@dataclass(slots=True, kw_only=True)
class AtMost(Stretch):
    """There are no more than `limit` of `event`, of each combination of the `same` fields."""

    limit: int | None = field(init=False)
    #: The events within the limit.
    within: dict[Key, list[TraceEvent]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        figure = self.terms.limit
        self.limit = figure.at(self.opened_by[0]) if self.opened_by else figure.known

    def feed(self, event: TraceEvent, roles: int) -> None:
        if not roles & EVENT or self.limit is None:
            return
        group = self.terms.join.group_of(event.payload)
        if group is None:
            return
        found = self.within.setdefault(group, [])
        if len(found) < self.limit:
            found.append(event)
        else:
            self.blame(self._fault(tuple(found), event))

    def conclude(self, *, forgiven: bool) -> None:  # noqa: ARG002 - too many are never due
        if self.limit is not None:
            self.judged = max(1, len(self.within), len(self.faults))

    def _fault(self, found: tuple[TraceEvent, ...], event: TraceEvent) -> Fault:
        wanted = self.terms.words.event
        alike = "".join(
            f", {pair.event} {field_of(event.payload, pair.event)}"
            for pair in self.terms.join.pairs
        )
        return Fault(
            observed=f"there were more than {self.limit} {wanted}{alike}",
            proof=(*found, event),
            order=(
                *(agrees(f"{wanted}, number {len(found)}", each) for each in found[-1:]),
                differs(f"no further {wanted}", event),
            ),
        )
