"""What a row says of a reference that is not so: a step, an argument or an exception by name.

A row that names what is not there would change nothing, or end a run in the middle; so it is
refused when it is read.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any

from faultclock.mutants.made import errors
from faultclock.mutants.reference import Reference
from faultclock.mutants.row import (
    Again,
    AtEvent,
    AtStep,
    Beside,
    Change,
    Delay,
    Raise,
    Return,
    Row,
    Swallow,
    Tune,
)

#: What a path at a step may begin with beside an argument.
_HEADS = ("self", "result", "error")


def mistakes(reference: Reference, row: Row) -> Iterator[str]:
    """Yield a sentence for each thing that a row names and the reference does not have."""
    for operator in row.operators():
        if isinstance(operator, AtEvent):
            if reference.edited is None:
                yield "this reference declares no events"
            continue
        name, step = reference.place(operator)
        if name and name not in reference.parts:
            yield _missing("part", name, reference.parts)
            continue
        base = reference.parts[name].made if name else reference.base
        if not hasattr(base, step):
            noun = "constant" if isinstance(operator, Tune) else "step"
            yield _missing(noun, step, (item for item in dir(base) if item[:1] != "_"))
        elif not isinstance(operator, Tune):
            yield from _of_paths(operator, getattr(base, step))
            yield from _of_errors(operator)
        if isinstance(operator, Delay) and not hasattr(base, operator.until or step):
            yield _missing("step", str(operator.until), dir(base))


def _of_paths(operator: AtStep | Beside, step: Any) -> Iterator[str]:
    known = [*inspect.signature(step).parameters, *_HEADS]
    for path in _paths(operator):
        head = path.partition(".")[0]
        if head not in known:
            yield _missing("argument", head, known)


def _paths(operator: AtStep | Beside) -> Iterator[str]:
    yield from operator.where
    if isinstance(operator, Beside):
        yield from operator.taken.values()
    if isinstance(operator, Return) and operator.taken is not None:
        yield operator.taken
    if isinstance(operator, Change):
        yield from (*operator.set, *operator.taken, *operator.taken.values(), *operator.say)
        yield from (*operator.times, *operator.plus, *operator.swap)
        yield from (*operator.less, *operator.reverse)


def _of_errors(operator: Any) -> Iterator[str]:
    name = None
    if isinstance(operator, Again | Beside | Raise):
        name = operator.upon
    elif isinstance(operator, Swallow):
        name = operator.error
    if name is not None and name not in errors():
        yield _missing("exception", name, errors())


def _missing(noun: str, name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f"there is no {noun} {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")
