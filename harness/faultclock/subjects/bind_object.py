"""Binding what makes one object for each life of the process: a runtime, a session store."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

from faultclock.errors import SubjectError
from faultclock.model.scenario.scenario import Role
from faultclock.subjects.binding import Binding, bind


def bind_object(
    function: Callable[..., Any],
    *,
    role: Role,
    noun: str,
    methods: tuple[str, ...],
    hint: str,
    style: Literal["async", "sync"] | None = None,
    **options: Any,
) -> Binding:
    """Bind a class or factory `make(surroundings)`.

    Args:
        noun: the role in one word, for messages.
        methods: those that a class must have. Of a class, the first one shows the style.
        hint: what to write where one is missing.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if inspect.isclass(function):
        for name in methods:
            if not callable(getattr(function, name, None)):
                raise SubjectError(f"{function.__qualname__} has no method {name}", hint=hint)
        if style is None and inspect.iscoroutinefunction(getattr(function, methods[0])):
            style = "async"
    if "open" in options:
        raise SubjectError(
            f"a {noun} takes no open=…", hint=f"make what it needs in the {noun}, where it needs it"
        )
    return bind(function, role=role, takes="surroundings", style=style, **options)
