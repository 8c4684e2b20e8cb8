"""Scenarios that need what a subject declares that it never does are not run, by name."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from faultclock.errors import SubjectError
from faultclock.load.scenario import find_scenarios
from faultclock.run.doctor.fitting import unplayable
from faultclock.run.prepare import prepare
from faultclock.subjects.abilities import Abilities
from faultclock.subjects.registry import load_subject
from tests.run.conftest import shipped_scenario


def test_a_declaration_leaves_out_what_needs_the_rest() -> None:
    """The reason names what it is about, and that the subject declares it."""
    asks = load_subject("reference")
    mute = replace(asks, abilities=Abilities(streams="never"))
    reasons = Counter(
        unplayable(scenario, mute)
        for item in find_scenarios(("rate-limits", "provider-transient"))
        for scenario in item.runnable
    )
    assert set(reasons) == {
        None,
        "it is about streams, and by its own declaration the target never asks for a stream",
    }
    assert reasons.total() - reasons[None] > 10
    stream = shipped_scenario("provider-transient/stream-reset")
    assert unplayable(stream, asks) is None


def test_what_the_api_cannot_say_comes_first() -> None:
    """It cannot be played, whatever is declared."""
    ollama = replace(load_subject("reference"), dialects=("ollama",))
    found = [unplayable(item.scenario, ollama) for item in find_scenarios(("rate-limits",))]
    assert any(reason is not None and reason.startswith("ollama has no") for reason in found)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("reference@no-streams", "it declares streams=False, and it asks for a stream"),
        ("reference@no-tools", "it declares tools=False"),
        ("reference-runtime@no-approvals", "it declares approvals=False, and it asks a person"),
        ("reference-runtime@no-tools", "it declares tools=False"),
    ],
)
def test_a_false_declaration_is_refused(spec: str, said: str) -> None:
    """It would leave out scenarios that the subject has to face."""
    with pytest.raises(SubjectError, match=said) as caught:
        prepare(spec)
    assert caught.value.hint is not None
    assert "take " in caught.value.hint


def test_without_a_healthy_run_nothing_is_left_out() -> None:
    """A declaration that nothing confirms must not hide what the subject does wrong."""
    assert prepare("mini-never-calls@no-streams,no-tools").abilities == Abilities()


def test_a_true_declaration_is_kept() -> None:
    """A healthy run shows no stream and no approval."""
    assert prepare("openai-agent@no-approvals").abilities == Abilities(approvals=False)
