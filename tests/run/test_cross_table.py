"""The cross table: by its own model each reference is right, and by every other one it is not.

`python -m tests.run.test_cross_table` writes the page anew; look at the difference before you
commit it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.files import write_text_atomically
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.run.prepare import prepare
from tests.run.cross_table import Cell, cross_table, cross_table_page

PAGE = Path(__file__).parents[2] / "docs" / "cross-table.md"
#: Model to the reference that is right by it.
OWN = {
    "stud-cli": "reference-runtime",
    "relavium": "reference-relavium",
    "afk": "reference-afk",
    "kode-sdk": "reference-kode-sdk",
    "error-matrix": "reference-error-matrix",
}


@cache
def _cells() -> tuple[Cell, ...]:
    return cross_table(
        [prepare(subject) for subject in OWN.values()],
        [load_error_model(model) for model in OWN],
        [item.scenario for item in find_scenarios(("shared",))],
    )


def _cell(subject: str, model: str) -> Cell:
    (found,) = (cell for cell in _cells() if (cell.subject, cell.model) == (subject, model))
    return found


def test_the_page_is_what_the_references_do_today() -> None:
    """A difference between two documents that appears or goes away is looked at by somebody."""
    assert PAGE.read_text("utf-8") == cross_table_page(_cells())


@pytest.mark.parametrize("model", OWN)
def test_a_reference_is_right_by_its_own_model(model: str) -> None:
    """In every shared scenario, and with nothing unproven."""
    cell = _cell(OWN[model], model)
    assert (cell.differences, cell.uncited) == ((), ())
    assert set(cell.totals) == {Verdict.PASS}


@pytest.mark.parametrize("model", OWN)
@pytest.mark.parametrize("own", OWN)
def test_a_reference_is_wrong_by_every_other_model(own: str, model: str) -> None:
    """And each thing that is held against it names the sentence that asks for it."""
    if own == model:
        return
    cell = _cell(OWN[own], model)
    assert cell.differences
    assert cell.uncited == ()


if __name__ == "__main__":
    write_text_atomically(PAGE, cross_table_page(_cells()))
