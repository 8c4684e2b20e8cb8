"""The kill matrix of a subject and an error model: which rule is killed by which mutant.

A rule is a requirement together with a check that judges it. A mutant is the subject with one
defect. It kills a rule where its run breaks that rule, and that of the subject itself does not.
A rule that no mutant kills may be one that cannot be broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import ClassVar, Literal

from pydantic import Field

from faultclock.model._base import SparseValue, Value
from faultclock.model.error_model.error_model import Level
from faultclock.model.report.finding import Finding, PassedOver, Verdict
from faultclock.model.trace.trace import SubjectInfo

#: Version of the format. It grows when a reader of the old shape would misread the new one.
KILL_MATRIX_FORMAT = 1

#: Check and requirement.
Rule = tuple[str, str | None]
#: What a mutant changes: what the subject says of itself, a call of it, how it waits, a step of a
#: shipped reference, or what a shipped wrong subject is made with.
Family = Literal["event", "call", "wait", "shipped", "step"]
#: What became of a rule.
#: `cited elsewhere`: mutants break its check in a way that its sentence is about, but the findings
#: cite another sentence that is broken by the same.
RuleStatus = Literal["killed", "cited elsewhere", "survives", "not judged", "not for this subject"]
#: What became of a mutant. `unproven`: its runs prove nothing; `no effect`: they are the same;
#: `untried`: no scenario was played in which it could differ.
Fate = Literal["killed", "unnoticed", "no effect", "unproven", "untried"]

_AGAINST = (Verdict.FAIL, Verdict.WARN)


def broken_rules(findings: Iterable[Finding]) -> frozenset[Rule]:
    """Return the rules that findings say are broken: FAIL, and WARN below a MUST."""
    return frozenset(
        (finding.check, finding.requirement) for finding in findings if finding.verdict in _AGAINST
    )


def kept_rules(findings: Iterable[Finding]) -> frozenset[Rule]:
    """Return the rules that findings show to hold: a PASS of a sentence, and nothing against it."""
    findings = tuple(findings)
    passed = frozenset(
        (finding.check, finding.requirement)
        for finding in findings
        if finding.verdict is Verdict.PASS and finding.requirement is not None
    )
    return passed - broken_rules(findings)


def killed_rules(broken: Set[Rule], findings: Iterable[Finding]) -> frozenset[Rule]:
    """Return the rules that findings on a mutant kill.

    Args:
        broken: the rules that the subject itself breaks in the same scenario.
    """
    against = broken_rules(findings) - broken
    return frozenset(rule for rule in against if rule[1] is not None)


def unproven_rules(
    kept: Set[Rule], findings: Iterable[Finding], exercised: Set[Rule]
) -> frozenset[Rule]:
    """Return the rules that findings on a mutant are about as well, and do not cite.

    Args:
        kept: the rules that the subject itself keeps in the same scenario.
        exercised: the rules that the findings are about and do not cite; see `Judgement`.
    """
    return frozenset(kept & exercised) - broken_rules(findings)


class Kill(SparseValue):
    """A rule that a mutant breaks in a scenario."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant"})

    mutant: str
    scenario: str
    variant: str | None = None


class RuleKills(SparseValue):
    """One rule, and what kills it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"hint"})

    check: str
    requirement: str
    level: Level
    place: str
    sentence: str
    status: RuleStatus
    judged_in: int = Field(default=0, ge=0)
    """Scenarios in which the subject itself keeps it."""
    tried: int = Field(default=0, ge=0)
    """Mutants that were played or judged in one of those scenarios, and changed something there,
    or that kill it where the subject gives no occasion to judge it."""
    killed_by: int = Field(default=0, ge=0)
    """Mutants that kill it, of those."""
    kills: tuple[Kill, ...] = ()
    """The first of them."""
    hint: str = ""
    """Why nothing kills it, as far as that is known."""


class MutantFate(SparseValue):
    """One mutant, and what became of it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"noticed_in"})

    id: str
    family: Family
    group: str
    """What it changes, such as the name of an event."""
    does: str
    fate: Fate
    scenarios: int = Field(ge=0)
    """Scenarios in which it was tried."""
    kills: int = Field(default=0, ge=0)
    """Rules that it kills."""
    noticed_in: str | None = None
    """The first scenario in which something is against it."""


class KillMatrix(Value):
    """What was searched, and what was found."""

    format: int = KILL_MATRIX_FORMAT
    faultclock: str
    """Version of Faultclock."""
    model: str
    model_title: str
    model_revision: str
    readings: dict[str, str] = {}
    subject: SubjectInfo
    scenarios: tuple[str, ...]
    """Ids of those in which the subject was run, each once."""
    rules: tuple[RuleKills, ...]
    """In the order of the model's requirements."""
    mutants: tuple[MutantFate, ...]
    left_out: int = Field(default=0, ge=0)
    """Mutants that were not drawn, because fewer were asked for."""
    trials: int = Field(ge=0)
    """Runs that were made or judged of all mutants."""
    passed_over: tuple[PassedOver, ...] = ()
    """What was selected, and shows nothing."""

    def of_status(self, *statuses: RuleStatus) -> tuple[RuleKills, ...]:
        """Return the rules of these statuses, in order."""
        return tuple(rule for rule in self.rules if rule.status in statuses)

    @property
    def is_proof(self) -> bool:
        """Whether any rule was judged: without one, nothing is shown of the model."""
        return any(rule.judged_in or rule.killed_by for rule in self.rules)

    @property
    def unkilled(self) -> tuple[RuleKills, ...]:
        """The rules that nothing kills."""
        return self.of_status("survives", "not judged")
