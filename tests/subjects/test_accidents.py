"""An accident is what an operation raised; what a `raise` statement raised is a decision."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Callable

import pytest

from faultclock.sim.patches import install
from faultclock.sim.world import World
from faultclock.subjects.accidents import is_accident
from faultclock.subjects.outcome import describe_exception


def _subscript() -> object:
    return {}["choices"]


def _call() -> object:
    return float("soon")


def _none() -> object:
    return (lambda: None)().text  # type: ignore[attr-defined]


def _date() -> object:
    return email.utils.parsedate_to_datetime("soon")


def _decode() -> object:
    return json.loads("<html>")


def _raised() -> object:
    raise ValueError("the provider answered 400")


def _raised_from() -> object:
    try:
        return {}["choices"]
    except KeyError as error:
        raise ValueError("the answer has no choices") from error


def _again() -> object:
    try:
        raise ValueError("no")
    except ValueError:
        raise


class _OwnError(ValueError):
    pass


def _own() -> object:
    raise _OwnError


def caught(function: Callable[[], object]) -> Exception:
    """Return what `function` raises."""
    with pytest.raises(Exception) as found:  # noqa: PT011 - each raises something else
        function()
    return found.value


@pytest.mark.parametrize("function", [_subscript, _call, _none, _date, _decode])
def test_what_an_operation_raises_is_an_accident(function: Callable[[], object]) -> None:
    """Also when Python's own library has the `raise` statement."""
    error = caught(function)
    assert is_accident(error)
    assert describe_exception(error)[0]["accident"] is True


@pytest.mark.parametrize("function", [_raised, _raised_from, _again, _own])
def test_what_is_raised_on_purpose_is_none(function: Callable[[], object]) -> None:
    """Of whatever type; a trace of it is as it always was."""
    error = caught(function)
    assert not is_accident(error)
    assert "accident" not in describe_exception(error)[0]


def test_a_stand_in_raises_as_the_original_does() -> None:
    """A negative sleep in a simulated world is as much an accident as in the real one."""
    failed: list[Exception] = []

    def main() -> None:
        try:
            time.sleep(-1)
        except ValueError as error:
            failed.append(error)

    install()
    World(seed=0).run(main)
    (error,) = failed
    assert is_accident(error)


def test_an_error_without_a_traceback_is_none() -> None:
    """Nothing shows where it came from."""
    assert not is_accident(ValueError("no"))
