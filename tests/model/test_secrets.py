"""What has the shape of a secret is taken out."""

from __future__ import annotations

import pytest

from faultclock.model.secrets import SECRET, without_secrets


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcd1234efgh",
        "Bearer abcdefgh12345678",
        f"ghp_{'a1' * 18}",
        f"gsk_{'a1' * 18}",
        f"AIza{'a1' * 15}",
        f"AKIA{'A1' * 8}",
    ],
)
def test_a_secret_is_taken_out_and_the_rest_stays(secret: str) -> None:
    """Wherever in a sentence it stands."""
    assert without_secrets(f"refused: {secret}, sorry") == f"refused: {SECRET}, sorry"


@pytest.mark.parametrize(
    "text",
    [
        *("task-1", "risk-assessment-done", "Bearer of news", "ask-1234567890"),
        *("sk-learn-contrib", "pk-customer-orders", "Bearer authentication"),
        # A key has a digit among its first 200 characters: nothing is searched to its end.
        f"sk-{'a' * 201}7",
    ],
)
def test_words_that_only_resemble_one_stay(text: str) -> None:
    """A shape begins at a word's edge, is long enough, and has a digit."""
    assert without_secrets(text) == text
