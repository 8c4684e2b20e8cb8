"""What runs reached, and what none of them did: an exploration that finds nothing has to say where
it never was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import Coverage, Reached
from faultclock.model.report.finding import Judgement
from faultclock.model.scenario.removable import rules_of
from faultclock.model.scenario.scenario import ASKING_ROLES, Role, Scenario
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.oracle.judge import CHECKS, check_infos

#: Checks that are for subjects of some roles only, by id.
_ROLES: dict[str, tuple[Role, ...]] = {
    check.id: (check.role,) for check in CHECKS if check.role is not None
}
#: First parts of the ids of checks on what is asked of a model.
_OF_A_MODEL = ("amplification", "classification", "backoff", "swallow", "wrapping")
_ARROW = " > "


def reached_by(scenario: Scenario, trace: Trace, judgement: Judgement) -> Reached:
    """Return what one run reached.

    Args:
        scenario: as it is written; it gives the faults their names.
    """
    judged = [finding for finding in judgement.findings if finding.judged]
    fired = {str(event.payload.get("fault")) for event in trace.of_kind("fault.fired")}
    pairs = {f"{before.kind}{_ARROW}{after.kind}" for before, after in pairwise(trace.events)}
    return Reached(
        checks=tuple(sorted({finding.check for finding in judged})),
        requirements=tuple(
            sorted({item.requirement for item in judged if item.requirement is not None})
        ),
        faults=tuple(sorted(f"{scenario.id}#{fault}" for fault in fired)),
        pairs=tuple(sorted(pairs)),
    )


class Tally:
    """Counts how many runs reached what."""

    def __init__(self) -> None:
        self._checks: Counter[str] = Counter()
        self._requirements: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._pairs: Counter[str] = Counter()

    def add(self, reached: Reached) -> None:
        """Count one run."""
        self._checks.update(reached.checks)
        self._requirements.update(reached.requirements)
        self._faults.update(reached.faults)
        self._pairs.update(reached.pairs)

    def coverage(
        self, model: ErrorModel, subject: SubjectInfo, scenarios: Sequence[Scenario]
    ) -> Coverage:
        """Return the counts, and what could have been reached and was not."""
        checks = tuple(_checks_for(model, subject))
        wanted = set(checks)
        requirements = [
            requirement.id
            for requirement in model.requirements
            if requirement.excluded is None and wanted & set(requirement.checks)
        ]
        faults = [f"{scenario.id}#{rule}" for scenario in scenarios for rule in rules_of(scenario)]
        return Coverage(
            checks=_sorted(self._checks),
            checks_never=_never(checks, self._checks),
            requirements=_sorted(self._requirements),
            requirements_never=_never(requirements, self._requirements),
            faults=_sorted(self._faults),
            faults_never=_never(faults, self._faults),
            pairs=_sorted(self._pairs),
            pairs_never=_never(sorted(_other_orders(self._pairs)), self._pairs),
        )


def _checks_for(model: ErrorModel, subject: SubjectInfo) -> Iterator[str]:
    """Yield the checks of the model that are for a subject like this one."""
    others = {
        f"ordering.{rule.id}"
        for rule in model.ordering
        if (rule.roles and subject.role not in rule.roles)
        or not set(rule.declarations) <= set(subject.declares)
    }
    for info in check_infos(model):
        roles = _ROLES.get(info.id)
        if roles is None and info.id.partition(".")[0] in _OF_A_MODEL:
            roles = ASKING_ROLES
        if info.id not in others and (roles is None or subject.role in roles):
            yield info.id


def _other_orders(pairs: Iterable[str]) -> Iterator[str]:
    for pair in pairs:
        before, _, after = pair.partition(_ARROW)
        yield f"{after}{_ARROW}{before}"


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def _never(known: Iterable[str], reached: Counter[str]) -> tuple[str, ...]:
    """Return what was never reached, each once, in the order in which it is known."""
    return tuple(name for name in dict.fromkeys(known) if name not in reached)
