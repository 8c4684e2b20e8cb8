"""Requirement sets are read strictly, and known by digests that nothing but meaning changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError, UnknownNameError
from faultclock.load.error_model import load_error_model
from faultclock.load.requirement_set import (
    load_requirement_set,
    model_digest,
    requirement_digest,
    scenarios_digest,
    set_digest,
    set_ids,
)
from faultclock.load.resources import requirement_sets_root
from faultclock.load.scenario import find_scenarios

SMALLEST = "kode-sdk"


def text_of(id_: str) -> str:
    """Return the file of a shipped set."""
    return (requirement_sets_root() / f"{id_}.yaml").read_text("utf-8")


def written(folder: Path, text: str) -> Path:
    """Write a set as a person's own file."""
    path = folder / "mine.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_shipped_set_is_found_by_its_model() -> None:
    """The id of the model is the name of its set, and a near name is offered."""
    assert load_requirement_set(SMALLEST).model == SMALLEST
    with pytest.raises(UnknownNameError, match="unknown requirement set") as told:
        load_requirement_set("kode")
    assert SMALLEST in str(told.value)


def test_a_file_gives_the_same_set(tmp_path: Path) -> None:
    """The digest is of what a set says, not of its comments or the order of its lines."""
    text = text_of(SMALLEST)
    lines = text.splitlines()
    moved = "\n".join(["# another comment", *lines[2:3], lines[1], *lines[3:]])
    found = load_requirement_set(written(tmp_path, moved))
    assert set_digest(found) == set_digest(load_requirement_set(SMALLEST))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("revision: 3\n", "revision: 0\n", ":4:11: "),
        ("revision: 3\n", "revision: 5\n", "history"),
        ("model: kode-sdk\n", "model: kode-sdk\nmodle: x\n", ":3:1: "),
        ("model_digest: ", "model_digest: z", ":5:15: "),
        ("      jitter_seeds: 64", "      jitter_seeds: many", "jitter_seeds"),
    ],
)
def test_a_file_that_is_no_set_is_refused_with_its_place(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    """Line and column of what is wrong, as everywhere."""
    text = text_of(SMALLEST)
    # The second line is the first of the set: the model's own revision is another thing.
    changed = text.replace(f"\n{old}" if not old.startswith(" ") else old, f"\n{new}", 1)
    if old.startswith(" "):
        changed = text.replace(old, new, 1)
    assert changed != text
    with pytest.raises(SourceError) as told:
        load_requirement_set(written(tmp_path, changed))
    assert says in str(told.value)


def test_a_digest_follows_the_meaning() -> None:
    """Another reading, another word or another seed is another digest."""
    model = load_error_model("stud-cli")
    read = load_error_model("stud-cli", {"cut-answers": "unmapped"})
    assert model_digest(model) != model_digest(read)
    first = model.requirements[0]
    changed = first.model_copy(update={"sentence": first.sentence + "!"})
    assert requirement_digest(first) != requirement_digest(changed)
    (found,) = find_scenarios(("rate-limits/retry-after-integer",))
    other = found.scenario.model_copy(update={"seed": 7})
    assert scenarios_digest((found.scenario,)) != scenarios_digest((other,))


def test_the_past_of_a_set_is_no_part_of_it() -> None:
    """A set that got a history is still the same set."""
    set_ = load_requirement_set(set_ids()[0])
    data = set_.model_dump(mode="json") | {"revision": 9}
    first, other = (
        type(set_).model_validate(
            {
                **data,
                "history": [{"revision": number, "digest": digit * 64} for number in range(1, 9)],
            }
        )
        for digit in "01"
    )
    assert set_digest(first) == set_digest(other)
    assert set_digest(first) != set_digest(set_)
