"""Operators on every step and constant of a shipped reference.

Each is a row as `faultclock/mutants/*.yaml` has them, with one operator. Which steps a reference
takes in which scenario is seen in a run of its own, so none is tried where it changes nothing.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec import Struct

from faultclock.kills.mutant import Mutant
from faultclock.model.scenario.scenario import Scenario
from faultclock.mutants.checked import mistakes
from faultclock.mutants.reference import Reference
from faultclock.mutants.references import REFERENCES, SUBJECTS
from faultclock.mutants.row import Row
from faultclock.run.execute import simulate
from faultclock.run.process.no_exit import staying
from faultclock.subjects.binding import Binding

#: Seconds by which a step comes later.
_DELAY_S = 60.0
#: Return types to the values that a step gives instead of its own.
_CONSTANTS: Mapping[Any, tuple[Any, ...]] = {
    bool: (True, False),
    int: (0, 1, 1_000),
    float: (0.0, 60.0),
    str: ("", "mutant"),
}


class OtherSteps(Struct, frozen=True, kw_only=True):
    """A reference with the operators of a row.

    Attributes:
        of: id of the reference among `REFERENCES`.
    """

    of: str
    row: Row

    def __call__(self, binding: Binding) -> Binding:
        """Return the wrong subject."""
        reference = REFERENCES[self.of]()
        made = reference.bind(reference.wrong(self.row), binding.id, self.row.does)
        return replace(made, dialects=binding.dialects)


def step_mutants(subject: str, taken: Mapping[str, frozenset[str]]) -> Iterator[Mutant]:
    """Yield the mutants of a shipped reference; none for any other subject.

    Args:
        taken: step to the ids of the scenarios in which it is taken.
    """
    of = SUBJECTS.get(subject)
    if of is None:
        return
    reference = REFERENCES[of]()
    for part, base in _classes(reference):
        for name, step in _steps(base):
            place = f"{part}.{name}" if part else name
            for what, does, operator in _operators(place, step):
                if place in taken:
                    yield from _mutant(
                        of, reference, f"step {place}: {what}", place, does, operator, taken[place]
                    )
        for name, value in _constants(base):
            place = f"{part}.{name}" if part else name
            for new in _other_constants(value):
                does = f"has {new} as its {place.replace('_', ' ')}, and not {value}"
                operator = {"tune": [{"constant": place, "value": new}]}
                yield from _mutant(
                    of, reference, f"constant {place}: {new}", place, does, operator, None
                )


def _mutant(
    of: str,
    reference: Reference,
    id_: str,
    place: str,
    does: str,
    operator: dict[str, Any],
    scenarios: frozenset[str] | None,
) -> Iterator[Mutant]:
    # What is searched for shows in no scenario that is known before, and fails no check.
    known = {"id": "searched", "does": does, "fails": "-", "shown_by": "-"}
    row = Row.model_validate({**known, "order": list(operator), **operator})
    if any(mistakes(reference, row)):
        return
    yield Mutant(
        id=id_,
        family="step",
        group=place,
        does=does,
        change=OtherSteps(of=of, row=row),
        scenarios=scenarios,
    )


def _classes(reference: Reference) -> Iterator[tuple[str, type[Any]]]:
    yield "", reference.base
    for name, part in reference.parts.items():
        yield name, part.made


def _steps(base: type[Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods of a class of ours, in the order of their names."""
    for name in sorted(dir(base)):
        step = inspect.getattr_static(base, name)
        if name[:1] != "_" and inspect.isfunction(step):
            yield name, step


def _constants(base: type[Any]) -> Iterator[tuple[str, Any]]:
    for name in sorted(dir(base)):
        value = inspect.getattr_static(base, name)
        if name[:1] != "_" and isinstance(value, bool | int | float):
            yield name, value


def _other_constants(value: bool | float) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    made = (value + 1, value - 1, value * 2, 0)
    return tuple(new for new in dict.fromkeys(made) if new != value and new >= 0)


def _operators(place: str, step: Callable[..., Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield what is done to a step: a short name, a sentence, and the operator of a row."""
    said = place.replace("_", " ")
    given = _returns(step)
    yield "skip", f"leaves out: {said}", {"skip": [{"step": place}]}
    yield "again", f"does twice: {said}", {"again": [{"step": place}]}
    for value in (value for type_ in given for value in _CONSTANTS.get(type_, ())):
        yield (
            f"return {value}",
            f"always gets {value!r} from: {said}",
            {"return": [{"step": place, "value": value}]},
        )
    if {int, float} & set(given):
        yield (
            "twice",
            f"gets twice as much from: {said}",
            {"change": [{"step": place, "times": {"result": 2.0}}]},
        )
        yield (
            "half",
            f"gets half as much from: {said}",
            {"change": [{"step": place, "times": {"result": 0.5}}]},
        )
    yield (
        "swallow",
        f"swallows what is raised by: {said}",
        {"swallow": [{"step": place, "error": "Exception"}]},
    )
    if inspect.iscoroutinefunction(step):
        yield (
            "delay",
            f"waits a minute before: {said}",
            {"delay": [{"step": place, "by_s": _DELAY_S}]},
        )
        yield "shield", f"is not cancelled in: {said}", {"shield": [{"step": place}]}


def _returns(step: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the types that a step may give."""
    try:
        hint = typing.get_type_hints(step).get("return")
    except (NameError, TypeError):
        # A type that is only imported for a checker.
        return ()
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if is_union else (hint,)


# ---------------------------------------------------------------------- which steps are taken


def steps_taken(binding: Binding, subject: str, scenario: Scenario, seed: int) -> list[str]:
    """Return the steps that a shipped reference takes in a scenario; where it is loaded."""
    of = SUBJECTS[subject]
    reference = REFERENCES[of]()
    taken: set[str] = set()
    changed: dict[str, type[Any]] = {}
    for part, base in _classes(reference):
        noted = {
            name: _noting(step, f"{part}.{name}" if part else name, taken)
            for name, step in _steps(base)
        }
        changed[part] = type(base.__name__, (base,), {**noted, "__doc__": base.__doc__})
    for name, part_ in reference.parts.items():
        setattr(changed[part_.owner], part_.attribute, changed[name])
    made = reference.bind(changed[""], binding.id, binding.title)
    with staying():
        simulate(scenario, replace(made, dialects=binding.dialects), seed)
    return sorted(taken)


def _noting(step: Callable[..., Any], name: str, taken: set[str]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(step):

        @functools.wraps(step)
        async def noted_async(*given: Any, **named: Any) -> Any:
            taken.add(name)
            return await step(*given, **named)

        return noted_async

    @functools.wraps(step)
    def noted(*given: Any, **named: Any) -> Any:
        taken.add(name)
        return step(*given, **named)

    return noted
