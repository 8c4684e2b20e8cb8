"""One run in one forked child of the warmed process, under a watchdog of real time.

Clients, loops and caches that a subject keeps process-wide die with the child, so no run sees
another. A child that hangs where no simulation can see it (a C extension, an endless loop) is
ended by the parent, which first asks it where it hangs.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from harness.errors import InternalError

__all__ = ["Died", "Hung", "ensure_hash_seed", "run_isolated"]

T = TypeVar("T")

#: Set while the process runs again with a fixed hash seed, so that it does so only once.
_MARK = "FAULTCLOCK_HASH_SEED_FIXED"
#: How long a hanging child may take to say where it hangs.
_DUMP_LIMIT_S = 2.0
_FRAME = re.compile(r'^  File "(?P<file>[^"]*)", line (?P<line>\d+|\?\?\?) in (?P<name>.*)$')
_FRAMES_MAX = 6
_monotonic = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Hung:
    """The child did not end in time; `detail` has one line for each of its threads."""

    detail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The child ended without a result; `detail` says how."""

    detail: tuple[str, ...]


def run_isolated(fn: Callable[[], T], *, wall_limit_s: float) -> T | Hung | Died:
    """Call `fn` in a forked child and return what it returns there.

    Args:
        fn: its result must be picklable.
        wall_limit_s: real seconds after which the child is ended.

    Raises:
        Exception: whatever `fn` raised in the child.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as dump:
        child = os.fork()
        if child == 0:
            os.close(reading)
            _child(fn, writing, dump.fileno(), wall_limit_s)
        os.close(writing)
        try:
            data = _read_all(reading, _monotonic() + wall_limit_s)
            if data is None:
                return Hung(detail=_where_it_hangs(child, dump.fileno()))
        finally:
            os.close(reading)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
    if not data:
        return Died(detail=(_describe_status(status),))
    ok, value = pickle.loads(data)  # noqa: S301 - from our own child
    if ok:
        return value  # type: ignore[no-any-return]
    raise value


def ensure_hash_seed() -> None:
    """Start the process again with PYTHONHASHSEED=0, once, unless it is fixed already.

    The order of sets of texts depends on it, and so may a subject's behaviour.
    """
    if os.environ.get("PYTHONHASHSEED") == "0" or os.environ.get(_MARK):
        return
    environment = dict(os.environ, PYTHONHASHSEED="0", **{_MARK: "1"})
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


def _child(fn: Callable[[], Any], writing: int, dump: int, wall_limit_s: float) -> None:
    """Run `fn` and leave the process; nothing of the parent's may run here."""
    code = 1
    try:
        # Ctrl-C is the parent's business; an orphan ends itself.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, wall_limit_s + 3 * _DUMP_LIMIT_S)
        faulthandler.register(signal.SIGUSR1, file=dump, all_threads=True)
        try:
            result = (True, fn())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the parent
            result = (False, _portable(error))
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(result, pipe, protocol=pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _portable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 - any exception may resist pickling
        return InternalError("".join(traceback.format_exception(error)))
    return error


def _read_all(reading: int, deadline_s: float) -> bytes | None:
    """Return all bytes up to the end, or None when the deadline comes first."""
    parts = []
    while True:
        left_s = deadline_s - _monotonic()
        if left_s <= 0 or not select.select([reading], [], [], left_s)[0]:
            return None
        part = os.read(reading, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _where_it_hangs(child: int, dump: int) -> tuple[str, ...]:
    os.kill(child, signal.SIGUSR1)
    deadline_s = _monotonic() + _DUMP_LIMIT_S
    text = ""
    while _monotonic() < deadline_s:
        seen, text = text, os.pread(dump, 1 << 20, 0).decode(errors="replace")
        if text and text == seen:
            break
        time.sleep(0.02)
    return describe_dump(text) or ("the process did not answer",)


def describe_dump(text: str) -> tuple[str, ...]:
    """Return one line for each thread of a faulthandler dump, without any path."""
    threads: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith(("Thread", "Current thread")):
            threads.append([])
        elif (match := _FRAME.match(line)) and threads:
            short = match["file"].rsplit("/", 1)[-1]
            threads[-1].append(f"{short}:{match['line']} {match['name']}")
    return tuple(
        f"thread {number}: {' <- '.join(frames[:_FRAMES_MAX])}"
        for number, frames in enumerate(threads, start=1)
        if frames
    )


def _describe_status(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"the process was ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the process ended with exit code {os.WEXITSTATUS(status)} and no result"
