"""A process beside this one, in which what was done here is done once more.

It is forked before it is needed and lies idle: nothing that happens here later is known there. Its
memory is arranged in another way than here, so that what depends on the addresses of objects comes
out differently. What it cannot have of its own is the hash seed, which belongs to the interpreter.
POSIX only.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import random
import signal
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeVar

from faultclock.errors import InternalError
from faultclock.run.process.child import fork_process
from faultclock.run.process.lifeline import end_with

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
        self._pipes: tuple[Connection, Connection] | None = None
        self._process = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> Self:
        """Fork it now, unless that is done: it knows what is known at this moment."""
        if self._pipes is not None:
            return self
        asked_read, asked_write = os.pipe()
        told_read, told_write = os.pipe()
        parent = os.getpid()
        self._process = fork_process()
        if self._process == 0:
            end_with(parent)
            os.close(asked_write)
            os.close(told_read)
            _serve(self._function, Connection(asked_read), Connection(told_write))
        os.close(asked_read)
        os.close(told_write)
        self._pipes = (Connection(asked_write), Connection(told_read))
        return self

    def __call__(self, *args: Any) -> T:
        """Call the function there, and return what it returns.

        Raises:
            InternalError: the process is gone.
            BaseException: what the function raised.
        """
        self.start()
        assert self._pipes is not None
        asks, tells = self._pipes
        try:
            asks.send(args)
            kind, value = tells.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise InternalError("the process for second runs is gone") from error
        if kind == "raised":
            raise value
        result: T = value
        return result

    def close(self) -> None:
        """End it, and wait for its end; nothing happens where none was forked."""
        if self._pipes is None:
            return
        for pipe in self._pipes:
            pipe.close()
        self._pipes = None
        # Nothing of value is in it, and it may be in the middle of something that hangs.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)


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


def _serve(function: Callable[..., Any], asked: Connection, tells: Connection) -> NoReturn:
    """Answer until the pipe is closed."""
    global _is_aside
    _is_aside = True
    code = 1
    kept: list[object] = []
    # A collection would touch every object of the parent's, and each touched page is copied.
    gc.disable()
    try:
        while True:
            args = asked.recv()
            kept = kept or rearrange()
            tells.send_bytes(told(function, args))
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        # The other side is done; a person's Ctrl-C reaches it as well.
        code = 0
    except BaseException:  # noqa: BLE001 - no caller would see it
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        os._exit(code)


def told(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Call it, and return what it comes to, pickled: "value" or "raised", and which."""
    try:
        return pickle.dumps(("value", function(*args)))
    except Exception as error:  # noqa: BLE001 - it is raised again on the other side
        data = pickle.dumps(("raised", error))
        # Many exceptions can be written and not be read again.
        pickle.loads(data)  # noqa: S301 - we wrote it just now
        return data
