"""What a check is: a pure function of a history and an error model that yields verdicts.

A check says of each thing that it looks at for which requirements it held, or what was violated. A
check that looked at nothing never passes: `judge` makes findings of verdicts, in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import OrderStep
from faultclock.model.scenario.scenario import Role
from faultclock.model.trace.trace import SubjectInfo
from faultclock.oracle.facts.history import History


class Held(Struct, frozen=True):
    """One thing was looked at, which exercises these requirements."""

    requirements: tuple[str | None, ...]


class Violation(Struct, frozen=True, kw_only=True):
    """One thing is not as the error model asks.

    Attributes:
        requirement: id of the sentence that it breaks; None for a property of the evidence.
        events: `seq` of the events that prove it.
        inconclusive: whether it proves that the run shows nothing, rather than a fault.
        moot: whether it says nothing more of a run that fails by another check: a failure has shown
            what a run that left its script unserved would not.
        order: for a violated order, what was expected beside what was observed.
        exercised: the requirements that are not shown to hold, beside the one that it cites.
        cause: what every run of the same mistake shows, where the observed words differ; else "".
    """

    requirement: str | None
    expected: str
    observed: str
    events: tuple[int, ...] = ()
    call: str | None = None
    hint: str = ""
    inconclusive: bool = False
    moot: bool = False
    order: tuple[OrderStep, ...] = ()
    exercised: tuple[str | None, ...] = ()
    cause: str = ""


class Otherwise(Struct, frozen=True):
    """Why a check has nothing to judge, where it yields nothing else. The last one counts."""

    reason: str


Verdict = Held | Violation | Otherwise
Verdicts = Iterator[Verdict]
#: Sections of an error model that some checks are about as a whole.
Section = Literal["tools", "extensions"]
Judging = Callable[[History, ErrorModel], Verdicts]
#: Returns why something is not for a subject; empty where it is.
WhyNot = Callable[[SubjectInfo], str]


def held(*requirements: str | None) -> Held:
    """Return that one thing was judged, for each requirement that it exercises."""
    return Held(requirements)


def otherwise(reason: str) -> Otherwise:
    """Return why there is nothing to judge, unless something else is yielded."""
    return Otherwise(reason)


def broken(
    requirements: Sequence[str | None],
    *,
    expected: str,
    observed: str,
    events: tuple[int, ...] = (),
    call: str | None = None,
    hint: str = "",
    inconclusive: bool = False,
    moot: bool = False,
    order: tuple[OrderStep, ...] = (),
    cause: str = "",
) -> Violation:
    """Return a violation of something that exercised `requirements`; it cites the first one."""
    return Violation(
        requirement=next(iter(requirements), None),
        expected=expected,
        observed=observed,
        events=events,
        call=call,
        hint=hint,
        inconclusive=inconclusive,
        moot=moot,
        order=order,
        cause=cause,
        exercised=tuple(requirements),
    )


def verdict(
    requirements: Sequence[str | None],
    fault: str | None,
    *,
    expected: str,
    events: tuple[int, ...] = (),
    call: str | None = None,
    hint: str = "",
) -> Verdict:
    """Return that one thing held, or that it did not: `fault` says what was observed instead."""
    if not fault:
        return held(*requirements)
    return broken(
        requirements, expected=expected, observed=fault, events=events, call=call, hint=hint
    )


def unproven(
    expected: str,
    observed: str,
    *events: int,
    call: str | None = None,
    hint: str = "",
    moot: bool = False,
    cause: str = "",
) -> Violation:
    """Return a violation that is not the subject's fault: it proves that the run shows nothing."""
    return broken(
        (None,),
        expected=expected,
        observed=observed,
        events=events,
        call=call,
        hint=hint,
        inconclusive=True,
        moot=moot,
        cause=cause,
    )


def exercising(violation: Violation, *requirements: str | None) -> Violation:
    """Return a violation of something that exercised these requirements as well."""
    return replace(violation, exercised=(*violation.exercised, *requirements))


class Outcome(Struct, kw_only=True):
    """What the verdicts of a check come to.

    Attributes:
        judged: how many things it looked at, per requirement.
        violations: what it found.
        violated: the requirements that a violation exercises: they are not shown to hold.
        reason: why it looked at nothing.
    """

    judged: dict[str | None, int] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    violated: set[str | None] = field(default_factory=set)
    reason: str = ""


def outcome_of(verdicts: Iterable[Verdict], unjudged: str = "") -> Outcome:
    """Return what verdicts come to; `unjudged` says why there is none."""
    outcome = Outcome(reason=unjudged)
    for verdict in verdicts:
        if isinstance(verdict, Held):
            for requirement in dict.fromkeys(verdict.requirements):
                outcome.judged[requirement] = outcome.judged.get(requirement, 0) + 1
        elif isinstance(verdict, Violation):
            outcome.violations.append(verdict)
            outcome.violated.update((verdict.requirement, *verdict.exercised))
        else:
            outcome.reason = verdict.reason
    return outcome


class Check(Struct, frozen=True, kw_only=True):
    """A check: its stable id, what it says in one sentence, and how it judges.

    Attributes:
        role: of the subjects that it judges; None for any.
        section: of the error model without which it has nothing to judge; None for none.
        declares: what the binding of a subject must declare.
        unjudged: why it has nothing to judge where `run` yields nothing.
        why_not: further reasons why it is not for a subject.
        about: name of the model's `rules` to what says why a subject is none that its sentence is
            about; the other sentences are about every subject that it judges.
    """

    id: str
    title: str
    says: str
    run: Judging
    role: Role | None = None
    section: Section | None = None
    declares: tuple[str, ...] = ()
    unjudged: str = ""
    why_not: WhyNot | None = None
    about: Mapping[str, WhyNot] = field(default_factory=dict)

    def inapplicable(self, subject: SubjectInfo, model: ErrorModel) -> str:
        """Return why it is not for a subject, or not for a model; empty where it is."""
        if self.role is not None and subject.role != self.role:
            return is_a(self.role, no=True)
        if self.why_not is not None and (reason := self.why_not(subject)):
            return reason
        for item in self.declares:
            if item not in subject.declares:
                return f"the subject's binding does not declare {item!r}"
        if self.section is not None and getattr(model, self.section) is None:
            return f"the error model says nothing of {self.section}"
        return ""

    def not_about(self, subject: SubjectInfo, model: ErrorModel) -> dict[str, str]:
        """Return the requirements that it judges for other subjects only, with the reason."""
        found: dict[str, str] = {}
        for name, requirement in model.rules.items():
            if name in self.about or name == self.id or name.startswith(f"{self.id}."):
                why_not = self.about[name](subject) if name in self.about else ""
                # A sentence that two names have is about the subjects of both.
                found[requirement] = why_not and found.get(requirement, why_not)
        return {requirement: why_not for requirement, why_not in found.items() if why_not}

    def outcome(self, history: History, model: ErrorModel) -> Outcome:
        """Return what its verdicts come to, or why it is not for the subject or the model."""
        if reason := self.inapplicable(history.trace.header.subject, model):
            return Outcome(reason=reason)
        return outcome_of(self.run(history, model), self.unjudged)


def check(
    id_: str,
    *,
    title: str,
    says: str,
    unjudged: str = "",
    role: Role | None = None,
    section: Section | None = None,
    declares: tuple[str, ...] = (),
    about: Mapping[str, WhyNot] | None = None,
) -> Callable[[Judging], Check]:
    """Make a check of the function below; see `Check` for the arguments."""

    def made(run: Judging) -> Check:
        return Check(
            id=id_,
            title=title,
            says=says,
            run=run,
            unjudged=unjudged,
            role=role,
            section=section,
            declares=declares,
            about=about or {},
        )

    return made


def is_a(role: str, *, no: bool = False) -> str:
    """Return that the subject has a role, or with `no` that it has not, as a reason."""
    article = "an" if role == "extension" else "a"
    return f"the subject is {'not ' * no}{article} {role.replace('_', ' ')}"


def only_of(role: Role) -> WhyNot:
    """Return what says why a subject of another role is none that a sentence is about."""
    return lambda subject: "" if subject.role == role else is_a(role, no=True)


def _without_a_policy(subject: SubjectInfo) -> str:
    return "" if subject.retry_policies else "the subject declares no retry policy of its own"


#: Of the checks of retries: what is about subjects with a retry policy of their own.
OF_OWN_POLICIES: Mapping[str, WhyNot] = {"backoff.declared": _without_a_policy}


def checks_in(*modules: ModuleType) -> tuple[Check, ...]:
    """Return the checks that modules define, in the order in which they stand there."""
    return tuple(
        item for module in modules for item in vars(module).values() if isinstance(item, Check)
    )


def also(model: ErrorModel, name: str) -> tuple[str, ...]:
    """Return the requirements that the model's `rules` give `name`, or a name below it."""
    return model.rules_below.get(name, ())


def requirement_of(model: ErrorModel, name: str) -> str | None:
    """Return the first requirement that the model's `rules` give `name`; None for none."""
    return next(iter(also(model, name)), None)


def class_requirement(model: ErrorModel, class_name: str) -> str | None:
    """Return the requirement of the class, None when the model has no such class."""
    return next((item.requirement for item in model.classes if item.id == class_name), None)
