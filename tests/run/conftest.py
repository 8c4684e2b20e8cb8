"""What tests of whole runs share: payloads, the model, bound subjects, small scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.scenario import Role, Scenario, scenario_of
from faultclock.run.prepare import prepare
from faultclock.sim.patches import installed
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject

Payloads = Mapping[str, ErrorPayload]


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield


@pytest.fixture(scope="session")
def model() -> ErrorModel:
    """The stud-cli error model at its default readings."""
    return load_error_model("stud-cli", {})


@pytest.fixture(scope="session")
def bound() -> Callable[[str], Binding]:
    """Return a subject by id, made ready once."""
    return cache(ready)


def ready(spec: str) -> Binding:
    """Return a subject, prepared only where that is of use: where each run has its own process."""
    binding = load_subject(spec)
    return binding if binding.inline else prepare(spec)


@cache
def shipped(role: Role = "provider_adapter") -> tuple[Scenario, ...]:
    """Return all shipped scenarios for subjects of one role, sorted by id."""
    found = (item for item in find_scenarios(()) if item.scenario.role == role)
    return tuple(scenario for item in found for scenario in item.runnable)


@cache
def loaded_model(id_: str) -> ErrorModel:
    """Return a shipped error model at its default readings, loaded once."""
    return load_error_model(id_)


@cache
def shipped_scenario(id_: str) -> Scenario:
    """Return one shipped scenario, loaded once."""
    (found,) = find_scenarios((id_,))
    return found.scenario


def small(**changes: Any) -> Scenario:
    """Return a scenario of one healthy call, changed as asked."""
    values: dict[str, Any] = {"id": "tests/small", "title": "Small", "why": "For a test."}
    return scenario_of(values | changes)


def limited(**headers: str) -> dict[str, Any]:
    """Return a provider script whose first answer is a 429."""
    then = {
        "kind": "http_error",
        "status": 429,
        "error": "rate_limit_exceeded",
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
    }
    return {"faults": [{"id": "limited", "when": {"attempts": 1}, "then": then}]}
