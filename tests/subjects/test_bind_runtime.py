"""How a class or a factory becomes a runtime under test, and what is said when it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import faultclock
from faultclock.errors import SubjectError
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.ports import Surroundings


class Async:
    """An async runtime."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings

    async def run_turn(self, text: str) -> str:
        """Answer."""
        return text


class Blocking(Async):
    """A blocking runtime."""

    def run_turn(self, text: str) -> str:  # type: ignore[override]
        """Answer."""
        return text


def test_the_style_is_read_off_a_class() -> None:
    """By its `run_turn`; the title is its first line."""
    assert [(runtime(item).style, runtime(item).title) for item in (Async, Blocking)] == [
        ("async", "An async runtime."),
        ("sync", "A blocking runtime."),
    ]
    assert runtime(Async).role == "runtime"
    assert runtime(Async).id == "test_bind_runtime:Async"


def test_a_factory_says_its_style_where_it_does_not_show() -> None:
    """A coroutine function is async; a plain function blocks unless it says otherwise."""

    async def opened(surroundings: Surroundings) -> Async:
        return Async(surroundings)

    def made(surroundings: Surroundings) -> Async:
        return Async(surroundings)

    assert runtime(opened).style == "async"
    assert runtime(made).style == "sync"
    assert runtime(style="async", id="mine", declares=("events",))(made).style == "async"


def test_the_decorator_is_public() -> None:
    """Under the name that the examples use."""
    assert faultclock.runtime is runtime


@pytest.mark.parametrize(
    ("bind", "told"),
    [
        (lambda: runtime(type("Mute", (), {})), "has no method run_turn"),
        (lambda: runtime(type("Odd", (), {"run_turn": print})), "cannot be called as"),
        (lambda: runtime(open=print)(Async), "takes no open"),
        (lambda: runtime(lambda: None), "cannot be called as"),
        (lambda: runtime(runtime(Async)), "is bound already"),
    ],
    ids=["mute", "odd", "open", "arguments", "twice"],
)
def test_what_cannot_be_bound_is_told(bind: Callable[[], Any], told: str) -> None:
    """When it is bound, not when it runs."""
    with pytest.raises(SubjectError, match=told):
        bind()
