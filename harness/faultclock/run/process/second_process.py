"""A process beside this one, in which what was done here is done once more.

It is forked before it is needed and lies idle: nothing that happens here later is known there. Its
memory is arranged in another way than here, so that what depends on the addresses of objects comes
out differently. What it cannot have of its own is the hash seed, which belongs to the interpreter.
POSIX only.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, Self, TypeVar

from faultclock.errors import InternalError
from faultclock.run.process.isolate import Child, Died, Hung

T = TypeVar("T")

#: Sizes of small objects, in bytes: each has a free list of its own in CPython's allocator.
_SIZES = range(48, 513, 16)
#: What a `bytes` object needs beside its content.
_HEAD = 33
#: How many of each size are made, at most, and how many of 10 are given back.
_OBJECTS_MAX, _GIVEN_BACK = 400, 7


#: Whether this process is one of these.
_is_aside = False


def is_aside() -> bool:
    """Return whether this process was forked to do once more what another one has done."""
    return _is_aside


class Aside(Generic[T]):
    """Calls one function in a process of its own, as often as it is asked.

    Args:
        function: is called there. Its arguments and its result must be picklable; it is not.
    """

    def __init__(self, function: Callable[..., T]) -> None:
        self._function = function
        self._child: Child[T] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Child[T]:
        """Fork it now, unless that is done: it knows what is known at this moment."""
        if self._child is None:
            # What it runs is confined by itself.
            self._child = Child(_Beside(self._function), confined=False)
        return self._child

    def __call__(self, *args: Any) -> T:
        """Call the function there, and return what it returns.

        Raises:
            InternalError: the process is gone.
            BaseException: what the function raised.
        """
        made = self.start().call(*args, wall_limit_s=None)
        if isinstance(made, (Hung, Died)):
            self.close()
            raise InternalError("the process for second runs is gone")
        return made

    def close(self) -> None:
        """End it, and wait for its end; nothing happens where none was forked."""
        if self._child is not None:
            self._child.close()
            self._child = None


class _Beside(Generic[T]):
    """Calls a function in a process whose memory is arranged anew before the first call."""

    def __init__(self, function: Callable[..., T]) -> None:
        self._function = function
        self._kept: list[object] = []

    def __call__(self, *args: Any) -> T:
        global _is_aside
        _is_aside = True
        self._kept = self._kept or rearrange()
        return self._function(*args)


def rearrange() -> list[object]:
    """Take memory of every small size and give part of it back, in no order.

    What is made from then on lies at other addresses and in another order than in a process that
    did not. The same happens each time.

    Returns:
        What has to be kept as long as that should last.
    """
    chance = random.Random(1)
    kept: list[object] = []
    # The two smallest sizes, of 16 and 32 bytes, are those of bare objects and of numbers.
    makers: list[Callable[[], object]] = [object, chance.random]
    makers += [partial(bytes, size - _HEAD) for size in _SIZES]
    for make in makers:
        made = [make() for _ in range(chance.randrange(1, _OBJECTS_MAX))]
        chance.shuffle(made)
        back = len(made) * _GIVEN_BACK // 10
        kept += made[back:]
        while back:
            # One after the other: each goes to the front of the free list of its size.
            back -= 1
            made[back] = None
    return kept
