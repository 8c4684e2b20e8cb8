"""Binding a session store: what is bound makes one store object for each life of the process.

    from faultclock import session_store

    @session_store
    class Store:
        def __init__(self, surroundings): ...
        def read(self, session_id): ...
        def write(self, session_id, manifest): ...

A class or a function will do; it takes the `StoreSurroundings` and returns an object with the
methods of `faultclock.subjects.ports.SessionStore`, of which `read` and `write` must exist. Tasks
that ask for one that does not exist are not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Unpack, overload

from faultclock.subjects.bind_object import bind_object
from faultclock.subjects.binding import Binding, Options


@overload
def session_store(function: Callable[..., Any], /) -> Binding: ...


@overload
def session_store(
    *,
    style: Literal["async", "sync"] | None = None,
    **options: Unpack[Options],
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


_bound = partial(
    bind_object,
    role="session_store",
    noun="store",
    methods=("read", "write"),
    hint="a store answers at least `read(session_id)` and `write(session_id, manifest)`",
)
