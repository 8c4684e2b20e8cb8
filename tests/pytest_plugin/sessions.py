"""Runs pytest inside of a test, with the plugin, whether or not it is installed here.

A bench takes a second to import what it runs scenarios with, and this process has it already: so
here benches are forked from it. That one that is started by itself makes the same trace is shown
by `test_the_replay_line_makes_the_same_trace`.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

# Imported before any inner session: what one imports first is forgotten after it, and would be
# imported again by each.
import faultclock.pytest_plugin.bench.judging
import faultclock.pytest_plugin.playing
import faultclock.pytest_plugin.provider
import faultclock.pytest_plugin.simulation  # noqa: F401
from faultclock.cli.options import DEFAULT_MODEL
from faultclock.load.error_model import load_error_model
from faultclock.pytest_plugin.bench.client import Bench
from faultclock.subjects.registry import catalog
from tests.warm.benches import forked

#: How an inner session comes by the plugin, and by no other: each would import what it needs anew.
#: That an installation has it by its entry point is shown by `test_it_can_be_switched_off…`.
PLUGIN = ("--disable-plugin-autoload", "-p", "faultclock.pytest_plugin")


def project(pytester: pytest.Pytester, *lines: str, also: Iterable[str] = ()) -> None:
    """Write a pyproject.toml with these lines of `[tool.faultclock]`, and others of pytest's."""
    text = "\n".join(["[tool.faultclock]", *lines, "[tool.pytest.ini_options]", *also])
    pytester.makefile(".toml", pyproject=text)


def inner(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run a session in this process; every warning is an error in it.

    But one: what this process has imported already, pytest cannot compile as it would.
    """
    ignored = "ignore::pytest.PytestAssertRewriteWarning"
    return pytester.runpytest_inprocess(*PLUGIN, "-W", "error", "-W", ignored, *words)


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    """Return how many tests came out how."""
    return result.parseoutcomes()


@pytest.fixture
def forked_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every bench of this process forked from it, which has read what each would read."""
    catalog()
    load_error_model(DEFAULT_MODEL)
    monkeypatch.setattr(Bench, "_spawned", forked)
