"""Runs a function in a forked child of this process, under a wall-clock watchdog.

The child inherits a warmed subject and leaves nothing behind: no cached client, no loop, no
connection. Its result comes back by pickle over a pipe. When it hangs in something that the
world cannot see (an endless loop, a real lock, C code), the parent asks it for the stacks of
its threads, kills it, and says where it hung. POSIX only.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import re
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, TypeVar

from harness.errors import InternalError
from harness.run.lifeline import end_with

__all__ = [
    "Died",
    "Hung",
    "ensure_hash_seed",
    "fork_process",
    "leave",
    "run_contained",
    "run_isolated",
]

T = TypeVar("T")

#: The signal that makes a child write its stacks; a handler in C answers it even in a tight loop.
_DUMP_SIGNAL = signal.SIGUSR2
#: Real seconds that the child gets to write them.
_DUMP_LIMIT_S = 2.0
#: Innermost frames shown of each stack.
_FRAMES_MAX = 6
#: Set in the environment once the process was started again with a fixed hash seed.
_RESTARTED = "FAULTCLOCK_HASH_SEED_FIXED"

_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')


#: In a child: hands its result over and ends it. None in every other process.
_way_out: Callable[[object], NoReturn] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hung:
    """The child did not end in time and was killed.

    Attributes:
        detail: one line, then one line a thread that says where it was.
    """

    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The child ended without a result: killed by a signal, `os._exit`, or unpicklable.

    Attributes:
        detail: what is known of its end.
    """

    detail: tuple[str, ...]


def run_isolated(function: Callable[[], T], *, wall_limit_s: float) -> T | Hung | Died:
    """Run `function` in a forked child and return its result, which must be picklable.

    Args:
        wall_limit_s: real seconds after which the child is ended; above 0.

    Raises:
        BaseException: what the function raised, if that can be pickled; Died says it otherwise.
    """
    result_read, result_write = os.pipe()
    dump_read, dump_write = os.pipe()
    parent = os.getpid()
    child = fork_process()
    if child == 0:
        end_with(parent)
        os.close(result_read)
        os.close(dump_read)
        _live_as_child(function, result_write, dump_write)
    os.close(result_write)
    os.close(dump_write)
    try:
        data = _read_until(result_read, time.monotonic() + wall_limit_s)
        if data is None:
            return Hung(detail=_ask_where(child, dump_read, wall_limit_s))
    except BaseException:
        # Most likely a person's Ctrl-C; a child that hangs would keep us waiting for it.
        _kill(child)
        raise
    finally:
        os.close(result_read)
        os.close(dump_read)
        status = _reap(child)
    if not data:
        return Died(detail=(_how_it_died(status),))
    kind, value = pickle.loads(data)  # noqa: S301 - our own child wrote it
    if kind == "raised":
        raise value
    if kind == "unpicklable":
        return Died(detail=tuple(value))
    result: T = value
    return result


def run_contained(function: Callable[[], T], *, wall_limit_s: float) -> T | Hung | Died:
    """Do what `run_isolated` does, but let no subject interrupt more than its own run.

    A person's Ctrl-C reaches this process too; a KeyboardInterrupt that only the child knows of
    was raised by the code in it.
    """
    try:
        return run_isolated(function, wall_limit_s=wall_limit_s)
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", None):
            raise
        return Died(detail=("KeyboardInterrupt was raised in the run, and nobody interrupted it",))


def leave(value: object) -> None:
    """End an isolated child right here, with `value` as the result of its function.

    No `finally` and no exit handler runs any more, on any thread. In a process that is no such
    child, nothing happens.
    """
    if _way_out is not None:
        _way_out(value)


def ensure_hash_seed() -> None:
    """Start this process again with PYTHONHASHSEED=0, unless its hash seed is fixed already.

    Sets of strings iterate in another order in every process otherwise. It happens at most
    once; a child of a restarted process inherits the setting.
    """
    if os.environ.get("PYTHONHASHSEED", "random") != "random" or _RESTARTED in os.environ:
        return
    environment = dict(os.environ, PYTHONHASHSEED="0")
    environment[_RESTARTED] = "1"
    restart(environment)


def restart(environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the same command in another environment."""
    _flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


# ---------------------------------------------------------------------- the child's side


def _live_as_child(function: Callable[[], object], result: int, dump: int) -> NoReturn:
    """Run, hand the outcome over, and end without any of the parent's exit handlers."""
    global _way_out
    _way_out = partial(_leave, result)
    code = 1
    # A collection would touch every object of the parent's, and each touched page is copied.
    gc.disable()
    try:
        faulthandler.register(_DUMP_SIGNAL, file=dump, all_threads=True)
        data = _outcome(function)
        _flush()
        with os.fdopen(result, "wb") as pipe:
            pipe.write(data)
        code = 0
    except BaseException:  # noqa: BLE001 - nobody above would see it
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            _flush()
        os._exit(code)


def _leave(result: int, value: object) -> NoReturn:
    data = pickle.dumps(("value", value))
    _flush()
    while data:
        data = data[os.write(result, data) :]
    os._exit(0)


def _outcome(function: Callable[[], object]) -> bytes:
    try:
        value = function()
    except BaseException as error:  # noqa: BLE001 - it is raised again in the parent
        text = traceback.format_exception(error)
        error.add_note("in the isolated child:\n" + "".join(text).rstrip())
        try:
            data = pickle.dumps(("raised", error))
            # Many exceptions can be written and not be read again.
            pickle.loads(data)  # noqa: S301 - we wrote it just now
        except Exception:  # noqa: BLE001 - any way of failing means the same
            lines = [f"{type(error).__name__}: {error}", *"".join(text).splitlines()]
            data = pickle.dumps(("unpicklable", lines))
        return data
    try:
        return pickle.dumps(("value", value))
    except Exception as error:
        raise InternalError(f"the result of an isolated run cannot be pickled: {error}") from error


# ---------------------------------------------------------------------- the parent's side


def fork_process() -> int:
    """Fork as `os.fork` does, and without its warning of threads."""
    # What is not written yet would be written twice.
    _flush()
    if sys.version_info < (3, 12):
        return os.fork()
    with warnings.catch_warnings():
        # CPython warns if there are other threads. The child runs only its own code, and no
        # thread of the parent's holds a lock that it needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(ValueError, OSError):
                stream.flush()


def _read_until(descriptor: int, deadline_s: float) -> bytes | None:
    """Return all that comes until the other side closes; None if the deadline comes first."""
    chunks: list[bytes] = []
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    while True:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0 or not poller.poll(left_s * 1_000):
            return None
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


def _ask_where(child: int, dump: int, wall_limit_s: float) -> tuple[str, ...]:
    """Make the child write its stacks, then kill it."""
    head = f"no end after {wall_limit_s:g} s of real time"
    text = b""
    try:
        os.kill(child, _DUMP_SIGNAL)
        # The pipe stays open on the child's side: what comes within a moment is all of it.
        deadline_s = time.monotonic() + _DUMP_LIMIT_S
        poller = select.poll()
        poller.register(dump, select.POLLIN)
        while poller.poll(max(0.0, deadline_s - time.monotonic()) * 1_000):
            chunk = os.read(dump, 1 << 16)
            if not chunk:
                break
            text += chunk
            deadline_s = time.monotonic() + 0.1
    finally:
        _kill(child)
    return (head, *stacks_of(text.decode("utf-8", "replace")))


def stacks_of(dump: str) -> tuple[str, ...]:
    """Return one line for each thread of a dump by faulthandler, the running ones first.

    Paths are cut to file names, so that the text is the same on every machine.
    """
    threads: list[list[tuple[str, str]]] = []
    for line in dump.splitlines():
        found = _FRAME.match(line)
        if found is None:
            if line.startswith(("Thread ", "Current thread ")):
                threads.append([])
        elif threads:
            path = found["path"]
            place = f"{path.rsplit('/', 1)[-1]}:{found['line']} {found['function']}"
            threads[-1].append((path, place))
    running: list[str] = []
    waiting: list[str] = []
    for number, frames in enumerate(threads, start=1):
        waits = bool(frames) and frames[0][0].endswith("harness/sim/kernel.py")
        own = [place for path, place in frames if "harness/sim/" not in path] or ["unknown"]
        text = " <- ".join(own[:_FRAMES_MAX])
        state = "waits" if waits else "is running"
        (waiting if waits else running).append(f"thread {number} {state} at {text}")
    return tuple(running + waiting)


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


def _reap(child: int) -> int:
    try:
        return os.waitpid(child, 0)[1]
    except ChildProcessError:
        return 0


def _how_it_died(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the child was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the child ended with exit code {os.waitstatus_to_exitcode(status)} and no result"
