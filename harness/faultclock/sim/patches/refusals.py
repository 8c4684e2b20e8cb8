"""What leaves the world, and is refused: processes, real threads, real sockets, alarms.

Two nets. Functions that can be replaced are replaced. Behind them an audit hook sees what
arrives at the interpreter by another way, such as a saved alias of the real socket class; it
cannot be removed, so it looks only while patches are installed and only at simulated threads.

Not visible: extension modules that block, sleep, or open sockets and threads in C. The known
ones are refused on import, and the watchdog ends a real block. Where a run has a process of its
own, `run/process/confinement.py` has the kernel refuse sockets and processes as well.
"""

from __future__ import annotations

import _posixsubprocess
import _thread
import multiprocessing.process
import signal
import sys
from asyncio import BaseEventLoop
from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.actors import current
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.patches import databases, names
from faultclock.sim.patches.registry import Patch, named_like, refusing

#: Audit events that mean a program. https://docs.python.org/3/library/audit_events.html
_PROGRAM_EVENTS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)

#: Audit events that mean a real network or a real clock.
_REFUSED_EVENTS = frozenset(
    {
        "socket.__new__",
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.getnameinfo",
        "socket.sendmsg",
        "socket.sendto",
        # CPython 3.13 tells of it: a real sleep reached by an alias that no walk could find.
        "time.sleep",
    }
)

#: Extension modules with sockets, threads or loops of their own, which nothing here reaches.
_REFUSED_MODULES = frozenset(
    {
        "_curl_cffi",
        "confluent_kafka",
        "curl_cffi",
        "gevent",
        "grpc",
        "psycopg2",
        "pycurl",
        "rdkafka",
        "uvloop",
    }
)

#: Devices whose entropy is nobody's seed. `os.urandom` is simulated, and does not open them.
_REFUSED_FILES = frozenset({"/dev/hwrng", "/dev/random", "/dev/urandom"})

#: Functions of the C library that a foreign function interface may not reach for in a run. What
#: was looked up before a run, or is called from an extension, only the kernel sees.
_REFUSED_SYMBOLS = frozenset(
    {
        "clock_gettime",
        "clock_nanosleep",
        "clone",
        "connect",
        "execv",
        "execve",
        "execvp",
        "fork",
        "getentropy",
        "getrandom",
        "gettimeofday",
        "nanosleep",
        "poll",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "pselect",
        "pthread_create",
        "rand",
        "random",
        "select",
        "sleep",
        "socket",
        "syscall",
        "system",
        "time",
        "usleep",
        "vfork",
    }
)

#: The audit events that mean something. Each run has hundreds of others.
_LOOKED_AT = frozenset(
    {"ctypes.dlsym", "import", "sqlite3.connect"} | _REFUSED_EVENTS | _PROGRAM_EVENTS | names.EVENTS
)

_armed = False
_hooked = False


def arm() -> None:
    """Let the audit hook look; it is added to the interpreter at the first time."""
    global _armed, _hooked
    _armed = True
    if not _hooked:
        _hooked = True
        sys.addaudithook(_audit)


def disarm() -> None:
    """Let the audit hook look away."""
    global _armed
    _armed = False


def _audit(event: str, args: tuple[Any, ...], looked_at: frozenset[str] = _LOOKED_AT) -> None:
    # While the interpreter ends there are events, and no globals.
    if event not in looked_at or not _armed:
        return
    if event in _REFUSED_EVENTS:
        if current() is not None:
            refuse(_named(event, args))
    elif event in _PROGRAM_EVENTS or (event == "ctypes.dlsym" and args[1] in _REFUSED_SYMBOLS):
        if current() is not None and not importing():
            refuse(_named(event, args))
    elif event == "import" and args[0] in _REFUSED_MODULES and current() is not None:
        refuse(f"import of {args[0]}, which does its own I/O in C,")
    elif event == "open" and args[0] in _REFUSED_FILES and current() is not None:
        refuse(f"reading {args[0]}")
    elif event == "sqlite3.connect":
        databases.connects(args[0])
    elif event in names.EVENTS and (what := names.escape_of(event, args)) is not None:
        refuse(what)


def _named(event: str, args: tuple[Any, ...]) -> str:
    if event == "subprocess.Popen" and args and args[1]:
        words = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
        return f"subprocess.Popen of {str(words[0]).rsplit('/', 1)[-1]!r}"
    if event == "ctypes.dlsym":
        return f"{args[1]} of the C library"
    return f"real {event}" if event.startswith("socket.") else event


def importing() -> bool:
    """Return whether a module is being imported.

    Importing is the interpreter's business, not the subject's: some libraries look for shared
    objects then, by running a program. Warm a subject up to keep that out of its runs.
    """
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _patches() -> tuple[Patch, ...]:
    wanted: list[tuple[Any, str, str]] = [
        (_thread, "start_new_thread", "_thread.start_new_thread"),
        (_thread, "start_new", "_thread.start_new"),
        (_thread, "start_joinable_thread", "_thread.start_joinable_thread"),
        (signal, "alarm", "signal.alarm"),
        (signal, "setitimer", "signal.setitimer"),
        (signal, "pause", "signal.pause"),
        (signal, "sigwait", "signal.sigwait"),
        (signal, "sigtimedwait", "signal.sigtimedwait"),
        (multiprocessing.process.BaseProcess, "start", "multiprocessing.Process.start"),
        # Its thread is no part of the world: it would talk to the real network, or not exist.
        (
            BaseEventLoop,
            "call_soon_threadsafe",
            "handing work to an event loop from outside the run",
        ),
    ]
    return (
        *(
            Patch(owner, name, refusing(text))
            for owner, name, text in wanted
            if hasattr(owner, name)
        ),
        Patch(_posixsubprocess, "fork_exec", _make_fork_exec),
    )


def _make_fork_exec(original: Callable[..., int]) -> Callable[..., int]:
    """Below `subprocess`, and no audit event tells of it."""

    def fork_exec(*args: Any) -> int:
        if current() is not None and not importing():
            refuse("_posixsubprocess.fork_exec")
        return original(*args)

    return named_like(fork_exec, original)


PATCHES: tuple[Patch, ...] = _patches()
