"""The field report: its page is that of the figures, and the figures are those of today."""

from __future__ import annotations

from datetime import date

import pytest

from tests.field.report import (
    AGENTS,
    MEASURED,
    PAGE,
    SITUATIONS,
    Measured,
    installed,
    measure,
    page,
)

#: The quick ones: a limit, a tool that hangs, a crash.
_TRIED = (
    "a 429 to every request",
    "a tool that never replies",
    "a crash between a tool's effect and its result",
)


def _kept(name: str) -> Measured:
    return Measured.read(MEASURED / f"{name}.json")


def test_the_page_is_that_of_the_figures() -> None:
    """`make field-report` writes both."""
    assert PAGE.read_text("utf-8") == page(tuple(_kept(name) for name in AGENTS))


def test_every_agent_was_in_every_situation() -> None:
    """A cell that is missing would be a claim."""
    wanted = list(SITUATIONS.values())
    assert all([cell.scenario for cell in _kept(name).cells] == wanted for name in AGENTS)


@pytest.mark.parametrize("name", AGENTS)
def test_the_figures_are_those_of_today(name: str) -> None:
    """Of each framework that is installed here, in the version that was measured."""
    if not installed(name):
        pytest.skip(f"{AGENTS[name][0]} is not installed")
    kept = _kept(name)
    now = measure(name, on=date(2026, 1, 1), situations=_TRIED)
    if now.versions != kept.versions:
        pytest.skip(f"measured with {kept.versions}, and {now.versions} is installed")
    of = {cell.scenario: cell for cell in kept.cells}
    assert list(now.cells) == [of[SITUATIONS[item]] for item in _TRIED]
