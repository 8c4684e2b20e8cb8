"""The ordering language: which events, in which stretch of a trace, in which order, how far apart.

Pure data; `oracle.rules` evaluates it, and `docs/ordering.md` explains it with examples.
A source document's own names for events live in the error model's `events`; a rule names them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import ClassVar, Literal

from msgspec import Struct
from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.error_model.event_sets import EventRef, Events, near_to, resolved
from faultclock.model.error_model.lookup import CountBound, CountLookup, TimeBound, is_setting
from faultclock.model.scenario.scenario import Role
from faultclock.model.trace.trace import Declares

Pattern = Literal[
    "absence",
    "existence",
    "universality",
    "precedence",
    "response",
    "exactly_one",
    "last",
    "sequence",
    "increasing",
    "at_most",
    "automaton",
]

#: Patterns that pair two sets of events.
_PAIRING = frozenset({"precedence", "response"})
#: What each pattern needs beside `event`, which all but two need.
_NEEDS: Mapping[str, tuple[str, ...]] = {
    "precedence": ("event", "other"),
    "response": ("event", "other"),
    "universality": ("event", "among"),
    "last": ("event", "among"),
    "sequence": ("steps",),
    "increasing": ("event", "by"),
    "at_most": ("event", "limit"),
    "automaton": ("states", "start", "moves"),
}
#: What some patterns may have beside that.
_MAY_HAVE: Mapping[str, tuple[str, ...]] = {
    "precedence": ("same", "optional", "one_to_one", "within", "no_sooner"),
    "response": ("same", "optional", "one_to_one", "within", "no_sooner"),
    "sequence": ("same",),
    "increasing": ("gap_free",),
    "at_most": ("same",),
    "automaton": ("ends",),
}
_KEYS = (*_NEEDS.values(), *_MAY_HAVE.values())


class Scope(Value):
    """The stretches of a trace in which a rule holds; neither bound means all of it.

    `after` alone: from its first event to the end. `before` alone: up to its first event. Both:
    each stretch between them. The bounds themselves lie outside.
    """

    after: EventRef | None = None
    before: EventRef | None = None
    until_end: bool = False
    """Whether a stretch that `before` never closes counts, up to the end of the trace."""
    lives: Literal["each", "all", "later"] = "each"
    """`each`: every life of the subject's process is looked at by itself, and what was still due
    when it was killed is forgiven. `all`: a crash and a restart change nothing. `later`: a stretch
    that `after` begins is looked at from the next life on."""

    @model_validator(mode="after")
    def _later_than_something(self) -> Scope:
        if self.lives == "later" and self.after is None:
            raise ValueError("lives: later needs `after`: it says what has happened before")
        return self


class Move(Value):
    """One row of an automaton: in which states an event may come, and what state it leads to."""

    of: str | tuple[str, ...] = Field(alias="from")
    """The state, or several, in which the event may come."""
    event: EventRef
    to: str | None = None
    """The state after it; None: the one before it."""

    @property
    def states(self) -> tuple[str, ...]:
        """The states in which the event may come."""
        return (self.of,) if isinstance(self.of, str) else self.of


class FieldPair(Struct, frozen=True, kw_only=True):
    """Two fields, of `event` and of `other`, that have to be equal.

    Attributes:
        free_event: whether an `event` without the field fits any `other`.
        free_other: whether an `other` without it fits any `event`.
    """

    event: str
    other: str
    free_event: bool
    free_other: bool


class OrderingRule(SparseValue):
    """A property pattern over the events of a trace, judged per correlation key.

    absence: `event` never occurs · existence: it occurs · exactly_one: it occurs once ·
    universality: every event of the scope that `among` matches also matches `event` ·
    precedence: before each `event` there was an `other` · response: after each `event`
    there is an `other` · last: of the events that `among` matches, `event` is the last ·
    sequence: no event of one of the `steps` comes after one of a later step ·
    increasing: the number in the field `by` of each `event` is greater than that of the one
    before · at_most: there are no more than `limit` of `event` · automaton: each event of the
    `moves` has a move from the state that the ones before it led to
    """

    #: So that a model without them is, to the byte, what it was when its sets were frozen.
    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {
            *("same", "optional", "one_to_one", "limit", "states", "start", "moves", "ends"),
            *("report", "expected", "observed", "rules", "check"),
        }
    )

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    pattern: Pattern
    event: EventRef | None = None
    other: EventRef | None = None
    among: EventRef | None = None
    steps: tuple[EventRef, ...] = ()
    """For `sequence`, the sets of events in their order; any of them may be left out."""
    by: str | None = None
    """For `increasing`: the payload field (dotted) that holds a number."""
    gap_free: bool = False
    """For `increasing`: whether each number is the one before plus one."""
    same: tuple[str, ...] | dict[str, str] = ()
    """precedence, response: the fields that have the same value in both events; a mapping gives the
    field of `other` first, then that of `event`. sequence, at_most: each combination of values is
    judged by itself."""
    optional: tuple[str, ...] = ()
    """precedence, response: fields of `same` that an event may lack. It then fits any."""
    one_to_one: bool = False
    """precedence, response: whether one `other` is good for one `event` only."""
    limit: CountBound | None = None
    """For `at_most`."""
    states: tuple[str, ...] = ()
    """For `automaton`: the names of all its states."""
    start: str | None = None
    """For `automaton`: the state at the beginning of a stretch."""
    moves: tuple[Move, ...] = ()
    """For `automaton`. Where several rows fit an event, the first one counts."""
    ends: tuple[str, ...] = ()
    """For `automaton`: the states in which a stretch may end; empty: any."""
    report: Literal["first", "every"] = "first"
    """Which violations of a stretch are findings: the first one, or each by itself."""
    scope: Scope = Scope.model_construct()
    per: str | tuple[str, ...] | None = "call"
    """Payload field that correlates events, or several of which the first that is there counts;
    an event without any of them is passed over. None judges the whole trace as one."""
    within: TimeBound | None = None
    """precedence, response: how far apart the two events may be. A field is read from the first of
    the two."""
    no_sooner: TimeBound | None = None
    """precedence, response: how far apart they have to be at least."""
    roles: tuple[Role, ...] = ()
    """The roles of subjects that it is for; empty: all."""
    needs: Declares | tuple[Declares, ...] = ()
    """What a subject's binding must declare for the rule to apply, such as `audit`."""
    when: EventRef | None = None
    """The rule applies only to a trace in which this occurs."""
    unless: EventRef | None = None
    """The rule does not apply to a trace in which this occurs."""
    says: str
    """The rule in one sentence."""
    expected: str = ""
    """What a finding says was expected; empty: `says`. `{field}` stands for a field of the event
    that the violation is about."""
    observed: str = ""
    """What a finding says was observed, likewise; empty: what the pattern says."""
    hint: str = ""
    """What usually breaks it."""
    requirement: str | tuple[str, ...] = ()
    """What it judges: one sentence of the document, or several, of which the first one is cited."""
    rules: str = ""
    """In place of `requirement`: a name of the model's `rules`, which say what it judges."""
    check: str | None = None
    """The check that it is a part of; None: it is a check by itself, `ordering.` and its id."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The correlation fields, in the order in which they are tried; empty: none."""
        if self.per is None:
            return ()
        return (self.per,) if isinstance(self.per, str) else self.per

    @property
    def declarations(self) -> tuple[Declares, ...]:
        """What the binding must declare."""
        return (self.needs,) if isinstance(self.needs, str) else self.needs

    @property
    def requirements(self) -> tuple[str, ...]:
        """The sentences that it names itself."""
        return (self.requirement,) if isinstance(self.requirement, str) else self.requirement

    @property
    def check_id(self) -> str:
        """The check under which it is judged."""
        return self.check or f"ordering.{self.id}"

    @property
    def pairs(self) -> tuple[FieldPair, ...]:
        """The fields that have to be equal in two events."""
        same = self.same if isinstance(self.same, dict) else {name: name for name in self.same}
        return tuple(
            FieldPair(
                event=event,
                other=other,
                free_event=event in self.optional,
                free_other=other in self.optional,
            )
            for other, event in same.items()
        )

    @model_validator(mode="after")
    def _complete(self) -> OrderingRule:
        needed = _NEEDS.get(self.pattern, ("event",))
        known = {*needed, *_MAY_HAVE.get(self.pattern, ())}
        for name in dict.fromkeys(key for keys in _KEYS for key in keys):
            if getattr(self, name) not in (None, (), {}, False) and name not in known:
                raise ValueError(f"{self.id}: {self.pattern} knows no `{name}`{_homes_of(name)}")
        for name in needed:
            if getattr(self, name) in (None, ()):
                raise ValueError(f"{self.id}: {self.pattern} needs `{name}`")
        if len(self.steps) == 1:
            raise ValueError(f"{self.id}: one step has no order")
        written = isinstance(self.within, int) and isinstance(self.no_sooner, int)
        if written and self.no_sooner > self.within:  # type: ignore[operator]
            raise ValueError(f"{self.id}: no_sooner is longer than within")
        if self.per is not None and not self.keys:
            raise ValueError(f"{self.id}: per is empty: write null to judge the trace as one")
        if bool(self.requirement) == bool(self.rules):
            raise ValueError(f"{self.id}: give exactly one of requirement and rules")
        self._check_same()
        self._check_limit()
        self._check_states()
        return self

    def _check_same(self) -> None:
        if self.pattern not in _PAIRING and isinstance(self.same, dict):
            raise ValueError(
                f"{self.id}: with {self.pattern}, same is a list of fields: it compares no two sets"
            )
        known = [name for pair in self.pairs for name in (pair.event, pair.other)]
        for name in self.optional:
            if name not in known:
                hint = near_to(name, known)
                raise ValueError(f"{self.id}: same has no field '{name}' to be optional{hint}")

    def _check_limit(self) -> None:
        limit = self.limit
        looked_up = isinstance(limit, CountLookup) and not is_setting(limit.of)
        if looked_up and self.scope.after is None:
            raise ValueError(
                f"{self.id}: a limit in a field is read from the event that begins the stretch:"
                " write scope.after"
            )

    def _check_states(self) -> None:
        named = [*self.ends, *(() if self.start is None else (self.start,))]
        for move in self.moves:
            named += [*move.states, *(() if move.to is None else (move.to,))]
        for name in named:
            if name not in self.states:
                hint = near_to(name, self.states)
                raise ValueError(f"{self.id}: there is no state '{name}'{hint}")
        reached = {self.start}
        while (
            more := {
                move.to for move in self.moves if reached & {*move.states} and move.to is not None
            }
            - reached
        ):
            reached |= more
        for name in self.states:
            if name not in reached:
                raise ValueError(f"{self.id}: no move leads to the state '{name}'")


def _homes_of(name: str) -> str:
    """Return in words which patterns a key of a rule goes with; empty for the key of most."""
    tables = (_NEEDS, _MAY_HAVE)
    homes = [pattern for table in tables for pattern, keys in table.items() if name in keys]
    return "" if name == "event" else f": it goes with {' and '.join(homes)}"


def event_refs(rule: OrderingRule) -> Iterator[EventRef]:
    """Yield every set of events that `rule` speaks of, its guards included."""
    refs = (rule.event, rule.other, rule.among, *rule.steps, *(move.event for move in rule.moves))
    for ref in (*refs, rule.scope.after, rule.scope.before, rule.when, rule.unless):
        if ref is not None:
            yield ref


def kinds_of(rule: OrderingRule, events: Events) -> frozenset[str]:
    """Return every canonical kind that `rule` speaks of; its names are all in `events`."""
    return frozenset(
        kind
        for ref in event_refs(rule)
        for _, pattern in resolved(ref, events)
        for kind in pattern.kinds
    )


def unknown_event(rule: OrderingRule, events: Events) -> str | None:
    """Return a sentence about the first name in `rule` that is none of `events`, or None."""
    for ref in event_refs(rule):
        for item in ref if isinstance(ref, tuple) else (ref,):
            name = item if isinstance(item, str) else item.event
            if name is not None and name not in events:
                near = get_close_matches(name, events, n=1)
                hint = f"; did you mean `{near[0]}`?" if near else ""
                return f"{rule.id}: there is no event '{name}': write a name of `events`{hint}"
    return None
