"""What differs between two sessions is named, each thing once, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.history.differences import differences
from faultclock.model.report.session import SessionScenario
from tests.history.made_up import DIGEST, ID, settings, subject

_TWO = (SessionScenario(scenario="a", digest="1"), SessionScenario(scenario="b", digest="2"))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ()),
        ({"command": "run"}, ("command explore -> run",)),
        ({"subject": subject("other", source_digest=None)}, ("subject mine -> other",)),
        (
            {"subject": subject(source_digest=None)},
            ("the source of mine (555555555555 -> none)",),
        ),
        (
            {"subject": subject(distributions={"httpx2": "2.1"})},
            ("httpx2 none -> 2.1", "openai 3.52.0 -> none"),
        ),
        ({"subject": subject(declares=("audit",))}, ("what mine declares",)),
        ({"model": "afk", "model_revision": "7"}, ("model stud-cli -> afk",)),
        ({"model_revision": "2"}, ("revision of stud-cli 1 -> 2",)),
        ({"model_digest": "f"}, ("the text of model stud-cli, in the same revision",)),
        ({"readings": {"x": "y"}}, ("reading x none -> y",)),
        ({"build": "c" * 64}, ("the source of Faultclock (bbbbbbbbbbbb -> cccccccccccc)",)),
        (
            {"versions": {"faultclock": "0.2.0", "python": "3.11.2"}},
            ("faultclock 0.1.0 -> 0.2.0",),
        ),
        ({"seed": None, "runs": 7}, ("seed 0 -> none", "runs 100 -> 7")),
        (
            {"options": {"schedules": "pct"}},
            ("schedules random, pct, fifo -> pct",),
        ),
        ({"scenarios": _TWO}, ("new: a, and 1 more", f"left out: {ID}")),
        (
            {"scenarios": (SessionScenario(scenario=ID, digest="d2"),)},
            (f"edited: {ID}",),
        ),
    ],
)
def test_each_difference_has_its_words(fields: dict[str, Any], words: tuple[str, ...]) -> None:
    """One field changed, one thing said; and then the digests differ."""
    old, new = settings(), settings(**fields)
    assert differences(old, new) == words
    assert (old.digest == new.digest) is (not words)


def test_the_order_of_the_scenarios_counts() -> None:
    """Runs go round in it, so that a time limit cuts them there."""
    old, new = settings(scenarios=_TWO), settings(scenarios=_TWO[::-1])
    assert differences(old, new) == ("the order of the scenarios",)


def test_parts_of_the_settings_count_where_they_should() -> None:
    """A trace follows from subject and versions, a verdict from the model, a draw from the seed."""
    old = settings()
    changed = {
        "world": settings(subject=subject(source_digest=None)),
        "judge": settings(readings={"x": "y"}),
        "drawn": settings(seed=1),
    }
    for part, new in changed.items():
        differing = {name for name in changed if getattr(old, name) != getattr(new, name)}
        assert differing == {part}
    assert old.world != settings(build="c").world
    assert old.judge != settings(build="c").judge
    assert old.drawn == settings(runs=7).drawn
    assert old.scenarios[0].digest == DIGEST
