"""What a target does in a healthy world."""

from __future__ import annotations

import pytest

from faultclock.run.abilities import abilities_of
from faultclock.run.probe import probe
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.registry import load_subject


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("reference", Abilities()),
        ("reference-sync", Abilities(cancels=False)),
        ("reference-tool", Abilities()),
        ("reference-runtime", Abilities(streams="always")),
    ],
)
def test_a_target_shows_what_it_does(subject: str, expected: Abilities) -> None:
    """What is not shown here is left out of the check by name."""
    assert abilities_of(probe(load_subject(subject))) == expected
