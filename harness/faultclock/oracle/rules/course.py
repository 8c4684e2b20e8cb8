"""The patterns that follow one course of events: universality, last, sequence, increasing."""

# ruff: noqa: D102 - `Stretch` says what each method does

from __future__ import annotations

from dataclasses import dataclass, field

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.joins import Key
from faultclock.oracle.rules.match import described, field_of
from faultclock.oracle.rules.scope import (
    AMONG,
    EVENT,
    STEP,
    Fault,
    Stretch,
    agrees,
    differs,
)


def _not_among(seen: str, wanted: str) -> str:
    if seen == wanted:
        return f"{seen} lacks a field, or has another value than the rule asks for"
    return f"{seen} is not {wanted}"


class Universality(Stretch):
    """Every event that `among` matches also matches `event`."""

    def feed(self, event: TraceEvent, roles: int) -> None:
        if not roles & AMONG:
            return
        self.judged += 1
        if not roles & EVENT:
            self.blame(
                Fault(
                    observed=_not_among(described(event), self.terms.words.event),
                    proof=(event,),
                    order=(differs(self.terms.words.event, event),),
                )
            )


@dataclass(slots=True, kw_only=True)
class Last(Stretch):
    """Of the events that `among` matches, the last one also matches `event`."""

    latest: TraceEvent | None = None
    found: TraceEvent | None = None

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & AMONG:
            self.latest = event
            if roles & EVENT:
                self.found = event

    def conclude(self, *, forgiven: bool) -> None:
        if self.latest is None or forgiven:
            return
        self.judged = 1
        if self.latest is not self.found:
            found = () if self.found is None else (self.found,)
            self.blame(
                Fault(
                    observed=f"the last one was {described(self.latest)}",
                    proof=(self.latest,),
                    near=found,
                    order=(
                        *(agrees(self.terms.words.event, event) for event in found),
                        differs(
                            "nothing more" if found else f"{self.terms.words.event} at the end",
                            self.latest,
                        ),
                    ),
                )
            )


@dataclass(slots=True, kw_only=True)
class Sequence(Stretch):
    """No event of one of the `steps` comes after one of a later step.

    With `same`, events that differ in these fields are not compared.
    """

    #: Key to the event of the latest step so far, and which step that is.
    furthest: dict[Key, tuple[TraceEvent, int]] = field(default_factory=dict)

    def feed(self, event: TraceEvent, roles: int) -> None:
        steps = roles // STEP
        if not steps:
            return
        group = self.terms.join.group_of(event.payload)
        if group is None:
            return
        step = (steps & -steps).bit_length() - 1
        before, furthest = self.furthest.get(group, (event, -1))
        self.judged += furthest >= 0
        if step < furthest:
            self.blame(self._fault(step, event, furthest, before))
        elif step > furthest:
            self.furthest[group] = event, step

    def _fault(self, step: int, event: TraceEvent, furthest: int, before: TraceEvent) -> Fault:
        names = self.terms.words.steps
        return Fault(
            observed=f"{names[step]} came after {names[furthest]}",
            proof=(before, event),
            order=(differs(names[step], before), differs(names[furthest], event)),
        )


@dataclass(slots=True, kw_only=True)
class Increasing(Stretch):
    """The number in `by` of each `event` is greater than that of the one before."""

    latest: TraceEvent | None = None

    def feed(self, event: TraceEvent, roles: int) -> None:
        if not roles & EVENT:
            return
        before, self.latest = self.latest, event
        number = self._number(event)
        if number is None:
            self.judged += 1
            self.blame(self._fault(event, None, f"{described(event)} has no number"))
            return
        if before is None:
            return
        last = self._number(before)
        if last is None:
            return
        self.judged += 1
        if number <= last or (self.terms.rule.gap_free and number != last + 1):
            self.blame(self._fault(event, before, f"{number} came after {last}"))

    def _number(self, event: TraceEvent) -> int | float | None:
        value = field_of(event.payload, self.terms.rule.by or "")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if is_number else None  # type: ignore[return-value]

    def _fault(self, event: TraceEvent, before: TraceEvent | None, observed: str) -> Fault:
        field_name = (self.terms.rule.by or "").rpartition(".")[2]
        wanted = f"the next {field_name}" if self.terms.rule.gap_free else f"a greater {field_name}"
        earlier = () if before is None else (before,)
        return Fault(
            observed=observed,
            proof=(*earlier, event),
            order=(
                *(agrees(self.terms.words.event, each) for each in earlier),
                differs(f"{self.terms.words.event} with {wanted}", event),
            ),
        )
