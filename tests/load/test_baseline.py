"""Baseline files: each mistake is told at its place, and what exists is known without a run."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from faultclock.errors import SourceError
from faultclock.load.baseline import known_scenarios, load_baseline, parse_baseline
from faultclock.load.scenario import find_scenarios, shipped_scenarios
from faultclock.model.report.gate import Baseline, Deviation

HEAD = "subject: s\nmodel: stud-cli\ndeviations:\n"
ENTRY = """\
  - scenario: f/one
    check: backoff.wait
    reason: a reason
    owner: me
    expires: 2027-01-31
"""


def test_a_baseline_is_read_from_its_file(tmp_path: Path) -> None:
    """Days are written as such, with or without quotes."""
    path = tmp_path / "known.yaml"
    path.write_text(
        HEAD + ENTRY + ENTRY.replace("f/one", "f/two").replace("2027-01-31", "'2028-02-29'")
    )
    first, second = load_baseline(path).deviations
    assert (first.scenario, first.requirement, first.expires) == ("f/one", None, date(2027, 1, 31))
    assert second.expires == date(2028, 2, 29)


def test_a_baseline_may_be_empty() -> None:
    """So a team can begin with the gate shut against everything."""
    assert parse_baseline(b"subject: s\nmodel: m\n", "b.yaml").deviations == ()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ENTRY.replace("check", "chek"), "b.yaml:5:5: unknown key `chek`"),
        (ENTRY.replace("2027-01-31", "2027-02-30"), "b.yaml:8:14: `expires`"),
        (ENTRY.replace("2027-01-31", "20270131"), "b.yaml:8:14: `expires`"),
        (ENTRY.replace("a reason", '""'), "b.yaml:6:13: `reason` is empty"),
        (ENTRY.replace("owner: me", "owner: ' '"), "b.yaml:7:12: `owner` is blank"),
        (ENTRY.replace("    owner: me\n", ""), "the key `owner` is missing"),
        (ENTRY + ENTRY, "b.yaml:9:5: this says what line 4 says already"),
        (
            ENTRY + ENTRY.replace("    reason", "    requirement: R\n    reason"),
            "b.yaml:9:5: this says nothing new: line 4 covers more",
        ),
        (
            ENTRY.replace("    reason", "    variant: x=1\n    reason") + ENTRY,
            "b.yaml:4:5: this says nothing new: line 10 covers more",
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(entry: str, message: str) -> None:
    """With the line of the other entry, where there are two."""
    with pytest.raises(SourceError) as caught:
        parse_baseline((HEAD + entry).encode(), "b.yaml")
    assert message in str(caught.value)


def test_entries_that_overlap_in_part_are_two_entries() -> None:
    """Neither covers the other: each may end on a day of its own."""
    variant = ENTRY.replace("    reason", "    variant: x=1\n    reason")
    requirement = ENTRY.replace("    reason", "    requirement: R\n    reason")
    assert len(parse_baseline((HEAD + variant + requirement).encode(), "b").deviations) == 2


def baseline_of(scenario: str, **changes: str) -> Baseline:
    """Return a baseline with one entry."""
    entry = Deviation(
        **{
            "scenario": scenario,
            "check": "c",
            "reason": "r",
            "owner": "o",
            "expires": date(2027, 1, 1),
            **changes,
        }
    )
    return Baseline(subject="s", model="m", deviations=(entry,))


def test_shipped_scenarios_are_known_with_their_variants_where_these_are_named() -> None:
    """Files are opened for no other reason."""
    shipped = shipped_scenarios()
    crossed = next(item for item in find_scenarios(("error-matrix",)) if item.variants)
    plain = known_scenarios(baseline_of("f/one"))
    assert plain.keys() == shipped.keys()
    assert not any(plain.values())
    named = known_scenarios(baseline_of(crossed.scenario.id, variant="x"))
    assert named[crossed.scenario.id] == {item.variant for item in crossed.variants}


def test_scenarios_beside_the_selected_ones_are_known(tmp_path: Path) -> None:
    """One that was not selected is not one that does not exist."""
    for name in ("one", "two"):
        path = tmp_path / "scenarios" / "own" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shipped_text(f"own/{name}"))
    found = find_scenarios((str(tmp_path / "scenarios" / "own" / "one.yaml"),))
    assert "own/two" in known_scenarios(baseline_of("own/two"), found)
    assert "own/two" not in known_scenarios(baseline_of("own/two"))
    assert "own/two" in known_scenarios(baseline_of("own/two"), folders=[tmp_path / "scenarios"])
    assert "own/two" not in known_scenarios(baseline_of("own/two"), folders=[tmp_path / "none"])


def shipped_text(id_: str) -> str:
    """Return a shipped scenario's text under another id."""
    shipped = shipped_scenarios()
    text = Path(shipped["rate-limits/retry-after-zero"]).read_text()
    return text.replace("rate-limits/retry-after-zero", id_)
