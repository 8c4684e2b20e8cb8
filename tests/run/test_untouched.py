"""A function or a class of ours that is another one now is seen, by its name."""

from __future__ import annotations

import pytest

from faultclock.oracle.judge import Judge
from faultclock.run import run_request as made
from faultclock.run.process.integrity import Untouched


def test_nothing_is_changed_at_first() -> None:
    """Right after it was made, everything is as it was."""
    assert Untouched().changed() == ""


def test_a_function_that_was_replaced_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name says where it stands."""
    before = Untouched()
    monkeypatch.setattr(made, "lost", lambda *_: None)
    assert before.changed() == "faultclock.run.run_request.lost"


def test_a_method_with_other_code_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The function is the same object, and does something else."""
    before = Untouched()
    monkeypatch.setattr(Judge.judge, "__code__", Judge.judge.__code__.replace(co_name="other"))
    assert before.changed() == "faultclock.oracle.judge.judge"


def test_a_method_that_was_replaced_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class is the same object, whatever was put into it."""
    before = Untouched()
    monkeypatch.setattr(Judge, "judge", lambda *_: None)
    assert before.changed() == "faultclock.oracle.judge.judge"


def test_only_the_named_modules_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What observes a run is looked at after each one, so it must be little."""
    before = Untouched("faultclock.oracle.judge")
    monkeypatch.setattr(made, "lost", lambda *_: None)
    assert before.changed() == ""
