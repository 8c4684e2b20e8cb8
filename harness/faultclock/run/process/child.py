"""A forked child of this process: how it begins, answers one call after the other, and ends.

It inherits all that this process has, such as a warmed subject. See `isolate` for the side of the
parent, which watches it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from faultclock.errors import InternalError
from faultclock.run.process.confinement import Watch, confine
from faultclock.run.process.frames import receive, send
from faultclock.run.process.lifeline import end_with

#: The signal that makes a child write its stacks; a handler in C answers it even in a tight loop.
DUMP_SIGNAL = signal.SIGUSR2
#: The signal that makes a child hand over what it has so far. In C code it is not answered.
HAND_OVER_SIGNAL = signal.SIGUSR1
#: What a child hands over: what the function returned, what it has when its time is up, what the
#: function raised, and lines on an exception that cannot be pickled.
VALUE, SO_FAR, RAISED, UNPICKLABLE = "value", "so far", "raised", "unpicklable"

#: In a child: hands its result over and ends it. None in every other process.
_way_out: Callable[[object], NoReturn] | None = None
#: Descriptors that every host inherits from now on, beside its own. No others are.
INHERITED: set[int] = set()
#: Descriptors by which this process talks to others: no child may write there.
_kept_from_children: list[int] = []
#: See `limit_children`.
_memory_limit_bytes: int | None = None


def limit_children(memory_bytes: int | None) -> None:
    """Limit the address space of every child of this process.

    Args:
        memory_bytes: that each may take beside what this process has by then: what is beyond that
            is a MemoryError there; None: no limit.
    """
    global _memory_limit_bytes
    _memory_limit_bytes = memory_bytes


def keep_from_children(*descriptors: int) -> None:
    """Have every child of this process close these first of all, and no others."""
    _kept_from_children[:] = descriptors


def fork_process() -> int:
    """Fork as `os.fork` does, without its warning of threads.

    Raises:
        KeyboardInterrupt: a person interrupts; then there is no child.
    """
    # What is not written yet would be written twice.
    _flush()
    # Hooks run right after a fork, and CPython drops what is raised in one: a Ctrl-C would be lost.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    process = -1
    try:
        # This raises what came before it, and blocks all the same.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with warnings.catch_warnings():
            # CPython warns if there are other threads. The child runs only its own code, and no
            # thread of the parent's holds a lock that it needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            process = os.fork()
    finally:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        except KeyboardInterrupt:
            if process == 0:
                os._exit(0)
            if process > 0:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
            raise
    return process


def leave(value: object) -> None:
    """End an isolated child right here, with `value` as the result of its function.

    No `finally` and no exit handler runs any more, on any thread. In a process that is no such
    child, nothing happens.
    """
    if _way_out is not None:
        _way_out(value)


def part_from(parent: int, *descriptors: int) -> None:
    """Leave to `parent` what is its own, and take no more memory than is granted."""
    end_with(parent)
    for descriptor in (*descriptors, *_kept_from_children):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    if _memory_limit_bytes is not None:
        _limit_memory(_memory_limit_bytes)


def write_to(output: tuple[int, int]) -> None:
    """Let standard output and error lead elsewhere, and keep no other descriptor of it."""
    for target, descriptor in enumerate(output, start=1):
        os.dup2(descriptor, target)
    for descriptor in output:
        if descriptor > len(output):
            os.close(descriptor)


def answer_calls(
    function: Callable[..., object],
    so_far: Callable[[], object],
    asks: int,
    result: int,
    dump: int,
    watch: Watch | None,
) -> NoReturn:
    """Call `function` with each arguments that come, and end when no more can come.

    Args:
        so_far: see `isolate.Child`.
        asks: the descriptor by which the arguments come.
        result: the descriptor for what becomes of each call.
        dump: the descriptor for the stacks of this process.
        watch: made by the parent; None: this process is not confined.
    """
    global _way_out
    _way_out = partial(_leave, result)
    code = 1
    # A collection would touch every object of the parent's, and each touched page is copied.
    gc.disable()
    gc.freeze()
    try:
        faulthandler.register(DUMP_SIGNAL, file=dump, all_threads=True)
        signal.signal(HAND_OVER_SIGNAL, lambda *_: _leave(result, so_far(), SO_FAR))
        if watch is not None:
            confine(watch)
        args = _args(asks)
        while args is not None:
            data = _outcome(function, args)
            _flush()
            send(result, data)
            if (args := _args(asks)) is not None:
                # What the last call left behind goes before the next one begins.
                gc.collect()
        code = 0
    except KeyboardInterrupt:
        # A person's Ctrl-C reaches a child of the terminal's that waits, too.
        code = 0
    except BaseException:  # noqa: BLE001 - no caller would see it
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            _flush()
        # None of the parent's exit handlers runs.
        os._exit(code)


def _args(asks: int) -> tuple[Any, ...] | None:
    """Return the arguments of the next call; None: the parent has closed the pipe."""
    try:
        args: tuple[Any, ...] = pickle.loads(receive(asks))  # noqa: S301 - the parent wrote it
    except EOFError:
        return None
    return args


def _limit_memory(limit_bytes: int) -> None:
    """Let this process take no more address space than `limit_bytes` beside what it has."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        most = pages * resource.getpagesize() + limit_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _leave(result: int, value: object, kind: str = VALUE) -> NoReturn:
    data = pickle.dumps((kind, value))
    _flush()
    send(result, data)
    os._exit(0)


def _outcome(function: Callable[..., object], args: tuple[Any, ...]) -> bytes:
    try:
        value = function(*args)
    except BaseException as error:  # noqa: BLE001 - it is raised again in the parent
        text = traceback.format_exception(error)
        error.add_note("in the isolated child:\n" + "".join(text).rstrip())
        try:
            data = pickle.dumps((RAISED, error))
            # Many exceptions can be written and not be read again.
            pickle.loads(data)  # noqa: S301 - we wrote it just now
        except Exception:  # noqa: BLE001 - any way of failing means the same
            lines = [f"{type(error).__name__}: {error}", *"".join(text).splitlines()]
            data = pickle.dumps((UNPICKLABLE, lines))
        return data
    try:
        return pickle.dumps((VALUE, value))
    except Exception as error:
        raise InternalError(f"the result of an isolated run cannot be pickled: {error}") from error


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(ValueError, OSError):
                stream.flush()
