"""Ordering rules over a trace: all in one pass, each violation with the smallest proof.

A rule is judged per correlation key and per stretch (see `Scope`). A key exists from the first
event on that the rule speaks of and that carries it. A stretch that is cut open by the end of the
trace, or of a life, counts where the scope says so: without a `before`, or with `until_end`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as SequenceOf

from msgspec import Struct, field

from faultclock.model.error_model.event_sets import EventRef, Events, resolved
from faultclock.model.error_model.ordering import OrderingRule, Pattern
from faultclock.model.report.finding import OrderStep
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.rules.automaton import Automaton
from faultclock.oracle.rules.counts import Absence, AtMost, ExactlyOne, Existence
from faultclock.oracle.rules.course import Increasing, Last, Sequence, Universality
from faultclock.oracle.rules.figures import Settings
from faultclock.oracle.rules.match import EventIndex, described, field_of, is_absent
from faultclock.oracle.rules.pairs import Precedence, Response
from faultclock.oracle.rules.scope import (
    AFTER,
    AMONG,
    BEFORE,
    EVENT,
    OTHER,
    STEP,
    Fault,
    Stretch,
    Terms,
    Words,
    terms_of,
)

#: Guards are no roles within a stretch.
_WHEN, _UNLESS = 32, 64
_GUARDS = _WHEN | _UNLESS
_STRETCHES: Mapping[Pattern, type[Stretch]] = {
    "absence": Absence,
    "existence": Existence,
    "universality": Universality,
    "precedence": Precedence,
    "response": Response,
    "exactly_one": ExactlyOne,
    "last": Last,
    "sequence": Sequence,
    "increasing": Increasing,
    "at_most": AtMost,
    "automaton": Automaton,
}


class Witness(Struct, frozen=True, kw_only=True):
    """One violation.

    Attributes:
        key: the value of the correlation field, empty where the trace is judged as one.
        observed: what went wrong, in words.
        events: the smallest set that proves it. By itself it is a trace that violates the rule,
            and without any one of them it does not (or the rule finds nothing to judge).
        near: events beside the proof that a person wants to see, such as an answer that was late.
        order: what was expected beside what was observed, the bounds of the stretch included.
        about: the event that breaks the rule, or that lacks what it asks for; else what began the
            stretch.
    """

    key: str
    observed: str
    events: tuple[TraceEvent, ...]
    near: tuple[TraceEvent, ...] = ()
    order: tuple[OrderStep, ...] = ()
    about: TraceEvent | None = None


class PatternResult(Struct, frozen=True, kw_only=True):
    """What one rule comes to.

    Attributes:
        judged: how many things were looked at: stretches, or events within them.
        witnesses: what was violated: at most one for each stretch, or with `report: every` each.
        silent: why the rule does not apply; empty when it does.
    """

    judged: int
    witnesses: tuple[Witness, ...]
    silent: str = ""


class _Key(Struct, kw_only=True):
    """Where one key stands: in a stretch, before one, or after the last."""

    stretch: Stretch | None = None
    over: bool = False
    #: With `lives: later`, what has happened in a life that is to be judged from the next one on.
    announced: TraceEvent | None = None


class _Machine(Struct, kw_only=True, eq=False):
    """One rule on its way through a trace."""

    rule: OrderingRule
    terms: Terms
    after: str
    when: str
    unless: str
    keys: dict[str, _Key] = field(default_factory=dict)
    #: The keys that wait for the next life, so that a life costs no look at all the others.
    announced: dict[str, _Key] = field(default_factory=dict)
    judged: int = 0
    witnesses: list[Witness] = field(default_factory=list)
    #: Between the death of a process and the next one, nothing that happens is the subject's.
    dead: bool = False
    wanted: bool = False
    unwanted: TraceEvent | None = None

    def begin_run(self, settings: Settings) -> None:
        """Begin a trace that has nothing to do with one before it."""
        self.terms.begin_run(settings)
        self.keys.clear()
        self.announced.clear()
        self.judged, self.witnesses = 0, []
        self.wanted, self.unwanted = self.rule.when is None, None
        self.begin()

    def begin(self) -> None:
        """Begin the trace, or a life that is looked at by itself."""
        self.dead = False
        if self.rule.per is None:
            self.keys[""] = self._fresh()

    def take(self, event: TraceEvent, roles: int) -> None:
        """Take in an event that the rule speaks of."""
        if roles & _GUARDS:
            self.wanted = self.wanted or bool(roles & _WHEN)
            if roles & _UNLESS and self.unwanted is None:
                self.unwanted = event
        roles &= ~_GUARDS
        if not roles or self.dead:
            return
        key = _key_of(self.rule, event)
        if key is None:
            return
        state = self.keys.get(key)
        if state is None:
            state = self.keys[key] = self._fresh()
        bounded = False
        if roles & BEFORE:
            if state.stretch is not None:
                self._close(key, state.stretch, end=event)
                state.stretch, state.over, bounded = None, self.rule.scope.after is None, True
            state.announced = None
            self.announced.pop(key, None)
        if roles & AFTER and state.stretch is None and not state.over:
            if self.rule.scope.lives != "later":
                state.stretch = self._stretch((event,))
            elif state.announced is None:
                state.announced = event
                self.announced[key] = state
            bounded = True
        if state.stretch is not None and not bounded:
            state.stretch.feed(event, roles)

    def life_ends(self, *, killed: bool) -> None:
        """Settle the stretches of a life that is over."""
        if self.rule.scope.lives == "each":
            self.end(forgiven=killed)
            self.dead = killed

    def life_begins(self, event: TraceEvent) -> None:
        """Begin a life that is not the first."""
        if self.rule.scope.lives == "each":
            self.begin()
        elif self.rule.scope.lives == "later":
            for state in self.announced.values():
                assert state.announced is not None
                opened = (state.announced, event)
                state.stretch = self._stretch(opened)
                state.announced = None
            self.announced.clear()

    def end(self, *, forgiven: bool = False) -> None:
        """Settle what is still open."""
        scope = self.rule.scope
        if scope.before is None or scope.until_end:
            for key, state in self.keys.items():
                if state.stretch is not None:
                    self._close(key, state.stretch, end=None, forgiven=forgiven)
        self.keys.clear()

    def result(self) -> PatternResult:
        """Return what the rule comes to."""
        silent = self.terms.missing
        if not self.wanted:
            silent = f"{self.when} did not happen, and the rule is about what follows from it"
        elif self.unwanted is not None:
            silent = f"{described(self.unwanted)} happened, and the rule holds only without it"
        if silent:
            return PatternResult(judged=0, witnesses=(), silent=silent)
        return PatternResult(judged=self.judged, witnesses=tuple(self.witnesses))

    def _stretch(self, opened_by: tuple[TraceEvent, ...]) -> Stretch:
        return _STRETCHES[self.rule.pattern](terms=self.terms, opened_by=opened_by)

    def _fresh(self) -> _Key:
        # A stretch without `after` begins where the trace, or the life, does.
        if self.rule.scope.after is not None:
            return _Key()
        return _Key(stretch=self._stretch(()))

    def _close(
        self, key: str, stretch: Stretch, *, end: TraceEvent | None, forgiven: bool = False
    ) -> None:
        stretch.conclude(forgiven=forgiven)
        self.judged += stretch.judged
        for fault in stretch.faults:
            self.witnesses.append(self._witness(key, stretch, fault, end))

    def _witness(self, key: str, stretch: Stretch, fault: Fault, end: TraceEvent | None) -> Witness:
        proof = (*stretch.opened_by, *fault.proof)
        near = fault.near
        if end is not None:
            # Without `until_end` only the bound makes the stretch count. And where nothing else is
            # in the proof, it is what shows that there is such a key at all.
            if not self.rule.scope.until_end or (not proof and self.rule.per is not None):
                proof = (*proof, end)
            elif not fault.proof:
                near = (*near, end)
        elif not proof and self.rule.per is not None:
            proof = fault.alone
        began = tuple(_bound("", event) for event in stretch.opened_by)
        if began and self.after:
            began = (_bound(self.after, stretch.opened_by[0]), *began[1:])
        shown_end = () if end is None else (_bound(self.terms.words.before, end),)
        return Witness(
            key=key,
            observed=fault.observed,
            events=proof,
            near=near,
            order=(*began, *fault.order, *shown_end),
            about=next(reversed((*stretch.opened_by, *fault.proof)), None),
        )


def evaluate(
    rule: OrderingRule,
    events: Iterable[TraceEvent],
    names: Events | None = None,
    settings: Settings | None = None,
) -> PatternResult:
    """Return what one rule comes to; see `RuleSet`."""
    return RuleSet((rule,), names).evaluate(events, settings)[0]


class RuleSet:
    """Rules that are made ready once, for many traces one after the other.

    Args:
        rules: roles and declarations are not looked at: the caller has chosen.
        names: the source document's names that the rules may use.
    """

    def __init__(self, rules: SequenceOf[OrderingRule], names: Events | None = None) -> None:
        self.rules = tuple(rules)
        self._index: EventIndex[_Machine] = EventIndex()
        self._machines = tuple(_machine(rule, names or {}, self._index) for rule in rules)

    def evaluate(
        self, events: Iterable[TraceEvent], settings: Settings | None = None
    ) -> tuple[PatternResult, ...]:
        """Return what each rule comes to, in one pass; nothing of an earlier trace is left.

        Args:
            events: in the order of their time.
            settings: what lookups find beside the events; see `settings_of`.
        """
        for machine in self._machines:
            machine.begin_run(settings or {})
        return _run_through(self._machines, self._index, events)


def _run_through(
    machines: tuple[_Machine, ...], index: EventIndex[_Machine], events: Iterable[TraceEvent]
) -> tuple[PatternResult, ...]:
    for event in events:
        reborn = event.kind == "process.started" and event.life != 1
        if reborn:
            for machine in machines:
                machine.life_ends(killed=False)
                machine.life_begins(event)
        for machine, roles in index.roles(event):
            machine.take(event, roles)
        if event.kind == "process.crashed":
            for machine in machines:
                machine.life_ends(killed=True)
    for machine in machines:
        machine.end()
    return tuple(machine.result() for machine in machines)


def _machine(rule: OrderingRule, names: Events, index: EventIndex[_Machine]) -> _Machine:
    steps = (*rule.steps, *(move.event for move in rule.moves))
    roles: list[tuple[int, EventRef | None]] = [
        (EVENT, rule.event),
        (OTHER, rule.other),
        (AMONG, rule.among),
        (AFTER, rule.scope.after),
        (BEFORE, rule.scope.before),
        (_WHEN, rule.when),
        (_UNLESS, rule.unless),
        *((STEP << place, step) for place, step in enumerate(steps)),
    ]
    sets = {bit: resolved(ref, names) for bit, ref in roles}
    called = {bit: " or ".join(dict.fromkeys(name for name, _ in sets[bit])) for bit in sets}
    words = Words(
        event=called[EVENT],
        other=called[OTHER],
        before=called[BEFORE],
        steps=tuple(called[STEP << place] for place in range(len(steps))),
    )
    machine = _Machine(
        rule=rule,
        terms=terms_of(rule, words),
        after=called[AFTER],
        when=called[_WHEN],
        unless=called[_UNLESS],
    )
    for bit, patterns in sets.items():
        for _, pattern in patterns:
            index.add(machine, bit, pattern)
    return machine


def _key_of(rule: OrderingRule, event: TraceEvent) -> str | None:
    if rule.per is None:
        return ""
    for path in rule.keys:
        value = field_of(event.payload, path)
        if not is_absent(value):
            return str(value)
    return None


def _bound(expected: str, event: TraceEvent) -> OrderStep:
    seen = described(event)
    return OrderStep(expected=expected or seen, observed=seen, seq=event.seq, at_ns=event.at_ns)
