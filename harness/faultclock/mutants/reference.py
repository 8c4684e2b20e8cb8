"""A reference that rows are made of: its class, its parts, and where its events pass.

A part is a class that an attribute of another one names, as `breaker_type` of an agent names its
breaker, so that nothing is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field

from faultclock.mutants.events import EventOperator, Fields
from faultclock.mutants.made import hints_of, made
from faultclock.mutants.operators import (
    StepOperator,
    Use,
    accompanied,
    applied,
    in_background,
    tuned,
)
from faultclock.mutants.paths import constant, with_value
from faultclock.mutants.row import Also, AtEvent, Beside, Emit, Row, Tune
from faultclock.subjects.binding import Binding

_Edited = Callable[[type[Any], tuple[EventOperator, ...]], type[Any]]


class Part(Struct, frozen=True, kw_only=True):
    """A class that another one names.

    Attributes:
        owner: name of the part that names it; empty: the reference itself.
        attribute: what it is named by.
    """

    made: type[Any]
    owner: str = ""
    attribute: str


class Reference(Struct, frozen=True, kw_only=True):
    """What the rows of one file are made of.

    Attributes:
        prefix: what the ids of its wrong subjects begin with.
        model: id of the error model that it is right by.
        base: the class of the reference.
        bind: makes a binding of a class, with an id and a title.
        scenarios: what the ids of its scenarios begin with.
        parts: by the names that a row has for them, each before its owner.
        edited: changes a class (of `emitter`) so that its events pass through operators.
        emitter: name of the part where events pass.
        emit: declares an event for a subject, or for one of its parts.
    """

    prefix: str
    model: str
    base: type[Any]
    bind: Callable[[type[Any], str, str], Binding]
    scenarios: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)
    edited: _Edited | None = None
    emitter: str = ""
    emit: Callable[[Any, str, Fields], None] | None = None

    def whole(self, made: Any) -> type[Any]:
        """Return the reference with `made`, which is itself or one of its parts, in its place."""
        if issubclass(made, self.base):
            return made  # type: ignore[no-any-return]
        part = next(part for part in self.parts.values() if issubclass(made, part.made))
        owner = self.parts[part.owner].made if part.owner else self.base
        named = {part.attribute: made, "__doc__": made.__doc__}
        return self.whole(type(made.__name__, (owner,), named))

    def wrong(self, row: Row) -> type[Any]:
        """Return the reference with the operators of a row."""
        changed: dict[str, type[Any]] = {}

        def of(name: str) -> type[Any]:
            return changed.get(name) or (self.parts[name].made if name else self.base)

        edits = tuple(item for item in row.operators() if isinstance(item, AtEvent))
        if edits:
            assert self.edited is not None
            changed[self.emitter] = self.edited(of(self.emitter), edits)
        for operator in row.operators():
            if isinstance(operator, AtEvent):
                continue
            name, step = self.place(operator)
            changed[name] = self._applied(operator, of(name), step)
        for name, part in self.parts.items():
            if name in changed:
                owner = of(part.owner)
                named = {part.attribute: changed[name], "__doc__": owner.__doc__}
                changed[part.owner] = type(owner.__name__, (owner,), named)
        return of("")

    def place(self, operator: StepOperator | Tune | Beside) -> tuple[str, str]:
        """Return the part, and its step or constant, that an operator is on."""
        if isinstance(operator, Tune):
            named = operator.constant
        elif isinstance(operator, Beside):
            named = operator.before or operator.behind or ""
        else:
            named = operator.step
        part, _, step = named.rpartition(".")
        return part, step

    def _applied(self, operator: Any, base: type[Any], step: str) -> type[Any]:
        if isinstance(operator, Tune):
            return tuned(operator, base, step)
        if isinstance(operator, Also):
            return accompanied(operator, base, step, partial(_take, operator))
        if isinstance(operator, Emit):
            assert self.emit is not None
            return accompanied(operator, base, step, partial(_declare, operator, self.emit))
        return applied(operator, base, step)


def _take(operator: Also, use: Use, taken: Fields) -> Any:
    head = operator.step.partition(".")[0]
    step = use.at(operator.step if head in use.arguments else f"self.{operator.step}")
    hints = hints_of(getattr(step, "__func__", step))
    own = {name: made(value, hints.get(name)) for name, value in operator.given.items()}
    given = _with(own, taken)
    if operator.after_s is None:
        return step(**given)
    return in_background(step, given, operator.after_s)


def _declare(operator: Emit, emit: Callable[..., None], use: Use, taken: Fields) -> None:
    emit(use.subject, operator.event, _with(constant(operator.fields), taken))


def _with(given: Fields, taken: Fields) -> Fields:
    for path, value in taken.items():
        given = with_value(given, path, value)
    return given
