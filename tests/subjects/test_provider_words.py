"""What an error object of a provider says, without a status that would decide."""

from __future__ import annotations

import pytest

from faultclock.subjects.provider_words import said

ANSWERS = {"limit": "wait", "server": "try again"}


def _by_status(status: int) -> str | None:
    return "wait" if status == 429 else None


@pytest.mark.parametrize(
    ("code", "type_", "answer"),
    [
        ("rate_limit_exceeded", None, "wait"),
        ("rate_limit_exceeded", "server_error", "wait"),
        (None, "server_error", "try again"),
        ("of_their_own", "server_error", "try again"),
        ("429", "server_error", "wait"),
        (429, None, "wait"),
        ("418", "server_error", None),
        # Known, though this document has no answer to it: the type is not looked at.
        ("invalid_api_key", "server_error", None),
        ("of_their_own", "of_their_own", None),
        (None, None, None),
    ],
)
def test_the_code_decides_and_the_type_where_the_code_says_nothing(
    code: str | int | None, type_: str | None, answer: str | None
) -> None:
    """A code that is a number is the status that the provider means, unless it is a name."""
    assert said(code, type_, ANSWERS, _by_status) == answer


def test_a_number_can_be_the_name_of_a_limit() -> None:
    """1300 is Mistral's, and no status."""
    assert said("1300", None, ANSWERS, _by_status) == "wait"
