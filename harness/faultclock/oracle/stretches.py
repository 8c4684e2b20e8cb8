"""The nine patterns, each as what it keeps in mind while one stretch of a trace goes by.

A stretch is fed the events that its rule speaks of, in order, with the roles that they play. At
its end it says what it judged and the first thing that was wrong. Each takes constant time per
event, amortized: a queue gives up each event once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field

from faultclock.model.duration import format_duration
from faultclock.model.finding import OrderStep
from faultclock.model.ordering import OrderingRule, Pattern
from faultclock.model.trace import TraceEvent
from faultclock.oracle.event_match import described, field_of

__all__ = [
    "AFTER",
    "AMONG",
    "BEFORE",
    "EVENT",
    "OTHER",
    "STEP",
    "Fault",
    "Stretch",
    "Words",
    "new_stretch",
]

#: The roles that an event may play; that of the nth step (0-based) is STEP << n.
EVENT, OTHER, AMONG, AFTER, BEFORE, STEP = 1, 2, 4, 8, 16, 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the sets of events of a rule are called."""

    event: str = ""
    other: str = ""
    before: str = ""
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong in a stretch.

    Attributes:
        observed: in words.
        proof: the events without which it would not be wrong.
        near: events that help to understand it, and prove nothing.
        order: the expected order beside the observed one.
    """

    observed: str
    proof: tuple[TraceEvent, ...] = ()
    near: tuple[TraceEvent, ...] = ()
    order: tuple[OrderStep, ...] = ()


@dataclass(slots=True, kw_only=True)
class Stretch(ABC):
    """One stretch of one key.

    Attributes:
        opened_by: what began it; empty for the beginning of the trace or of a life.
        judged: how many things it looked at.
        fault: the first thing that was wrong.
    """

    rule: OrderingRule
    words: Words
    opened_by: tuple[TraceEvent, ...] = ()
    judged: int = 0
    fault: Fault | None = None

    @abstractmethod
    def feed(self, event: TraceEvent, roles: int) -> None:
        """Take in the next event."""

    def conclude(self, *, forgiven: bool) -> None:  # noqa: B027 - many need no end
        """Settle what its end decides; `forgiven` when what was still due is not to be asked."""

    def blame(self, fault: Fault) -> None:
        """Keep the first fault."""
        if self.fault is None:
            self.fault = fault


class _Absence(Stretch):
    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT:
            self.blame(
                Fault(
                    observed=f"there was {described(event)}",
                    proof=(event,),
                    order=(_differs(f"no {self.words.event}", event),),
                )
            )

    def conclude(self, *, forgiven: bool) -> None:  # noqa: ARG002 - what must not be is never due
        self.judged = 1


@dataclass(slots=True, kw_only=True)
class _Existence(Stretch):
    found: list[TraceEvent] = field(default_factory=list)

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT and len(self.found) < 2:
            self.found.append(event)

    def conclude(self, *, forgiven: bool) -> None:
        if self.found or not forgiven:
            self.judged = 1
        if not self.found and not forgiven:
            missing = OrderStep(expected=self.words.event, agrees=False)
            self.blame(Fault(observed=f"there was no {self.words.event}", order=(missing,)))


class _ExactlyOne(_Existence):
    def conclude(self, *, forgiven: bool) -> None:
        _Existence.conclude(self, forgiven=forgiven)
        if len(self.found) > 1:
            first, second = self.found
            self.blame(
                Fault(
                    observed=f"there was more than one {self.words.event}",
                    proof=(first, second),
                    order=(
                        _agrees(self.words.event, first),
                        _differs(f"no further {self.words.event}", second),
                    ),
                )
            )


def _not_among(seen: str, wanted: str) -> str:
    if seen == wanted:
        return f"{seen} lacks a field, or has another value than the rule asks for"
    return f"{seen} is not {wanted}"


class _Universality(Stretch):
    def feed(self, event: TraceEvent, roles: int) -> None:
        if not roles & AMONG:
            return
        self.judged += 1
        if not roles & EVENT:
            self.blame(
                Fault(
                    observed=_not_among(described(event), self.words.event),
                    proof=(event,),
                    order=(_differs(self.words.event, event),),
                )
            )


@dataclass(slots=True, kw_only=True)
class _Precedence(Stretch):
    #: The latest `other` that is old enough, and those that are not yet.
    settled: TraceEvent | None = None
    recent: deque[TraceEvent] = field(default_factory=deque)

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & EVENT:
            self.judged += 1
            latest_ns = event.at_ns - (self.rule.no_sooner or 0)
            while self.recent and self.recent[0].at_ns <= latest_ns:
                self.settled = self.recent.popleft()
            if self.settled is None or _longer(self.rule.within, self.settled, event):
                self.blame(self._fault(event))
        if roles & OTHER:
            if self.rule.no_sooner is None:
                self.settled = event
            else:
                self.recent.append(event)

    def _fault(self, event: TraceEvent) -> Fault:
        wanted = self.words.other
        near = self.recent[-1] if self.recent else self.settled
        if near is None:
            missing = OrderStep(expected=wanted, agrees=False)
            observed = f"no {wanted} came before {described(event)}"
        else:
            apart, bound = _apart(near, event, self.rule, soon=bool(self.recent))
            missing = _differs(f"{wanted} {bound} before", near)
            when = "only" if self.recent else "as long as"
            observed = f"{described(near)} came {when} {apart} before {described(event)}"
        return Fault(
            observed=observed,
            proof=(event,),
            near=() if near is None else (near,),
            order=(missing, _agrees(self.words.event, event)),
        )


@dataclass(slots=True, kw_only=True)
class _Response(Stretch):
    pending: deque[TraceEvent] = field(default_factory=deque)
    last: TraceEvent | None = None

    def feed(self, event: TraceEvent, roles: int) -> None:
        if roles & OTHER:
            self.last = event
            latest_ns = event.at_ns - (self.rule.no_sooner or 0)
            while self.pending and self.pending[0].at_ns <= latest_ns:
                waiting = self.pending.popleft()
                self.judged += 1
                if _longer(self.rule.within, waiting, event):
                    self.blame(self._fault(waiting, event, soon=False))
        if roles & EVENT:
            self.pending.append(event)

    def conclude(self, *, forgiven: bool) -> None:
        if not self.pending or forgiven:
            return
        self.judged += len(self.pending)
        first = self.pending[0]
        soon = self.last if self.last is not None and self.last.seq > first.seq else None
        self.blame(self._fault(first, soon, soon=True))

    def _fault(self, waiting: TraceEvent, near: TraceEvent | None, *, soon: bool) -> Fault:
        wanted = self.words.other
        if near is None:
            missing = OrderStep(expected=wanted, agrees=False)
            observed = f"no {wanted} followed {described(waiting)}"
        else:
            apart, bound = _apart(waiting, near, self.rule, soon=soon)
            missing = _differs(f"{wanted} {bound} later", near)
            when = "already" if soon else "only"
            observed = f"{described(near)} came {when} {apart} after {described(waiting)}"
        return Fault(
            observed=observed,
            proof=(waiting,),
            near=() if near is None else (near,),
            order=(_agrees(self.words.event, waiting), missing),
        )


@dataclass(slots=True, kw_only=True)
class _Last(Stretch):
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
                        *(_agrees(self.words.event, event) for event in found),
                        _differs(
                            "nothing more" if found else f"{self.words.event} at the end",
                            self.latest,
                        ),
                    ),
                )
            )


@dataclass(slots=True, kw_only=True)
class _Sequence(Stretch):
    #: The event of the latest step so far, and which step that is.
    furthest: TraceEvent | None = None
    step: int = -1

    def feed(self, event: TraceEvent, roles: int) -> None:
        steps = roles // STEP
        if not steps:
            return
        step = (steps & -steps).bit_length() - 1
        if self.furthest is None:
            self.furthest, self.step = event, step
            return
        self.judged += 1
        if step < self.step:
            self.blame(self._fault(step, event))
        elif step > self.step:
            self.furthest, self.step = event, step

    def _fault(self, step: int, event: TraceEvent) -> Fault:
        assert self.furthest is not None
        return Fault(
            observed=f"{self.words.steps[step]} came after {self.words.steps[self.step]}",
            proof=(self.furthest, event),
            order=(
                _differs(self.words.steps[step], self.furthest),
                _differs(self.words.steps[self.step], event),
            ),
        )


@dataclass(slots=True, kw_only=True)
class _Increasing(Stretch):
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
        if number <= last or (self.rule.gap_free and number != last + 1):
            self.blame(self._fault(event, before, f"{number} came after {last}"))

    def _number(self, event: TraceEvent) -> int | float | None:
        value = field_of(event.payload, self.rule.by or "")
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if is_number else None  # type: ignore[return-value]

    def _fault(self, event: TraceEvent, before: TraceEvent | None, observed: str) -> Fault:
        field_name = (self.rule.by or "").rpartition(".")[2]
        wanted = f"the next {field_name}" if self.rule.gap_free else f"a greater {field_name}"
        earlier = () if before is None else (before,)
        return Fault(
            observed=observed,
            proof=(*earlier, event),
            order=(
                *(_agrees(self.words.event, each) for each in earlier),
                _differs(f"{self.words.event} with {wanted}", event),
            ),
        )


_STRETCHES: dict[Pattern, type[Stretch]] = {
    "absence": _Absence,
    "existence": _Existence,
    "universality": _Universality,
    "precedence": _Precedence,
    "response": _Response,
    "exactly_one": _ExactlyOne,
    "last": _Last,
    "sequence": _Sequence,
    "increasing": _Increasing,
}


def new_stretch(rule: OrderingRule, words: Words, opened_by: tuple[TraceEvent, ...]) -> Stretch:
    """Return the beginning of a stretch of `rule`."""
    return _STRETCHES[rule.pattern](rule=rule, words=words, opened_by=opened_by)


def _longer(within_ns: int | None, earlier: TraceEvent, later: TraceEvent) -> bool:
    return within_ns is not None and later.at_ns - earlier.at_ns > within_ns


def _apart(
    earlier: TraceEvent, later: TraceEvent, rule: OrderingRule, *, soon: bool
) -> tuple[str, str]:
    """Return how far apart two events are, and which bound of the rule that breaks."""
    bound_ns = rule.no_sooner if soon else rule.within
    bound = f"{'at least' if soon else 'at most'} {format_duration(bound_ns or 0)}"
    return format_duration(later.at_ns - earlier.at_ns), bound


def _agrees(expected: str, event: TraceEvent) -> OrderStep:
    return OrderStep(expected=expected, observed=described(event), seq=event.seq, at_ns=event.at_ns)


def _differs(expected: str, event: TraceEvent) -> OrderStep:
    return OrderStep(
        expected=expected,
        observed=described(event),
        seq=event.seq,
        at_ns=event.at_ns,
        agrees=False,
    )
