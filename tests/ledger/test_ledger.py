"""The ledger: a change of a run, of a finding or of a word is seen, and its digests are true."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from faultclock.sim.patches import installed
from tests.ledger.__main__ import differences, main, make
from tests.ledger.digests import FILE, digests_of, read_digests, total_of, write_digests
from tests.ledger.files import kept, read_rows, write_rows
from tests.ledger.judging import rows_of
from tests.ledger.plays import played, units
from tests.ledger.units import Unit

#: One unit of so many is played in the tests; `make ledger-diff PLAY=1` plays all.
_SHARES = {"log": 1, "wrong": 40, "explored": 40, "idle": 10}
_SMALL = Unit("wrong", "mini-ignores-retry-after")


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


def _drawn() -> list[Unit]:
    def number(unit: Unit) -> int:
        return int(sha256(unit.name.encode()).hexdigest()[:8], 16)

    return [
        unit
        for unit in units()
        if unit.source in _SHARES and number(unit) % _SHARES[unit.source] == 0
    ]


@pytest.mark.parametrize("unit", _drawn(), ids=lambda unit: f"{unit.source}/{unit.name}")
def test_what_is_played_comes_to_what_the_repository_says(unit: Unit) -> None:
    """Whoever means the change writes the new digests with `make ledger`."""
    known, _ = read_digests(FILE)
    assert digests_of(rows_of(played(unit))) == known[unit]


def test_each_unit_has_its_line_and_the_first_line_is_their_sum() -> None:
    """Only a client whose library is not installed here may be missing."""
    known, total = read_digests(FILE)
    here = set(units())
    assert here <= known.keys()
    assert {unit.source for unit in known.keys() - here} <= {"client", "explored"}
    assert total_of(known) == total


def test_digests_are_read_as_they_were_written(tmp_path: Path) -> None:
    """A line for each unit, and one for all."""
    known = {_SMALL: (2, "a", "b", "c"), Unit("log", "afk"): (1, "d", "e", "f")}
    write_digests(tmp_path / "digests.txt", known)
    assert read_digests(tmp_path / "digests.txt") == (known, total_of(known))


def test_stored_traces_come_to_the_same_rows(tmp_path: Path) -> None:
    """Judging them again needs no run."""
    unit, digests = make(tmp_path, _SMALL)
    assert digests[0] > 0
    assert differences(tmp_path, unit) == (unit, [], digests)
    assert differences(tmp_path, unit, play=True) == (unit, [], digests)


def test_nothing_to_compare_with_is_no_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fresh checkout keeps no traces."""
    monkeypatch.setattr("sys.argv", ["ledger", "diff", "--folder", str(tmp_path)])
    assert main() == 2
    assert "no traces are kept" in capsys.readouterr().out


@pytest.mark.parametrize("column", ["trace", "findings", "words"])
def test_a_difference_is_named_by_subject_scenario_and_column(tmp_path: Path, column: str) -> None:
    """With what is gone and what is new."""
    make(tmp_path, _SMALL)
    first, *others = read_rows(tmp_path, _SMALL).values()
    other = "0" if column == "trace" else ("other",)
    write_rows(tmp_path, _SMALL, [dataclasses.replace(first, **{column: other}), *others])
    _, lines, _ = differences(tmp_path, _SMALL)
    assert lines[0] == f"{column}: wrong {_SMALL.name}: {first.label}, by {first.model}"
    assert ("    - other" in lines) is (column != "trace")


def test_what_is_accepted_differs_no_more(tmp_path: Path) -> None:
    """A change that was meant becomes what is right."""
    _, digests = make(tmp_path, _SMALL)
    first, *others = read_rows(tmp_path, _SMALL).values()
    write_rows(tmp_path, _SMALL, [dataclasses.replace(first, words=("other",)), *others])
    _, lines, now = differences(tmp_path, _SMALL, accept=True)
    assert lines
    assert now == digests
    assert differences(tmp_path, _SMALL) == (_SMALL, [], digests)


def test_what_is_played_again_and_accepted_keeps_its_traces(tmp_path: Path) -> None:
    """The next judgement is of the runs that were accepted, and not of those before them."""
    _, digests = make(tmp_path, _SMALL)
    list(kept(tmp_path, _SMALL, ()))
    assert differences(tmp_path, _SMALL)[1], "the traces are gone"
    differences(tmp_path, _SMALL, play=True, accept=True)
    assert differences(tmp_path, _SMALL) == (_SMALL, [], digests)


def test_a_row_that_is_gone_or_new_is_named(tmp_path: Path) -> None:
    """A run that is not made any more is a difference, too."""
    make(tmp_path, _SMALL)
    first, *others = read_rows(tmp_path, _SMALL).values()
    write_rows(tmp_path, _SMALL, [dataclasses.replace(first, label="another"), *others])
    _, lines, _ = differences(tmp_path, _SMALL)
    assert sorted(line.partition(":")[0] for line in lines) == ["gone", "new"]
