"""One file, many scenarios: every combination is there, and a mistake names its combination."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.errors import SourceError
from faultclock.load.matrix import merged
from faultclock.load.scenario import LoadedScenario, find_scenarios

BASE = """\
id: mine/crossed
title: A title
why: A reason
role: runtime
tools: [{name: write_file, gated: true}]
matrix:
  axes:
    state:
      shown: {define: {now: {kind: interaction.shown}}}
      running: {define: {now: {kind: tool.called}}}
    event:
      cancel: {merge: {cancels: [{id: stop, scope: turn, when: {on: $now}}]}}
      crash: {merge: {crashes: [{id: kill, on: $now}]}}
"""


def loaded(tmp_path: Path, text: str) -> LoadedScenario:
    """Return what a file with `text` loads as."""
    file = tmp_path / "crossed.yaml"
    file.write_text(text, "utf-8")
    (item,) = find_scenarios((str(file),))
    return item


def problem(tmp_path: Path, text: str) -> str:
    """Return the one problem of a file with `text`."""
    with pytest.raises(SourceError) as caught:
        loaded(tmp_path, text)
    return str(caught.value.problems[0])


def test_every_combination_is_a_scenario_with_its_name(tmp_path: Path) -> None:
    """Two states times two events make four."""
    item = loaded(tmp_path, BASE)
    assert [scenario.variant for scenario in item.runnable] == [
        "state=shown, event=cancel",
        "state=shown, event=crash",
        "state=running, event=cancel",
        "state=running, event=crash",
    ]
    assert item.crossing is not None
    assert (item.crossing.cells, item.crossing.run) == (4, 4)


def test_what_one_axis_defines_another_one_uses(tmp_path: Path) -> None:
    """The moment belongs to the state, what happens then to the event."""
    item = loaded(tmp_path, BASE)
    triggers = [
        scenario.cancel_rules[0].when.on for scenario in item.variants if scenario.cancel_rules
    ]
    assert [trigger.kind for trigger in triggers if trigger] == ["interaction.shown", "tool.called"]
    assert all(scenario.matrix is None for scenario in item.variants)


def test_a_combination_that_cannot_be_is_left_out_with_its_reason(tmp_path: Path) -> None:
    """It is counted and named, never dropped in silence."""
    text = BASE + "  omit: [{where: {state: running, event: [crash]}, because: no such thing}]\n"
    item = loaded(tmp_path, text)
    assert item.crossing is not None
    assert item.crossing.omitted == (("state=running, event=crash", "no such thing"),)
    assert len(item.variants) == item.crossing.run == 3


def test_a_combination_that_is_no_scenario_is_told_by_its_name(tmp_path: Path) -> None:
    """The message has the place of the matrix and the name of the combination."""
    told = problem(tmp_path, BASE.replace("scope: turn", "scope: galaxy"))
    assert "crossed.yaml:8:" in told
    assert "with state=shown, event=cancel: cancels.0.scope" in told


@pytest.mark.parametrize(
    ("omit", "words"),
    [
        ("{where: {mood: x}, because: y}", "unknown axis 'mood'"),
        ("{where: {state: gone}, because: y}", "has no choice 'gone'"),
        ("{where: {state: [shown, running]}, because: y}", "every combination is left out"),
    ],
)
def test_an_omission_names_what_exists(tmp_path: Path, omit: str, words: str) -> None:
    """A typo would leave out nothing, or everything."""
    assert words in problem(tmp_path, BASE + f"  omit: [{omit}]\n")


def test_a_combination_keeps_the_id_of_its_file(tmp_path: Path) -> None:
    """Else the command that repeats its run would name a scenario that is nowhere."""
    other = BASE.replace("{merge: {cancels:", "{merge: {id: other/one, cancels:")
    assert "the id becomes 'other/one'" in problem(tmp_path, other)


def test_a_file_cannot_call_itself_a_variant(tmp_path: Path) -> None:
    """Variants are made, not written."""
    text = BASE.split("matrix:", 1)[0] + "variant: mine\n"
    assert "`variant` is set by Faultclock alone" in problem(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("running: {define: {now: {kind: tool.called}}}", "running: {}"),
        ("define: {now: {kind: tool.called}}", "define: {now: $then, then: $now}"),
    ],
)
def test_a_name_that_nothing_defines_is_told(tmp_path: Path, old: str, new: str) -> None:
    """Left as it is, it would be taken for a text; and no definition may lead back to itself."""
    told = problem(tmp_path, BASE.replace(old, new))
    assert "with state=running, event=cancel: nothing defines `$now`" in told


_JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_merging_changes_neither_side(base: Any, change: Any) -> None:
    """Combinations share the base: what one changes, no other may see."""
    before = (repr(base), repr(change))
    both = merged(base, change)
    assert (repr(base), repr(change)) == before
    if isinstance(both, dict) and isinstance(base, dict) and isinstance(change, dict):
        assert both.keys() == base.keys() | change.keys()


def test_a_mapping_inside_a_mapping_is_merged_and_a_list_is_added_to() -> None:
    """A choice that changes one field of the provider leaves the others as they are."""
    base = {"provider": {"reply": "yes", "faults": [1]}, "seeds": 1}
    change = {"provider": {"faults": [2]}, "seeds": 2}
    assert merged(base, change) == {"provider": {"reply": "yes", "faults": [1, 2]}, "seeds": 2}
