"""Binding a runtime: what is bound makes one runtime object for each life of the process.

    from harness import runtime

    @runtime
    class Agent:
        def __init__(self, surroundings): ...
        async def run_turn(self, text): ...

A class, a function or a coroutine function will do; it takes the `Surroundings` and returns an
object with the methods of `harness.subjects.ports.Runtime`, of which only `run_turn` must exist.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

from harness.errors import SubjectError
from harness.model.retry_policy import RetryPolicy
from harness.subjects.binding import Binding, Declares, bind
from harness.subjects.outcome import Classify

__all__ = ["runtime"]


@overload
def runtime(function: Callable[..., Any], /) -> Binding: ...


@overload
def runtime(
    *,
    style: Literal["async", "sync"] | None = None,
    id: str | None = None,
    title: str | None = None,
    classify: Classify | None = None,
    declares: tuple[Declares, ...] = (),
    retry_policies: tuple[RetryPolicy, ...] = (),
    inline: bool = False,
    warm_in_place: bool = False,
    distributions: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Binding]: ...


def runtime(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Bind a class or factory `make(surroundings)` as a runtime under test.

    Use it bare, or with the options that `Binding` describes.

    Args:
        style: whether the object's methods are coroutine functions. Without it a coroutine
            function, and a class whose `run_turn` is one, are async; everything else blocks. A
            plain function that makes an async runtime has to say `style="async"`.

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
        turn = getattr(function, "run_turn", None)
        if not callable(turn):
            raise SubjectError(
                f"{function.__qualname__} has no method run_turn",
                hint="a runtime answers at least `run_turn(text)`",
            )
        if style is None and inspect.iscoroutinefunction(turn):
            style = "async"
    if "open" in options:
        raise SubjectError(
            "a runtime takes no open=…", hint="make its clients in the runtime, where it needs them"
        )
    return bind(function, role="runtime", takes="surroundings", style=style, **options)
