"""Binding a runtime: what is bound makes one runtime object for each life of the process.

    from faultclock import runtime

    @runtime
    class Agent:
        def __init__(self, surroundings): ...
        async def run_turn(self, text): ...

A class, a function or a coroutine function will do; it takes the `Surroundings` and returns an
object with the methods of `faultclock.subjects.ports.Runtime`, of which only `run_turn` must exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, Unpack, overload

from faultclock.model.retry_policy import RetryPolicy
from faultclock.subjects.bind_object import bind_object
from faultclock.subjects.binding import Binding, Options


@overload
def runtime(function: Callable[..., Any], /) -> Binding: ...


@overload
def runtime(
    *,
    style: Literal["async", "sync"] | None = None,
    retry_policies: tuple[RetryPolicy, ...] = (),
    dialect: str | tuple[str, ...] = ...,
    streams: bool | Literal["always"] = True,
    tools: bool = True,
    approvals: bool = True,
    sessions: bool = True,
    history: bool = True,
    cancels: bool = True,
    **options: Unpack[Options],
) -> Callable[[Callable[..., Any]], Binding]: ...


def runtime(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Bind a class or factory `make(surroundings)` as a runtime under test.

    Use it bare, or with the options that `Binding` describes.

    Args:
        style: whether the object's methods are coroutine functions. Without it a coroutine
            function, and a class whose `run_turn` is one, are async; everything else blocks. A
            plain function that makes an async runtime has to say `style="async"`.
        dialect: the API that it speaks, such as "openai-responses", or several. Without it a run
            shows which one it asks.
        streams: False: it never asks for a stream; "always": it always does.
        tools: False: it calls no tools.
        approvals: False: it calls tools without asking a person.
        sessions: False: it stores no session, so it cannot be resumed.
        history: False: it sends the model no earlier turn of a session.
        cancels: False: a turn cannot be cancelled from outside.

    What needs an ability that is declared as missing is left out of a run by name.

    Raises:
        SubjectError: the function or an option cannot be bound; the hint says what to write.
    """
    if function is None:
        return partial(_bound, **options)
    return _bound(function, **options)


_bound = partial(
    bind_object,
    role="runtime",
    noun="runtime",
    methods=("run_turn",),
    hint="a runtime answers at least `run_turn(text)`",
)
