"""Requirement sets: the shipped ones, and the digests that everything in them is known by.

A digest is the SHA-256 of canonical JSON: equal meaning, equal digest, wherever it is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from faultclock.load.resources import file_of, ids_in, requirement_sets_root
from faultclock.load.yaml_file import load_yaml
from faultclock.model.canonical import digest_of
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.conformance import RequirementSet
from faultclock.model.scenario.scenario import Scenario, scenario_digest


def set_ids() -> tuple[str, ...]:
    """Return the ids of the error models that have a set, sorted."""
    return ids_in(requirement_sets_root())


def load_requirement_set(id_or_path: str | os.PathLike[str]) -> RequirementSet:
    """Return the set of a shipped error model, by the model's id, or the one in a YAML file.

    Raises:
        UnknownNameError: there is no set of that model.
        InputError: the file cannot be read.
        SourceError: it is no requirement set; every problem is in it.
    """
    file = file_of("requirement set", os.fspath(id_or_path), requirement_sets_root())
    return load_yaml(file, RequirementSet)


def set_digest(set_: RequirementSet) -> str:
    """Return the digest of a set; the sets before it are no part of what it is."""
    return digest_of(set_.model_dump(mode="json", exclude={"history"}))


def model_digest(model: ErrorModel) -> str:
    """Return the digest of all that an error model says, under the readings it was loaded with."""
    return digest_of(model.model_dump(mode="json"))


def requirement_digest(requirement: Requirement) -> str:
    """Return the digest of a sentence: its words, where it stands, its level and its checks."""
    return digest_of(requirement.model_dump(mode="json"))


def scenarios_digest(scenarios: Iterable[Scenario]) -> str:
    """Return the digest of what one file stands for: itself, or its variants in their order."""
    return digest_of([scenario_digest(scenario) for scenario in scenarios])
