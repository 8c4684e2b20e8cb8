"""What a requirement set has run: the scenarios that it froze, if they are still the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from faultclock.errors import InputError
from faultclock.load.matrix import Crossing
from faultclock.load.requirement_set import model_digest, scenarios_digest
from faultclock.load.scenario import LoadedScenario, find_scenarios, shipped_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import RequirementSet, RoleSet
from faultclock.model.report.finding import PassedOver
from faultclock.model.scenario.scenario import Role, Scenario
from faultclock.run.bind_scenario import bind_scenario, cannot_be_said
from faultclock.run.expand import crash_after
from faultclock.subjects.binding import Binding

_NEWER = "freeze the set of a new revision: python -m tests.certify.levels.freeze"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is run for one role, in the order of the set.

    Attributes:
        speaker: any binding of the role in the subject's dialects; it is never called.
        playable: what can be played in them.
        passed_over: what cannot, and why.
    """

    of: RoleSet
    speaker: Binding
    playable: tuple[LoadedScenario, ...]
    passed_over: tuple[PassedOver, ...]
    _spoken: dict[tuple[str, str | None], Scenario] = field(default_factory=dict, repr=False)

    @cached_property
    def written(self) -> dict[tuple[str, str | None], Scenario]:
        """Each scenario to run, by its id and variant."""
        return {
            (scenario.id, scenario.variant): scenario
            for item in self.playable
            for scenario in item.runnable
        }

    @cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """What the matrices among them come to."""
        return tuple(item.crossing for item in self.playable if item.crossing is not None)

    def of_ids(self, ids: tuple[str, ...]) -> tuple[Scenario, ...]:
        """Return those to run that have one of `ids`."""
        return tuple(item for item in self.written.values() if item.id in ids)

    def seeds(self, scenario: Scenario, *, hardened: bool) -> range:
        """Return the seeds that a scenario is run with."""
        count = scenario.seeds
        if hardened and scenario.id in self.of.hardening.jitter:
            count = max(count, self.of.hardening.jitter_seeds)
        return range(scenario.seed, scenario.seed + count)

    def played(self, scenario: Scenario, crash: int | None = None) -> Scenario:
        """Return a scenario as a trace has it, with a crash after that event."""
        if crash is not None:
            return bind_scenario(crash_after(scenario, crash), self.speaker)
        key = (scenario.id, scenario.variant)
        if key not in self._spoken:
            self._spoken[key] = bind_scenario(scenario, self.speaker)
        return self._spoken[key]


def role_set(set_: RequirementSet, role: Role) -> RoleSet:
    """Return what a set asks of a role.

    Raises:
        InputError: its model has no reference for that role, so it may not be possible to keep.
    """
    found = set_.roles.get(role)
    if found is None:
        known = " and ".join(sorted(set_.roles))
        raise InputError(
            f"there is no level of {set_.model} for the role {role}",
            hint=f"its requirement set has the role {known}: choose another model or subject",
        )
    return found


def select(
    set_: RequirementSet, model: ErrorModel, role: Role, dialects: tuple[str, ...]
) -> Selection:
    """Return what `set_` has run for a subject of `role` that speaks `dialects`.

    Raises:
        InputError: the model, under its readings, or a scenario is not what was frozen.
    """
    of = role_set(set_, role)
    if model_digest(model) != set_.model_digest:
        raise InputError(
            f"the model {model.id} is not the one of its requirement set {set_.revision}",
            hint=f"a level is of the default readings; if the model has changed, {_NEWER}",
        )
    speaker = _speaker(role, dialects)
    playable: list[LoadedScenario] = []
    passed_over: list[PassedOver] = []
    for item in _frozen(set_, of):
        reasons = (cannot_be_said(scenario, speaker) for scenario in item.runnable)
        reason = next((found for found in reasons if found is not None), None)
        if reason is None:
            playable.append(item)
        else:
            passed_over.append(PassedOver(scenario=item.scenario.id, because=reason))
    return Selection(
        of=of, speaker=speaker, playable=tuple(playable), passed_over=tuple(passed_over)
    )


def _frozen(set_: RequirementSet, of: RoleSet) -> Iterator[LoadedScenario]:
    shipped = shipped_scenarios()
    missing = [item.id for item in of.scenarios if item.id not in shipped]
    if missing:
        raise InputError(
            f"{missing[0]} is in the requirement set {set_.revision} of {set_.model}, and there"
            " is no such scenario",
            hint=_NEWER,
        )
    found = {
        item.scenario.id: item for item in find_scenarios(tuple(item.id for item in of.scenarios))
    }
    for entry in of.scenarios:
        item = found[entry.id]
        if scenarios_digest(item.runnable) != entry.digest:
            raise InputError(
                f"{entry.id} has changed since the requirement set {set_.revision} of {set_.model}",
                hint=f"take the change back, or {_NEWER}",
            )
        yield item


def _speaker(role: Role, dialects: tuple[str, ...]) -> Binding:
    def never_called(*_: object) -> None:
        raise AssertionError("this binding only names dialects; it is never called")

    return Binding(
        id="speaker", title="", role=role, style="sync", function=never_called, dialects=dialects
    )
