"""The pytest plugin: scenarios as tests, and fixtures for tests on the simulated clock.

    hooks       what pytest calls
    items       scenario files and configured scenarios as test items
    fixtures    `sim`, `fake_provider`, `subject` and `scenario`
    settings    what counts here: options, and `[tool.faultclock]`
    simulation, provider, playing    what the fixtures give; imported when a test asks for one

What a session without scenarios imports of it is this much, and pytest. The types that the
fixtures have are here by name, for annotations. Our own assertions are no business of a person's
tests: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from faultclock.pytest_plugin.fixtures import fake_provider, scenario, sim, subject
from faultclock.pytest_plugin.hooks import (
    pytest_addoption,
    pytest_collect_file,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
    pytest_runtest_call,
    pytest_terminal_summary,
    pytest_unconfigure,
)

if TYPE_CHECKING:
    from faultclock.pytest_plugin.playing import BoundSubject, PlayableScenario, Played, Scenarios
    from faultclock.pytest_plugin.provider import Exchange, ScriptedProvider
    from faultclock.pytest_plugin.simulation import Simulation, StoppedError, UnsimulatedError

__all__ = [
    "BoundSubject",
    "Exchange",
    "PlayableScenario",
    "Played",
    "Scenarios",
    "ScriptedProvider",
    "Simulation",
    "StoppedError",
    "UnsimulatedError",
    "fake_provider",
    "pytest_addoption",
    "pytest_collect_file",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_report_header",
    "pytest_runtest_call",
    "pytest_terminal_summary",
    "pytest_unconfigure",
    "scenario",
    "sim",
    "subject",
]

_HOMES = {
    "BoundSubject": "playing",
    "Exchange": "provider",
    "PlayableScenario": "playing",
    "Played": "playing",
    "Scenarios": "playing",
    "ScriptedProvider": "provider",
    "Simulation": "simulation",
    "StoppedError": "simulation",
    "UnsimulatedError": "simulation",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"faultclock.pytest_plugin.{_HOMES[name]}"), name)
