"""Levels of conformance: what each asks of a role, frozen; and whether a subject has reached one.

A requirement set says for one revision of an error model which of its sentences each role is
answerable for, and which scenarios show it. It is data with a digest, and never changes: a new
fact (a sentence, a scenario, another reading) is a set of a new revision.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from harness.model._base import SparseValue, Value
from harness.model.error_model import Level
from harness.model.finding import Verdict
from harness.model.scenario import Role

__all__ = [
    "LEVELS",
    "Appraisal",
    "Hardening",
    "LevelName",
    "Obligation",
    "ObligationStatus",
    "Objection",
    "RequirementSet",
    "RoleSet",
    "SetScenario",
]

#: From the least to the most.
LEVELS = ("core", "full", "hardened")
LevelName = Literal["core", "full", "hardened"]

#: Hexadecimal, 64 digits.
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class SetScenario(Value):
    """A scenario of a set, as it was when the set was frozen."""

    id: str
    digest: Sha256
    """Of what the file says, its variants included."""


class Hardening(Value):
    """What the level `hardened` asks for beyond `full`."""

    exploration_runs: int = Field(ge=1)
    """In all, dealt out over the scenarios of the role in their order."""
    exploration_seed: int = Field(ge=0)
    jitter_seeds: int = Field(ge=1)
    """How many consecutive seeds the jitter of a wait is judged over."""


class RoleSet(Value):
    """What one role is answerable for."""

    requirements: dict[str, Sha256]
    """Requirement id to the digest of its sentence, level and checks: those that the reference of
    this role is seen to keep."""
    elsewhere: tuple[str, ...] = ()
    """Requirement ids that no scenario for this role can show."""
    excluded: tuple[str, ...] = ()
    """Requirement ids that no check can judge; the model says why."""
    scenarios: tuple[SetScenario, ...]
    hardening: Hardening


class RequirementSet(Value):
    """One frozen set."""

    model: str
    model_revision: str
    revision: int = Field(ge=1)
    """Of the set; the model's own revision is another thing."""
    model_digest: Sha256
    roles: dict[Role, RoleSet]


ObligationStatus = Literal["kept", "warned", "broken", "not shown", "undeclared", "not asked"]


class Obligation(SparseValue):
    """What became of one sentence that the role is answerable for."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"because"})

    requirement: str
    level: Level
    status: ObligationStatus
    """`kept`: judged and passed. `undeclared`: the binding declares that it cannot express what
    would show it. `not shown`: nothing came to be judged. `not asked`: not of this level, and
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
