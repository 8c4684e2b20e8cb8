"""What a check is: a named pure function over one Case that returns an Outcome.

A check counts what it looked at, per requirement, and names each violation. Verdicts are made of
that in one place (`judge`): a check that looked at nothing never passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from harness.model.error_model import ErrorModel
from harness.model.trace import Trace
from harness.oracle.attempts import Call, Observation, observe
from harness.oracle.predict import Step, plan

__all__ = ["Case", "Check", "Outcome", "Violation", "also", "case_of", "class_requirement"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One trace, read once, and the error model it is judged by."""

    model: ErrorModel
    trace: Trace
    observation: Observation

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the trace, in the order in which they began."""
        return self.observation.calls

    @cached_property
    def plans(self) -> tuple[tuple[Call, tuple[Step, ...]], ...]:
        """Each call with what had to happen after each of its attempts."""
        subject = self.trace.header.subject
        return tuple((call, plan(self.model, subject, call)) for call in self.calls)

    @cached_property
    def suppressed(self) -> frozenset[str]:
        """The calls that declare, with a reason, that they ignore an error on purpose."""
        return frozenset(
            str(event.payload.get("call"))
            for event in self.trace.of_kind("declared.event")
            if event.payload.get("name") == "SuppressedError"
            and (event.payload.get("fields") or {}).get("reason")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is not as the error model asks.

    Attributes:
        requirement: id of the sentence that it breaks; None for a property of the evidence.
        events: `seq` of the events that prove it.
        inconclusive: whether it proves that the run shows nothing, rather than a fault.
    """

    requirement: str | None
    expected: str
    observed: str
    events: tuple[int, ...] = ()
    call: str | None = None
    hint: str = ""
    inconclusive: bool = False


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a check found.

    Attributes:
        judged: how many things it looked at, per requirement.
        violations: what it found.
        violated: the requirements that a violation exercises, beside the one that it cites: they
            are not shown to hold.
        reason: why it looked at nothing.
    """

    judged: Counter[str | None] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    violated: set[str | None] = field(default_factory=set)
    reason: str = ""

    def looked_at(self, *requirements: str | None) -> None:
        """Count one thing that was judged, for each requirement that it exercises."""
        self.judged.update(dict.fromkeys(requirements, 1))

    def violate(self, violation: Violation, *exercised: str | None) -> None:
        """Add a violation of something that exercised these requirements."""
        self.violations.append(violation)
        self.violated.update((violation.requirement, *exercised))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check: its stable id, what it says in one sentence, and how it judges a case."""

    id: str
    title: str
    says: str
    run: Callable[[Case], Outcome]


def case_of(model: ErrorModel, trace: Trace) -> Case:
    """Return the case of `trace` under `model`."""
    return Case(model=model, trace=trace, observation=observe(trace))


def also(model: ErrorModel, name: str) -> tuple[str, ...]:
    """Return the requirements that the model's `rules` give `name`, or a name below it."""
    return tuple(
        requirement
        for key, requirement in model.rules.items()
        if key == name or key.startswith(f"{name}.")
    )


def class_requirement(model: ErrorModel, class_name: str) -> str | None:
    """Return the requirement of the class, None when the model has no such class."""
    return next((item.requirement for item in model.classes if item.id == class_name), None)
