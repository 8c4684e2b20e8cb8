"""Shared options say what is wrong with what they were given."""

from __future__ import annotations

import pytest

from faultclock.cli.options import parse_readings, require_subject
from faultclock.errors import InputError
from tests.cli.command_line import faultclock


def test_readings_are_pairs() -> None:
    """The same pair twice is the same wish."""
    assert parse_readings(("a=b", "c=d", "a=b")) == {"a": "b", "c": "d"}


@pytest.mark.parametrize("text", ["a", "=b", "a=", "="])
def test_what_is_no_pair_is_told(text: str) -> None:
    """With where the switches are listed."""
    with pytest.raises(InputError, match="is not SWITCH=OPTION"):
        parse_readings((text,))


def test_two_options_of_one_switch_are_told() -> None:
    """The last one must not win silently."""
    with pytest.raises(InputError, match="twice"):
        parse_readings(("a=b", "a=c"))


@pytest.mark.parametrize("spec", [None, ""])
def test_a_run_without_a_subject_says_how_to_name_one(spec: str | None) -> None:
    """It is the first thing that a new user meets."""
    with pytest.raises(InputError, match=r"path/to/my_adapter\.py:subject"):
        require_subject(spec)


@pytest.mark.parametrize(
    ("value", "words"), [("3", "'3' is not a duration"), ("0s", "longer than nothing")]
)
def test_a_wall_limit_is_a_duration(value: str, words: str) -> None:
    """A bare number has no unit."""
    result = faultclock("run", "--subject", "reference", "--wall-limit", value)
    assert result.exit_code == 2
    assert words in result.stderr


@pytest.mark.parametrize("limit", [("--wall-limit", "30s"), ("--memory-limit", "512")])
@pytest.mark.parametrize("command", ["run", "explore", "replay"])
def test_a_limit_needs_a_process_for_each_run(command: str, limit: tuple[str, str]) -> None:
    """What shares the process of the command cannot be ended without it."""
    result = faultclock(command, "x", "--subject", "reference", "--inline", *limit)
    assert result.exit_code == 2
    assert f"{limit[0]} ends the process of a run" in result.stderr
