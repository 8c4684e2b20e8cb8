"""Runs a function in a forked child of this process, under a wall-clock watchdog.

The child inherits a warmed subject and leaves nothing behind: no cached client, no loop, no
connection. Its result comes back by pickle over a pipe. When it hangs in something that the
world cannot see (an endless loop, a real lock, C code), the parent asks it for the stacks of
its threads and for what it has so far, kills it, and says where it hung. POSIX only.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import re
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from faultclock.errors import InternalError
from faultclock.model.trace.trace import EndingReason
from faultclock.run.process.confinement import RefusedError, Watch, confine
from faultclock.run.process.frames import DamagedError, receive, send
from faultclock.run.process.lifeline import end_with

T = TypeVar("T")

#: The signal that makes a child write its stacks; a handler in C answers it even in a tight loop.
_DUMP_SIGNAL = signal.SIGUSR2
#: Real seconds that the child gets to write them.
_DUMP_LIMIT_S = 1.5
#: The signal that makes a child hand over what it has so far. In C code it is not answered.
_HAND_OVER_SIGNAL = signal.SIGUSR1
#: Real seconds that the child gets for that.
_HAND_OVER_LIMIT_S = 0.8
#: Real seconds that a child may go on after it has closed the pipe of its result.
_END_LIMIT_S = 1.0
#: What a child hands over: its result, or what it has when its time is up.
_VALUE, _SO_FAR = "value", "so far"
#: What became of the result of a child that ended without one.
_ENDED = "it ended"
#: Innermost frames shown of each stack.
_FRAMES_MAX = 6

_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+|\?\?\?) in (?P<function>.*)$')


#: In a child: hands its result over and ends it. None in every other process.
_way_out: Callable[[object], NoReturn] | None = None
#: Descriptors that every host inherits from now on, beside its own. No others are.
INHERITED: set[int] = set()
#: Descriptors by which this process talks to others: no child may write there.
_kept_from_children: list[int] = []
#: See `limit_children`.
_memory_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hung:
    """The child did not end in time and was killed.

    Attributes:
        detail: one line, then one line a thread that says where it was.
        stacks: of each thread, innermost first: file, line and function.
        so_far: what the child had by then; None: nothing, or it hangs where it cannot say.
        ending: of the run that it made.
    """

    detail: tuple[str, ...]
    stacks: tuple[tuple[tuple[str, int, str], ...], ...] = ()
    so_far: Any = None
    ending: EndingReason = "watchdog"


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The child ended without a result: killed by a signal, `os._exit`, or unpicklable.

    Attributes:
        detail: what is known of its end.
        ending: of the run that it made.
    """

    detail: tuple[str, ...]
    ending: EndingReason = "harness_error"


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


def run_isolated(
    function: Callable[[], T],
    *,
    wall_limit_s: float,
    output: tuple[int, int] | None = None,
    confined: bool = True,
    so_far: Callable[[], object] = lambda: None,
) -> T | Hung | Died:
    """Run `function` in a forked child and return its result, which must be picklable.

    Args:
        wall_limit_s: real seconds after which the child is ended; above 0.
        output: descriptors that are its standard output and error; None: it has ours.
        confined: refuse it all sockets and processes; False only where no verdict depends on it.
        so_far: called in a child whose time is up; returns what it has, which must be picklable.

    Raises:
        BaseException: what the function raised, if that can be pickled; Died says it otherwise.
    """
    result_read, result_write = os.pipe()
    dump_read, dump_write = os.pipe()
    parent = os.getpid()
    watch = Watch() if confined else None
    deadline_s = time.monotonic() + wall_limit_s
    child = fork_process()
    if child == 0:
        _part_from(parent, result_read, dump_read)
        if output is not None:
            _write_to(output)
        _live_as_child(function, so_far, result_write, dump_write, watch)
    os.close(result_write)
    os.close(dump_write)
    problem = ""
    try:
        if watch is not None:
            watch.until_readable(result_read, deadline_s)
        kind, value = _received(result_read, deadline_s)
    except TimeoutError:
        with _killed_after(child):
            hung = _ask_where(child, dump_read, wall_limit_s)
            # One that is stopped, or blocks all signals, answers nothing.
            return replace(hung, so_far=_ask_what(child, result_read)) if hung.stacks else hung
    except RefusedError as refused:
        with _killed_after(child):
            where = _ask_where(child, dump_read, wall_limit_s, refused.answer).detail[1:]
        return Died(detail=(f"the system call {refused.what}", *where), ending="escape")
    except EOFError:
        problem = _ENDED
        _let_end(child)
    except (DamagedError, pickle.UnpicklingError, ValueError, TypeError) as error:
        problem = f"what it wrote is no result: {error}"
        _kill(child)
    except BaseException:
        # Most likely a person's Ctrl-C; a child that hangs would keep us waiting for it.
        _kill(child)
        raise
    finally:
        os.close(result_read)
        os.close(dump_read)
        if watch is not None:
            watch.close()
        status = _reap(child)
    if problem:
        return _died(problem, status, confined=confined)
    result: T | Died = _result(kind, value)
    return result


def _received(descriptor: int, deadline_s: float) -> Any:
    return pickle.loads(receive(descriptor, deadline_s))  # noqa: S301 - from a child of ours


def _result(kind: str, value: Any) -> Any:
    if kind == "raised":
        raise value
    if kind == _SO_FAR:
        return Died(detail=("a signal that is Faultclock's own ended it before its time was up",))
    return Died(detail=tuple(value)) if kind == "unpicklable" else value


def _died(problem: str, status: int, *, confined: bool) -> Died:
    """Return how a child died.

    Args:
        problem: what became of its result.
        status: as `os.waitpid` gives it.
    """
    if confined and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS:
        return Died(detail=("a system call for a socket or a process",), ending="escape")
    return Died(detail=(_how_it_died(status) if problem == _ENDED else problem,))


def run_contained(
    function: Callable[[], T],
    *,
    wall_limit_s: float,
    output: tuple[int, int] | None = None,
    confined: bool = True,
    so_far: Callable[[], object] = lambda: None,
) -> T | Hung | Died:
    """Do what `run_isolated` does, but let no subject interrupt more than its own run.

    A person's Ctrl-C reaches this process too; a KeyboardInterrupt that only the child knows of
    was raised by the code in it.
    """
    try:
        return run_isolated(
            function,
            wall_limit_s=wall_limit_s,
            output=output,
            confined=confined,
            so_far=so_far,
        )
    except KeyboardInterrupt as error:
        if not getattr(error, "__notes__", None):
            raise
        return Died(detail=("the run raised KeyboardInterrupt, without an interrupt from outside",))


def leave(value: object) -> None:
    """End an isolated child right here, with `value` as the result of its function.

    No `finally` and no exit handler runs any more, on any thread. In a process that is no such
    child, nothing happens.
    """
    if _way_out is not None:
        _way_out(value)


# ---------------------------------------------------------------------- the child's side


def _live_as_child(
    function: Callable[[], object],
    so_far: Callable[[], object],
    result: int,
    dump: int,
    watch: Watch | None,
) -> NoReturn:
    """Run, hand the outcome over, and end without any of the parent's exit handlers."""
    global _way_out
    _way_out = partial(_leave, result)
    code = 1
    # A collection would touch every object of the parent's, and each touched page is copied.
    gc.disable()
    try:
        faulthandler.register(_DUMP_SIGNAL, file=dump, all_threads=True)
        signal.signal(_HAND_OVER_SIGNAL, lambda *_: _leave(result, so_far(), _SO_FAR))
        if watch is not None:
            confine(watch)
        data = _outcome(function)
        _flush()
        send(result, data)
        code = 0
    except BaseException:  # noqa: BLE001 - no caller would see it
        with contextlib.suppress(BaseException):
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            _flush()
        os._exit(code)


def _part_from(parent: int, *descriptors: int) -> None:
    """Leave to `parent` what is its own, and take no more memory than is granted."""
    end_with(parent)
    for descriptor in (*descriptors, *_kept_from_children):
        with contextlib.suppress(OSError):
            os.close(descriptor)
    if _memory_limit_bytes is not None:
        _limit_memory(_memory_limit_bytes)


def _write_to(output: tuple[int, int]) -> None:
    """Let standard output and error lead elsewhere, and keep no other descriptor of it."""
    for target, descriptor in enumerate(output, start=1):
        os.dup2(descriptor, target)
    for descriptor in output:
        if descriptor > len(output):
            os.close(descriptor)


def _limit_memory(limit_bytes: int) -> None:
    """Let this process take no more address space than `limit_bytes` beside what it has."""
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
        most = pages * resource.getpagesize() + limit_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _leave(result: int, value: object, kind: str = _VALUE) -> NoReturn:
    data = pickle.dumps((kind, value))
    _flush()
    send(result, data)
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
        return pickle.dumps((_VALUE, value))
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


def _ask_where(
    child: int, dump: int, wall_limit_s: float, then: Callable[[], None] = lambda: None
) -> Hung:
    """Make the child write its stacks.

    Args:
        then: what it may need to be able to answer; called as soon as it is asked.
    """
    head = f"no end after {wall_limit_s:g} s of real time"
    text = b""
    os.kill(child, _DUMP_SIGNAL)
    then()
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
    dump_text = text.decode("utf-8", "replace")
    return Hung(detail=(head, *stacks_of(dump_text)), stacks=_parsed(dump_text))


def _ask_what(child: int, result: int) -> Any:
    """Make the child hand over what it has so far, or return None."""
    os.kill(child, _HAND_OVER_SIGNAL)
    # It may hang in C code, or have begun to write a result when its time was up.
    with contextlib.suppress(Exception):
        kind, value = _received(result, time.monotonic() + _HAND_OVER_LIMIT_S)
        return value if kind == _SO_FAR else None
    return None


def _parsed(dump: str) -> tuple[tuple[tuple[str, int, str], ...], ...]:
    """Return file, line (0 where it is not known) and function of each thread of a dump."""
    threads: list[list[tuple[str, int, str]]] = []
    for line in dump.splitlines():
        found = _FRAME.match(line)
        if found is None:
            if line.startswith(("Thread ", "Current thread ")):
                threads.append([])
        elif threads:
            number = int(found["line"]) if found["line"].isdigit() else 0
            threads[-1].append((found["path"], number, found["function"]))
    return tuple(map(tuple, threads))


def stacks_of(dump: str) -> tuple[str, ...]:
    """Return one line for each thread of a dump by faulthandler, the running ones first.

    Paths are cut to file names, so that the text is the same on every machine.
    """
    running: list[str] = []
    waiting: list[str] = []
    for number, frames in enumerate(_parsed(dump), start=1):
        waits = bool(frames) and frames[0][0].endswith("faultclock/sim/kernel/kernel.py")
        own = [
            f"{path.rsplit('/', 1)[-1]}:{line or '???'} {function}"
            for path, line, function in frames
            if "faultclock/sim/" not in path
        ] or ["unknown"]
        text = " <- ".join(own[:_FRAMES_MAX])
        state = "waits" if waits else "is running"
        (waiting if waits else running).append(f"thread {number} {state} at {text}")
    return tuple(running + waiting)


@contextlib.contextmanager
def _killed_after(child: int) -> Iterator[None]:
    try:
        yield
    finally:
        _kill(child)


def _kill(child: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)


def _let_end(child: int) -> None:
    """Give a child that has closed its pipe a moment to end, so that its exit code is known."""
    with contextlib.suppress(OSError):
        ended = os.pidfd_open(child)
        poller = select.poll()
        poller.register(ended, select.POLLIN)
        poller.poll(_END_LIMIT_S * 1_000)
        os.close(ended)
    _kill(child)


def _reap(child: int) -> int:
    try:
        return os.waitpid(child, 0)[1]
    except ChildProcessError:
        return 0


def _how_it_died(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the child was killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the child ended with exit code {os.waitstatus_to_exitcode(status)} and no result"
