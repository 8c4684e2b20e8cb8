"""The side of a worker of a cluster: each of its threads keeps a clean process, and asks that.

A worker has threads and an event loop, and no world can be simulated beside them. So the runs are
made by the same code as ever in a process that has neither: it forks the host of the subject and
the children of the runs, like a command of this machine. It ends with the thread that keeps it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import faultclock
from faultclock.errors import InputError, InternalError
from faultclock.run.execute import versions
from faultclock.run.process.child import keep_from_children
from faultclock.run.process.frames import DamagedError, receive, send
from faultclock.run.process.lifeline import end_with
from faultclock.run.process.workers import Shared

#: Processes that a thread keeps, and values that such a process keeps: the last ones.
_KEPT_MAX = 2
#: A folder of an installed package that a checkout has elsewhere.
_BUNDLED = "_bundled"
#: What that process does. As a program of its own, this module would be there twice.
_MAIN = f"from {__name__} import main; main()"
_SAME = "install the same Faultclock and the same libraries for every worker, on the same Python"


class MissingError(InternalError):
    """A value was not sent there yet.

    Args:
        key: of the value.
    """

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class UnlikeError(InputError):
    """A worker makes other runs than this machine: it has other versions, or another subject."""


@cache
def facts() -> dict[str, str]:
    """Return what has to be the same wherever runs are made: versions, and our own files."""
    digest = hashlib.sha256()
    root = Path(faultclock.__file__).parent
    for path in sorted(root.rglob("*.*")):
        name = path.relative_to(root)
        if path.is_file() and path.suffix != ".pyc" and name.parts[0] != _BUNDLED:
            digest.update(f"{name.as_posix()} {path.stat().st_size}\n".encode())
            digest.update(path.read_bytes())
    return {**versions(), "files of faultclock": digest.hexdigest()[:12]}


# ---------------------------------------------------------------------- in the worker


class _Process:
    """A clean process of Faultclock."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-P", "-c", _MAIN, str(os.getpid())],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A Ctrl-C in the terminal is for the process that answers for the result.
            start_new_session=True,
        )

    def ask(self, task: bytes) -> bytes:
        """Have a task done."""
        assert self._process.stdin is not None, "it was made with pipes"
        assert self._process.stdout is not None, "it was made with pipes"
        send(self._process.stdin.fileno(), task)
        return receive(self._process.stdout.fileno())

    def end(self) -> None:
        """Kill it, and wait for its end."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()


#: By thread and session: a session is one process that has work done.
_processes: dict[tuple[int, str], _Process] = {}
_lock = threading.Lock()


def asked(session: str, task: bytes, values: Mapping[str, bytes]) -> bytes:
    """Have one task done by the process of this thread, and return its answer; see `_told`.

    Args:
        task: function, arguments and keywords, pickled; a Shared is named by its key.
        values: those that may not be known there yet, by key.
    """
    key = threading.get_ident(), session
    try:
        return _process_of(key).ask(pickle.dumps((task, values)))
    except (EOFError, OSError, DamagedError) as error:
        _end([key])
        return pickle.dumps(("raised", BrokenExecutor(f"the process of the runs ended: {error}")))


def end_session(session: str) -> None:
    """End the processes that work for a session, in all threads."""
    _end([key for key in tuple(_processes) if key[1] == session])


def _process_of(key: tuple[int, str]) -> _Process:
    with _lock:
        if key not in _processes:
            mine = [known for known in _processes if known[0] == key[0]]
            for known in mine[: len(mine) + 1 - _KEPT_MAX]:
                _processes.pop(known).end()
            _processes[key] = _Process()
        return _processes[key]


def _end(keys: list[tuple[int, str]]) -> None:
    with _lock:
        for key in keys:
            if (process := _processes.pop(key, None)) is not None:
                process.end()


# ---------------------------------------------------------------------- in the clean process


class _Unpickler(pickle.Unpickler):
    """Reads a task in which shared values are named."""

    def __init__(self, task: bytes, known: Mapping[str, Shared[Any]]) -> None:
        super().__init__(io.BytesIO(task))
        self._known = known

    def persistent_load(self, pid: str) -> Shared[Any]:
        """Return the value of that name."""
        if pid not in self._known:
            raise MissingError(pid)
        return self._known[pid]


def check_alike(here: Mapping[str, str]) -> None:
    """Refuse to make runs for a process whose `facts` are others.

    Raises:
        UnlikeError: what differs, and how.
    """
    there = facts()
    for name, wanted in here.items():
        if (found := there.get(name)) != wanted:
            raise UnlikeError(f"it has {name} {found}, and this is {wanted}", hint=_SAME)


def _done(known: dict[str, Shared[Any]], task: bytes, values: Mapping[str, bytes]) -> object:
    for key, value in values.items():
        if key in known:
            continue
        for old in tuple(known)[: len(known) + 1 - _KEPT_MAX]:
            _forget(known.pop(old))
        here, packed = pickle.loads(value)  # noqa: S301 - from whom we work for
        check_alike(here)
        try:
            known[key] = Shared(pickle.loads(packed), key)  # noqa: S301 - the same
        except InputError as error:
            raise UnlikeError(error.message, hint=error.hint) from None
    function: Callable[..., object]
    function, args, kwargs = _Unpickler(task, known).load()
    return function(*args, **kwargs)


def _forget(shared: Shared[Any]) -> None:
    close = getattr(shared.get(), "close", None)
    shared.close()
    if close is not None:
        close()


def main() -> NoReturn:
    """Do tasks until the worker closes the pipe."""
    end_with(int(sys.argv[1]))
    asks, tells = os.dup(0), os.dup(1)
    keep_from_children(asks, tells)
    # What is printed here belongs into the log of the worker.
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    known: dict[str, Shared[Any]] = {}
    code = 1
    try:
        while True:
            send(tells, _told(partial(_done, known), pickle.loads(receive(asks))))  # noqa: S301
    except (EOFError, BrokenPipeError):
        # The worker is done.
        code = 0
    finally:
        os._exit(code)


def _told(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Call it, and return what it comes to, pickled: "value" or "raised", and which."""
    try:
        return pickle.dumps(("value", function(*args)))
    except Exception as error:  # noqa: BLE001 - it is raised again on the other side
        data = pickle.dumps(("raised", error))
        # Many exceptions can be written and not be read again.
        pickle.loads(data)  # noqa: S301 - we wrote it just now
        return data
