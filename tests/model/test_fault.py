"""Fault rules are closed, typed data."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from faultclock.model.scenario.fault import FaultRule, Trigger


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (4, [4], [3, 5]),
        ("2", [2], [1, 3]),
        ("1-6", [1, 6], [7]),
        ("3+", [3, 900], [2]),
        ("every", [1, 900], []),
    ],
)
def test_an_attempt_range_holds_exactly_its_numbers(
    text: object, inside: list[int], outside: list[int]
) -> None:
    """All four forms of the field."""
    trigger = Trigger.model_validate({"attempts": text})
    assert all(number in trigger.attempts for number in inside)
    assert not any(number in trigger.attempts for number in outside)


@pytest.mark.parametrize("text", ["0", "6-1", "1-", "-3", "all", True, "1,2", 1.5])
def test_a_range_that_means_nothing_is_refused(text: object) -> None:
    """An empty range would be a fault that nobody can meet."""
    with pytest.raises(ValidationError):
        Trigger.model_validate({"attempts": text})


@pytest.mark.parametrize("text", [2, "1-6", "3+", "every"])
def test_a_range_is_written_as_it_was_read(text: object) -> None:
    """A trace carries its scenario, and must read it back the same."""
    trigger = Trigger.model_validate({"attempts": text})
    assert trigger.model_dump(mode="json")["attempts"] == text


def test_a_truncation_names_exactly_one_place() -> None:
    """Neither place, or both, would leave the Fate open."""
    for places in ({}, {"after_chunks": 1, "after_body_bytes": 1}):
        with pytest.raises(ValidationError, match="exactly one"):
            FaultRule.model_validate(
                {"id": "cut", "then": {"kind": "truncate", "how": "eof", **places}}
            )


def test_a_clean_end_is_for_streams() -> None:
    """A body with a length cannot end properly before its end."""
    with pytest.raises(ValidationError, match="streams"):
        FaultRule.model_validate(
            {"id": "c", "then": {"kind": "truncate", "how": "clean_end", "after_body_bytes": 3}}
        )


def test_an_unknown_field_of_a_fault_is_refused() -> None:
    """A typo must not become a fault that does nothing."""
    with pytest.raises(ValidationError):
        FaultRule.model_validate({"id": "x", "then": {"kind": "dns_failure", "hots": "a"}})


@pytest.mark.parametrize(
    "window", [{"from_time": "20s", "until_time": "10s"}, {"until_time": "0s"}]
)
def test_a_window_that_is_over_before_it_begins_is_refused(window: dict[str, str]) -> None:
    """The fault could never fire."""
    with pytest.raises(ValidationError, match="could never fire"):
        Trigger.model_validate(window)
