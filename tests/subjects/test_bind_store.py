"""Binding a session store: what is read off it, and what cannot be bound."""

from __future__ import annotations

from typing import Any

import pytest

import faultclock
from faultclock.errors import SubjectError
from faultclock.subjects.bind_store import session_store


class _Blocking:
    """A store that keeps nothing."""

    def __init__(self, surroundings: Any) -> None: ...
    def read(self, session_id: str) -> None: ...
    def write(self, session_id: str, manifest: Any) -> None: ...


class _Async:
    def __init__(self, surroundings: Any) -> None: ...
    async def read(self, session_id: str) -> None: ...
    async def write(self, session_id: str, manifest: Any) -> None: ...


def test_a_class_is_bound_as_it_is() -> None:
    """Bare, with its own name and the first line of its docstring."""
    binding = session_store(_Blocking)
    assert (binding.role, binding.style) == ("session_store", "sync")
    assert binding.title == "A store that keeps nothing."
    assert binding.function is _Blocking
    assert faultclock.session_store is session_store


def test_the_style_is_that_of_read() -> None:
    """A class says it by itself; a function that makes a store has to say it."""
    assert session_store(_Async).style == "async"
    assert session_store(lambda surroundings: _Async(surroundings)).style == "sync"
    assert session_store(style="async")(lambda surroundings: _Async(surroundings)).style == "async"


def test_options_are_those_of_a_binding() -> None:
    """An id, a title, and how isolated its runs have to be."""
    binding = session_store(id="mine", title="My store", inline=True)(_Blocking)
    assert (binding.id, binding.title, binding.inline) == ("mine", "My store", True)


class _WriteOnly:
    def __init__(self, surroundings: Any) -> None: ...
    def write(self, session_id: str, manifest: Any) -> None: ...


class _TakesTwo(_Blocking):
    def __init__(self, folder: Any, host: Any) -> None: ...


@pytest.mark.parametrize(
    ("store", "options", "said"),
    [
        (_WriteOnly, {}, "no method read"),
        (_TakesTwo, {}, r"cannot be called as \(surroundings\)"),
        (_Blocking, {"open": dict}, "a store takes no open"),
        (_Blocking, {"id": "two words"}, "is no id"),
    ],
    ids=["no-read", "signature", "open", "id"],
)
def test_what_cannot_be_bound_is_told_with_what_to_write(
    store: Any, options: dict[str, Any], said: str
) -> None:
    """When the module is imported, not in the middle of a run."""
    with pytest.raises(SubjectError, match=said) as caught:
        session_store(**options)(store)
    assert caught.value.hint
