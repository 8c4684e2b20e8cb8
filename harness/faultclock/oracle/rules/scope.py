"""What one stretch of a trace keeps in mind while it goes by: the base of all patterns.

A stretch is fed the events that its rule speaks of, in order, with the roles that they play. At
its end it says what it judged and what was wrong. What an event costs depends on the rule, and not
on how many events there were before it; only what is kept in the order of its time is looked up in
a heap.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from msgspec import Struct

from faultclock.model.error_model.ordering import OrderingRule
from faultclock.model.report.finding import OrderStep
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.figures import Figure, Settings
from faultclock.oracle.rules.joins import Join
from faultclock.oracle.rules.match import described

#: The roles that an event may play. That of the nth step or move (0-based) is STEP << n.
EVENT, OTHER, AMONG, AFTER, BEFORE, STEP = 1, 2, 4, 8, 16, 256


class Words(Struct, frozen=True, kw_only=True):
    """What the sets of events of a rule are called."""

    event: str = ""
    other: str = ""
    before: str = ""
    steps: tuple[str, ...] = ()


class Terms(Struct, kw_only=True):
    """A rule, made ready for its stretches.

    Attributes:
        within, no_sooner, limit: its bounds; `begin_run` looks up what the run says of them.
        is_timed: whether it bounds a time.
        one_to_one: as the rule says.
    """

    rule: OrderingRule
    words: Words
    join: Join
    within: Figure
    no_sooner: Figure
    limit: Figure
    is_timed: bool
    one_to_one: bool

    def begin_run(self, settings: Settings) -> None:
        """Look up what is the same for the whole run."""
        for figure in (self.within, self.no_sooner, self.limit):
            figure.begin(settings)

    @property
    def missing(self) -> str:
        """Why the rule says nothing of this run: a bound that it needs is not there."""
        return self.within.missing or self.no_sooner.missing or self.limit.missing


def terms_of(rule: OrderingRule, words: Words) -> Terms:
    """Return `rule`, made ready."""
    return Terms(
        rule=rule,
        words=words,
        join=Join(rule.pairs),
        within=Figure(rule.within),
        no_sooner=Figure(rule.no_sooner),
        limit=Figure(rule.limit),
        is_timed=(rule.within, rule.no_sooner) != (None, None),
        one_to_one=rule.one_to_one,
    )


class Fault(Struct, frozen=True, kw_only=True):
    """What is wrong in a stretch.

    Attributes:
        observed: in words.
        proof: the events without which it would not be wrong.
        near: events that help to understand it, and prove nothing.
        order: the expected order beside the observed one.
        alone: what proves it where `proof` is empty and no bound shows that there is such a key.
    """

    observed: str
    proof: tuple[TraceEvent, ...] = ()
    near: tuple[TraceEvent, ...] = ()
    order: tuple[OrderStep, ...] = ()
    alone: tuple[TraceEvent, ...] = ()


@dataclass(slots=True, kw_only=True)
class Stretch(ABC):
    """One stretch of one key.

    Attributes:
        opened_by: what began it; empty for the beginning of the trace or of a life.
        judged: how many things it looked at.
        faults: what was wrong: the first thing, or with `report: every` each.
    """

    terms: Terms
    opened_by: tuple[TraceEvent, ...] = ()
    judged: int = 0
    faults: list[Fault] = field(default_factory=list)

    @abstractmethod
    def feed(self, event: TraceEvent, roles: int) -> None:
        """Take in the next event."""

    def conclude(self, *, forgiven: bool) -> None:  # noqa: B027 - many need no end
        """Settle what its end decides; `forgiven` when what was still due is not to be asked."""

    def blame(self, fault: Fault) -> None:
        """Keep a fault, unless one is enough."""
        if not self.faults or self.terms.rule.report == "every":
            self.faults.append(fault)


def agrees(expected: str, event: TraceEvent) -> OrderStep:
    """Return a step in which what was observed is what was expected."""
    return OrderStep(expected=expected, observed=described(event), seq=event.seq, at_ns=event.at_ns)


def differs(expected: str, event: TraceEvent) -> OrderStep:
    """Return a step in which something else was observed than expected."""
    return OrderStep(
        expected=expected,
        observed=described(event),
        seq=event.seq,
        at_ns=event.at_ns,
        agrees=False,
    )
