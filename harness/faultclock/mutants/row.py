"""What a row may say: one wrong subject, made of a reference and the operators on it.

    drop, double, move, set_event, emit           on an event that the reference declares
    skip, return, raise, again                    on a step of the reference
    delay, swallow, shield                        on a step of the reference
    change                                        on what a step takes, or on what it gives
    also                                          another step is taken beside a step
    tune                                          on a constant of the reference

A step is a method: `wait_s` of the reference itself, `breaker.failed` of one of its parts. A path
such as `attempt.error.status` begins with an argument of the step, with `self`, or with
`result`, which is what it gives unless an argument has that name; on an event it begins with a
field. A name that ends with `()` is a method, and called; `-1` is the last place of a sequence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field, model_validator

from faultclock.model._base import Value

#: Path to a value, or to one of the conditions `in`, `not`, `has`, `lacks`, `below`, `above`, `is`.
Where = dict[str, Any]


class AtStep(Value):
    """An operator on a step, where a condition holds."""

    step: str
    where: Where = Field(default_factory=dict)


class Skip(AtStep):
    """The step is left out."""


class Return(AtStep):
    """The step is left out, and something else given instead.

    Attributes:
        value: a constant; a mapping makes an object of the type that the step returns. A text may
            hold paths in braces.
        taken: path of what it gives, instead of `value`.
        between: two numbers; one between them is drawn.
    """

    value: Any = None
    taken: str | None = None
    between: tuple[float, float] | None = None


class Raise(AtStep):
    """An exception is raised instead of the step, or behind it where a condition is on `result`.

    Attributes:
        error: name of the exception, to its arguments or to its text. A text may hold paths in
            braces.
        upon: name of the exception of the step in whose place it is raised.
        hides: whether nothing is the cause of it.
    """

    error: dict[str, dict[str, Any] | str]
    upon: str | None = None
    hides: bool = False


class Again(AtStep):
    """The step is taken a second time.

    Attributes:
        upon: name of the exception after which alone it is; without one it always is.
        times: how often more.
        after_s: wait before each, in seconds.
    """

    upon: str | None = None
    times: int = 1
    after_s: float = 0.0


class Delay(AtStep):
    """The step is taken later.

    Attributes:
        by_s: how much, in seconds.
        until: a step; until it is taken, instead of `by_s`.
        behind: whether it comes behind that step, and not just before it.
    """

    by_s: float | None = None
    until: str | None = None
    behind: bool = True

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Delay:
        if (self.by_s is None) == (self.until is None):
            raise ValueError("a delay has either 'by_s' or 'until'")
        return self


class Swallow(AtStep):
    """What the step raises does not leave it.

    Attributes:
        error: name of the exception. Conditions may begin with `error`.
        value: what the step gives instead; see `Return`.
    """

    error: str
    value: Any = None


class Shield(AtStep):
    """A cancel does not reach the step.

    Attributes:
        to_the_end: whether it does not reach the caller either, who waits for the step's end.
    """

    to_the_end: bool = False


class Change(AtStep):
    """The step takes, or gives, something else.

    Attributes:
        set: path to the value that it gets.
        taken: path to the path of what it gets.
        say: path to the text that it gets, with paths in braces.
        times: path to what the number there is multiplied with; of two, one between is drawn.
        plus: path to what is added to the number there.
        swap: path to two values, of which each becomes the other there.
        less: paths to what is left out.
        reverse: paths to sequences whose order is turned round.
        behind: whether what the step takes is changed behind it, and not before; then all
            conditions are looked at behind it.
    """

    set: dict[str, Any] = Field(default_factory=dict)
    taken: dict[str, str] = Field(default_factory=dict)
    say: dict[str, str] = Field(default_factory=dict)
    times: dict[str, float | tuple[float, float]] = Field(default_factory=dict)
    plus: dict[str, int] = Field(default_factory=dict)
    swap: dict[str, tuple[Any, Any]] = Field(default_factory=dict)
    less: tuple[str, ...] = ()
    reverse: tuple[str, ...] = ()
    behind: bool = False


class AtEvent(Value):
    """An operator on a declared event, where a condition holds on its fields.

    Attributes:
        event: its name; None: any event.
    """

    event: str | None = None
    where: Where = Field(default_factory=dict)


class Drop(AtEvent):
    """The event is not declared."""


class Double(AtEvent):
    """The event is declared twice.

    Attributes:
        named: the name that the second one has.
    """

    named: str | None = None


class Move(AtEvent):
    """The event is declared later.

    Attributes:
        until: name of the event until which it waits.
        behind: whether it comes behind that event, and not just before it.
    """

    until: str
    behind: bool = True


class SetEvent(AtEvent):
    """The event says something else.

    Attributes:
        set: path to the value that it gets.
        less: paths to what is left out.
        named: the name that it has instead.
    """

    set: dict[str, Any] = Field(default_factory=dict)
    less: tuple[str, ...] = ()
    named: str | None = None


class Beside(Value):
    """Something that happens beside a step, where a condition holds.

    Attributes:
        taken: path below what is handed on to the path, at the step, of what stands there.
        say: path below what is handed on to the text there, with paths in braces.
        before: the step that it precedes; `behind`: the one that it follows.
        upon: name of the exception that the step has to end with; None: it ends well.
    """

    taken: dict[str, str] = Field(default_factory=dict)
    say: dict[str, str] = Field(default_factory=dict)
    where: Where = Field(default_factory=dict)
    before: str | None = None
    behind: str | None = None
    upon: str | None = None

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Beside:
        if (self.before is None) == (self.behind is None):
            raise ValueError("it has to stand either 'before' or 'behind' a step")
        return self


class Emit(Beside):
    """An event is declared that the reference does not declare.

    Attributes:
        event: its name.
        fields: what it says.
    """

    event: str
    fields: dict[str, Any] = Field(default_factory=dict)


class Also(Beside):
    """A step is taken that the reference does not take.

    Attributes:
        step: path to it, from an argument of the other step or from the object that has that.
        given: its arguments; a mapping makes an object of the type that the step takes.
        after_s: so much later, in seconds, and nothing waits for it; None: at once.
    """

    step: str
    given: dict[str, Any] = Field(default_factory=dict)
    after_s: float | None = None


class Tune(Value):
    """A constant of the reference, or of a part of it, has another value."""

    constant: str
    value: Any


Operator = (
    Skip | Return | Raise | Again | Delay | Swallow | Shield | Change
    | Drop | Double | Move | SetEvent | Emit | Also | Tune
)  # fmt: skip


#: Kinds of operators whose name is a word of Python.
_FIELDS = {"return": "return_", "raise": "raise_"}


class Row(Value):
    """One wrong subject.

    Attributes:
        id: its name among the wrong subjects of the reference.
        does: what it does wrong, in one sentence.
        fails: id of the check that catches it.
        shown_by: id of the scenario that shows it, in what the reference's own begin with.
        origin: the public bug that it has, as `owner/name#number`.
        model: id of the error model by which it fails; None: that of the file.
        order: the kinds of its operators as they are written; the reader knows it.
    """

    id: str
    does: str
    fails: str
    shown_by: str
    origin: str | None = None
    model: str | None = None
    order: tuple[str, ...] = ()
    skip: tuple[Skip, ...] = ()
    return_: tuple[Return, ...] = Field(default=(), alias="return")
    raise_: tuple[Raise, ...] = Field(default=(), alias="raise")
    again: tuple[Again, ...] = ()
    delay: tuple[Delay, ...] = ()
    swallow: tuple[Swallow, ...] = ()
    shield: tuple[Shield, ...] = ()
    change: tuple[Change, ...] = ()
    drop: tuple[Drop, ...] = ()
    double: tuple[Double, ...] = ()
    move: tuple[Move, ...] = ()
    set: tuple[SetEvent, ...] = ()
    emit: tuple[Emit, ...] = ()
    also: tuple[Also, ...] = ()
    tune: tuple[Tune, ...] = ()

    def operators(self) -> Iterator[Operator]:
        """Yield its operators as they are written: each stands around those before it."""
        for name in self.order:
            yield from getattr(self, _FIELDS.get(name, name))

    @model_validator(mode="after")
    def _has_an_operator(self) -> Row:
        if next(self.operators(), None) is None:
            raise ValueError("a wrong subject needs an operator")
        return self


class Rows(Value):
    """One file: the wrong subjects that are made of one reference.

    Attributes:
        of: id of the reference.
    """

    of: str
    rows: tuple[Row, ...]
