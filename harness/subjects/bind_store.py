"""Binding a session store: what is bound makes one store object for each life of the process.

    from harness import session_store

    @session_store
    class Store:
        def __init__(self, surroundings): ...
        def read(self, session_id): ...
        def write(self, session_id, manifest): ...

A class or a function will do; it takes the `StoreSurroundings` and returns an object with the
methods of `harness.subjects.ports.SessionStore`, of which `read` and `write` must exist. Tasks
that ask for one that does not exist are not asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

from harness.errors import SubjectError
from harness.subjects.binding import Binding, Declares, bind
from harness.subjects.outcome import Classify

__all__ = ["session_store"]

_REQUIRED = ("read", "write")


@overload
def session_store(function: Callable[..., Any], /) -> Binding: ...


@overload
def session_store(
    *,
    style: Literal["async", "sync"] | None = None,
    id: str | None = None,
    title: str | None = None,
    classify: Classify | None = None,
    declares: tuple[Declares, ...] = (),
    inline: bool = False,
    warm_in_place: bool = False,
    distributions: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Binding]: ...


def session_store(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Bind a class or factory `make(surroundings)` as a session store under test.

    Use it bare, or with the options that `Binding` describes.

    Args:
        style: whether the object's methods are coroutine functions. Without it a coroutine
            function, and a class whose `read` is one, are async; everything else blocks. A plain
            function that makes an async store has to say `style="async"`.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if function is None:
        return partial(_bound, **options)
    return _bound(function, **options)


def _bound(
    function: Callable[..., Any],
    *,
    style: Literal["async", "sync"] | None = None,
    **options: Any,
) -> Binding:
    if inspect.isclass(function):
        for name in _REQUIRED:
            if not callable(getattr(function, name, None)):
                raise SubjectError(
                    f"{function.__qualname__} has no method {name}",
                    hint="a store answers at least `read(session_id)` and"
                    " `write(session_id, manifest)`",
                )
        if style is None and inspect.iscoroutinefunction(getattr(function, "read", None)):
            style = "async"
    if "open" in options:
        raise SubjectError(
            "a store takes no open=…", hint="make what it needs in the store, where it needs it"
        )
    return bind(function, role="session_store", takes="surroundings", style=style, **options)
