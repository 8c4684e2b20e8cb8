"""Requirement sets: the shipped ones, and the digests that everything in them is known by.

A digest is the SHA-256 of canonical JSON: equal meaning, equal digest, wherever it is read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faultclock.errors import UnknownNameError
from faultclock.load.resources import requirement_sets_root
from faultclock.load.yaml_file import load_yaml
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.conformance import RequirementSet
from faultclock.model.scenario.scenario import Scenario, scenario_digest

_SUFFIXES = (".yaml", ".yml")


def set_ids() -> tuple[str, ...]:
    """Return the ids of the error models that have a set, sorted."""
    return tuple(sorted(path.stem for path in requirement_sets_root().glob("*.yaml")))


def load_requirement_set(id_or_path: str | os.PathLike[str]) -> RequirementSet:
    """Return the set of a shipped error model, by the model's id, or the one in a YAML file.

    Raises:
        UnknownNameError: there is no set of that model.
        InputError: the file cannot be read.
        SourceError: it is no requirement set; every problem is in it.
    """
    name = os.fspath(id_or_path)
    shipped = set_ids()
    if name in shipped:
        return load_yaml(requirement_sets_root() / f"{name}.yaml", RequirementSet)
    if name.endswith(_SUFFIXES) or Path(name).is_file():
        return load_yaml(id_or_path, RequirementSet)
    raise UnknownNameError("requirement set", name, shipped)


def set_digest(set_: RequirementSet) -> str:
    """Return the digest of a set; the sets before it are no part of what it is."""
    return _digest(set_.model_dump(mode="json", exclude={"history"}))


def model_digest(model: ErrorModel) -> str:
    """Return the digest of all that an error model says, under the readings it was loaded with."""
    return _digest(model.model_dump(mode="json"))


def requirement_digest(requirement: Requirement) -> str:
    """Return the digest of a sentence: its words, where it stands, its level and its checks."""
    return _digest(requirement.model_dump(mode="json"))


def scenarios_digest(scenarios: Iterable[Scenario]) -> str:
    """Return the digest of what one file stands for: itself, or its variants in their order."""
    return _digest([scenario_digest(scenario) for scenario in scenarios])


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
