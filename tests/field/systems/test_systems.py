"""The real systems: their page is that of the figures, and the rows are those of today."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.field.systems.building import KODE, SYSTEMS, Missing, System, build, node_folder
from tests.field.systems.measuring import ROWS, Measured, logs
from tests.field.systems.page import PAGE, kept, page
from tests.field.systems.stories import Row, Story, Told, tell

#: A good turn, and one that fails, of each.
_TRIED = {"kode": ("told good", "told lacks-a-path"), "stud": ("yolo good", "yolo limited")}


def _built(system: System) -> dict[str, str]:
    if not (system.folder / "built.json").exists():
        pytest.skip(f"{system.title} is not built here: make real-systems {system.id.upper()}=…")
    try:
        node_folder(system)
    except Missing as error:
        pytest.skip(str(error))
    versions: dict[str, str] = json.loads((system.folder / "built.json").read_text("utf-8"))
    return versions


def test_the_page_is_that_of_the_figures() -> None:
    """`make real-systems` writes both."""
    assert PAGE.read_text("utf-8") == page()


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda it: it.id)
def test_every_sentence_has_a_verdict(system: System) -> None:
    """A row that is missing would be a claim, and one that does not stand still proves nothing."""
    measured = Measured.read(kept(system))
    assert list(measured.rows) == [row.says for row in ROWS[system.id]]
    assert "does not stand still" not in measured.rows.values()


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda it: it.id)
def test_nothing_escaped_and_nothing_differed(system: System) -> None:
    """A run that reached for what is not simulated would prove nothing."""
    measured = Measured.read(kept(system))
    assert not any(it.escapes or it.differ for it in (*measured.seams, measured.log))


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda it: it.id)
def test_the_rows_are_those_of_today(system: System) -> None:
    """Of each system that is built here, at the commit that was measured."""
    versions, measured = _built(system), Measured.read(kept(system))
    if not versions.items() <= measured.versions.items():
        pytest.skip(f"measured at {measured.versions['commit']}, {versions['commit']} is built")
    tried = _TRIED[system.id]
    told = tell(system, (), only=tried)
    rows = [row for row in ROWS[system.id] if row.runs and set(row.runs) <= set(tried)]
    assert rows
    assert {row.says: told.verdict(row) for row in rows} == {
        row.says: measured.rows[row.says] for row in rows
    }
    assert logs(system, told).runs == 2 * len(tried)


def test_what_is_no_checkout_is_refused(tmp_path: Path) -> None:
    """The message says where the system is, and at which commit."""
    with pytest.raises(
        Missing, match=rf"KODE SDK: .* {KODE.repository} of GitHub at {KODE.commit}"
    ):
        build(KODE, tmp_path)


def test_a_row_that_differs_by_its_network_claims_nothing() -> None:
    """Each situation is met twice."""
    stories = [Story(requests=it, ended="", said={}, escaped=False) for it in (1, 2)]
    row = Row(says="It asks once.", runs=("told good",), holds=lambda it: it.requests == 1)
    assert Told(by_run={"told good": stories}).verdict(row) == "does not stand still"
