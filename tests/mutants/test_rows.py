"""The files of rows: what is refused, and where; what is shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError
from faultclock.mutants.by_hand import BY_HAND
from faultclock.mutants.paths import holds, left_out, value_at, with_value
from faultclock.mutants.references import REFERENCES
from faultclock.mutants.registry import MUTANTS, mutants
from faultclock.mutants.rows import FOLDER

HEAD = "of: afk\nrows:\n  - {id: wrong, does: It is wrong, fails: a.check, shown_by: x,\n     "


def refused(tmp_path: Path, operator: str) -> str:
    """Return what is said of a file with one row that has this operator."""
    path = tmp_path / "rows.yaml"
    path.write_text(HEAD + operator + "}\n")
    with pytest.raises(SourceError) as caught:
        mutants(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("operator", "message"),
    [
        ("skip: wiat_s", "rows.yaml:3:5: wrong: there is no step 'wiat_s'; did you mean 'wait_s'?"),
        ("skip: braker.good", "there is no part 'braker'; did you mean 'breaker'?"),
        ("tune: {atempts_max: 2}", "no constant 'atempts_max'; did you mean 'attempts_max'?"),
        ("skip: {step: warn, where: {pear: 1}}", "no argument 'pear'; did you mean 'pair'?"),
        (
            "again: {step: warn, upon: Endet}",
            "there is no exception 'Endet'; did you mean 'Ended'?",
        ),
        (
            "skip: {step: warn, were: {pair: 1}}",
            "4:25: unknown key `were`\n  did you mean `where`?",
        ),
        (
            "raise: {step: warn, upon: Endet, error: {Ended: {}}}",
            "there is no exception 'Endet'; did you mean 'Ended'?",
        ),
        ("return: {step: warn, taken: pear}", "no argument 'pear'; did you mean 'pair'?"),
        ("delay: {step: warn}", "either 'by_s' or 'until'"),
        ("emit: {event: over}", "either 'before' or 'behind' a step"),
        ("origin: a/b#1", "a wrong subject needs an operator"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_column(
    tmp_path: Path, operator: str, message: str
) -> None:
    """A row that names what is not there would change nothing."""
    said = refused(tmp_path, operator)
    assert message in said
    assert "rows.yaml:" in said


def test_a_reference_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The hint has those that are."""
    path = tmp_path / "rows.yaml"
    path.write_text("of: akf\nrows: []\n")
    with pytest.raises(SourceError, match=r"rows\.yaml:1:5: there is no reference 'akf'"):
        mutants(path)


def test_events_need_a_reference_that_declares_some(tmp_path: Path) -> None:
    """A provider adapter has no event bus."""
    path = tmp_path / "rows.yaml"
    path.write_text(
        "of: adapters\nrows:\n  - {id: a, does: It, fails: b, shown_by: x, drop: over}\n"
    )
    with pytest.raises(SourceError, match="this reference declares no events"):
        mutants(path)


def test_each_reference_has_its_file_of_rows() -> None:
    """And no file is left over."""
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(REFERENCES)


def test_no_wrong_subject_is_a_row_and_code() -> None:
    """One of the two would be hidden by the other."""
    rows = [id_ for name in REFERENCES for id_ in mutants(FOLDER / f"{name}.yaml")]
    assert len(rows) == len(set(rows))
    assert not set(rows) & BY_HAND.keys()
    assert len(MUTANTS) == len(rows) + len(BY_HAND)


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        ([1, "a"], (1, "a"), True),
        ({"in": ["a", "b"]}, "b", True),
        ({"not": None}, 0, True),
        ({"has": "Limit"}, "a rate limit", True),
        ({"lacks": "limit"}, "a quota", True),
        ({"has": "limit"}, {"limit": 1}, True),
        ({"has": "limit"}, None, False),
        ({"above": 2, "below": 4}, 3, True),
        ({"above": 2, "below": 4}, 4, False),
        ({"above": 2}, None, False),
        ({"above": 60}, "61.5", True),
        ({"above": 60}, "soon", False),
        ({"is": False}, "", True),
        ({"kind": "x"}, {"kind": "x"}, True),
    ],
)
def test_a_condition_is_a_constant_or_tests(
    condition: object, value: object, expected: bool
) -> None:
    """A mapping whose keys are no tests is a constant."""
    assert holds(condition, value) is expected


def test_a_path_goes_through_keys_places_attributes_and_methods() -> None:
    """What is not there is None."""
    value = {"a": ("x", {"b": "y z"})}
    assert value_at(value, "a.1.b.split()") == ["y", "z"]
    assert value_at(value, "a.7.b") is None
    assert value_at(value, "c.split()") is None
    assert value_at({b"key": ["x", "y"]}, "key.-1") == "y"
    assert with_value(value, "a.0", 5) == {"a": (5, {"b": "y z"})}
    assert with_value({"a": [1]}, "a", (2,)) == {"a": [2]}
    assert with_value({"a": [1, 2]}, "a.-1", 3) == {"a": [1, 3]}


def test_a_key_or_a_place_is_left_out() -> None:
    """What is not there is left out already."""
    assert left_out({"a": {"b": 1, "c": 2}}, "a.b") == {"a": {"c": 2}}
    assert left_out({"a": (1, 2)}, "a.-1") == {"a": (1,)}
    assert left_out({"a": [1]}, "a.5") == {"a": [1]}
    assert left_out({"a": 1}, "b") == {"a": 1}
