"""Levels of conformance: what each asks of a role, frozen; and whether a subject has reached one.

A requirement set says for one revision of an error model which of its sentences each role is
answerable for, and which scenarios show it. It is data with a digest, and never changes: a new
fact (a sentence, a scenario, another reading) is a set of a new revision.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from faultclock.model._base import Sha256, SparseValue, Value
from faultclock.model.error_model.error_model import Level
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Role

#: From the least to the most.
LEVELS = ("core", "full", "hardened")
LevelName = Literal["core", "full", "hardened"]


class SetScenario(SparseValue):
    """A scenario of a set, as it was when the set was frozen."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variants", "seed", "seeds"})

    id: str
    digest: Sha256
    """Of what the file says, its variants included."""
    variants: int = Field(default=1, ge=1)
    seed: int = Field(default=0, ge=0)
    """The first one."""
    seeds: int = Field(default=1, ge=1)
    """How many follow each other, for each variant."""

    @property
    def runs(self) -> int:
        """How many runs it stands for as it is written."""
        return self.variants * self.seeds


class SetRequirement(SparseValue):
    """A sentence that a role is answerable for: its reference is seen to keep it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"declares", "occasion"})

    id: str
    level: Level
    digest: Sha256
    """Of the sentence, its level and its checks."""
    declares: tuple[str, ...] = ()
    """Without any one of which less is seen of it: what a binding declares, such as `audit`, or a
    field of a contract, such as `contract.retry`."""
    occasion: str = ""
    """Set where the sentence is about something that a subject may well never do: then in words
    what that is. A subject that does it is judged."""


class Hardening(Value):
    """What the level `hardened` asks for beyond `full`."""

    exploration_runs: int = Field(ge=1)
    """At least so many in all, dealt out evenly over the scenarios of the role."""
    exploration_seed: int = Field(ge=0)
    crash_sweep: tuple[str, ...] = ()
    """Scenarios that are run once more for each of their events, with a crash right after it."""
    jitter: tuple[str, ...] = ()
    """Scenarios in which the jitter of a wait is judged over many seeds."""
    jitter_seeds: int = Field(ge=2)
    """How many consecutive seeds that is."""


class RoleSet(Value):
    """What one role is answerable for."""

    reference: str
    """The shipped subject that shows that all of it can be kept."""
    requirements: tuple[SetRequirement, ...]
    elsewhere: tuple[str, ...] = ()
    """Requirement ids that no scenario for this role can show."""
    excluded: tuple[str, ...] = ()
    """Requirement ids that no check can judge; the model says why."""
    scenarios: tuple[SetScenario, ...]
    hardening: Hardening

    def requirement(self, id_: str) -> SetRequirement | None:
        """Return the requirement with this id; None: the role is not answerable for it."""
        return next((item for item in self.requirements if item.id == id_), None)


class PastSet(Value):
    """An earlier set of the same model: what it was is known by its digest."""

    revision: int = Field(ge=1)
    digest: Sha256


class RequirementSet(SparseValue):
    """One frozen set."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"history"})

    model: str
    model_revision: str
    revision: int = Field(ge=1)
    """Of the set; the model's own revision is another thing."""
    model_digest: Sha256
    """Of the whole model under its default readings."""
    roles: dict[Role, RoleSet]
    history: tuple[PastSet, ...] = ()
    """The sets before this one, oldest first; no part of its digest."""

    @model_validator(mode="after")
    def _follows_its_history(self) -> RequirementSet:
        if [item.revision for item in self.history] != list(range(1, self.revision)):
            raise ValueError(f"history does not hold each revision before {self.revision}")
        return self


ObligationStatus = Literal[
    "kept", "warned", "broken", "not shown", "undeclared", "no occasion", "not asked"
]


class Obligation(SparseValue):
    """What became of one sentence that the role is answerable for."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"because"})

    requirement: str
    level: Level
    status: ObligationStatus
    """`kept`: judged and passed. `undeclared`: the binding declares that it cannot express what
    would show it. `not shown`: nothing came to be judged. `no occasion`: likewise, and the subject
    need not ever do what the sentence is about. `not asked`: not of this level, and
    neither kept nor broken."""
    because: str = ""


class Objection(Value):
    """One reason why a level is not reached."""

    what: str
    """A scenario, a check, a requirement, or a step such as `exploration`."""
    because: str
    hint: str = ""


class Appraisal(SparseValue):
    """Whether a subject has reached a level, and all that stands against it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"objections", "passed_over"})

    model: str
    model_revision: str
    set_revision: int
    set_digest: Sha256
    role: Role
    level: LevelName
    verdict: Verdict
    """PASS or WARN: reached. FAIL: something is broken. INCONCLUSIVE: something was not shown."""
    obligations: tuple[Obligation, ...]
    objections: tuple[Objection, ...] = ()
    passed_over: tuple[str, ...] = ()
    """Scenarios of the set that cannot be played for this subject (another dialect)."""

    @property
    def is_reached(self) -> bool:
        """Whether a certificate may be given."""
        return self.verdict in (Verdict.PASS, Verdict.WARN) and not self.objections
