"""What leaves the world is refused by name, and hiding the refusal does not help."""

from __future__ import annotations

import _posixsubprocess
import _socket
import _thread
import asyncio
import ctypes
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import types
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from faultclock.sim.kernel.escapes import SimEscape
from tests.sim.running import facts, run

_ACTS: dict[str, tuple[Callable[[], Any], str]] = {
    "subprocess.run": (lambda: subprocess.run(["/bin/true"]), "subprocess.Popen of 'true'"),
    "shell": (lambda: subprocess.check_output("true", shell=True), "subprocess.Popen of '/bin/sh'"),
    "os.system": (lambda: os.system("true"), "os.system"),
    "os.fork": (os.fork, "os.fork"),
    "os.execv": (lambda: os.execv("/bin/true", ["true"]), "os.exec"),
    "os.posix_spawn": (lambda: os.posix_spawn("/bin/true", ["true"], {}), "os.posix_spawn"),
    # Refused before it looks at what it is given.
    "fork_exec": (lambda: _posixsubprocess.fork_exec(), "_posixsubprocess.fork_exec"),
    "multiprocessing": (
        lambda: multiprocessing.get_context("fork").Process(target=print).start(),
        "multiprocessing.Process.start",
    ),
    "process pool": (
        lambda: ProcessPoolExecutor(1, multiprocessing.get_context("fork")).submit(print).result(),
        "multiprocessing.Process.start",
    ),
    "saved socket class": (lambda: _socket.socket(), "real socket.__new__"),
    "unix socket": (lambda: socket.socket(socket.AF_UNIX), "socket.socket of family AF_UNIX"),
    "datagrams": (
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "socket.socket of type SOCK_DGRAM",
    ),
    "real resolver": (lambda: _socket.getaddrinfo("localhost", 80), "real socket.getaddrinfo"),
    "raw thread": (lambda: _thread.start_new_thread(print, ()), "_thread.start_new_thread"),
    "C library": (lambda: ctypes.CDLL(None).usleep(1), "usleep of the C library"),
    "entropy device": (lambda: Path("/dev/urandom").read_bytes(), "reading /dev/urandom"),
    "entropy descriptor": (lambda: os.open("/dev/random", os.O_RDONLY), "reading /dev/random"),
    "alarm": (lambda: signal.alarm(1), "signal.alarm"),
    "interval timer": (lambda: signal.setitimer(signal.ITIMER_REAL, 1), "signal.setitimer"),
}


@pytest.mark.parametrize("name", _ACTS)
def test_an_escape_is_refused_even_if_the_subject_hides_it(name: str) -> None:
    """The subject goes on, but the run ends as an escape, with what and where."""
    act, what = _ACTS[name]

    def subject() -> str:
        try:
            act()
        except BaseException as error:
            return type(error).__name__
        return "got out"

    world, ending = run(subject)
    assert ending.value == "SimEscape"
    assert ending.reason == "escape"
    (fact,) = facts(world, "leak")
    recorded = fact[1]["what"].replace("'sh'", "'/bin/sh'")
    assert recorded == what
    assert fact[1]["site"].startswith("tests.sim.test_escapes:")
    assert ending.detail == (f"{fact[1]['what']} at {fact[1]['site']}",)


def test_a_harmless_function_of_a_c_library_may_be_called() -> None:
    """Only what sleeps, reads clocks or entropy, connects or starts something is refused."""
    _, ending = run(lambda: ctypes.CDLL(None).abs(-3))
    assert (ending.reason, ending.value) == ("completed", 3)


def test_an_escape_ends_the_run_if_nobody_hides_it() -> None:
    """`except Exception` does not catch it."""

    def subject() -> str:
        try:
            os.system("true")
        except Exception:
            return "hidden"
        return "got out"

    _, ending = run(subject)
    assert (ending.reason, ending.value) == ("escape", None)
    assert isinstance(ending.error, SimEscape)


def test_an_escape_in_a_coroutine_is_sticky_too() -> None:
    """A task keeps the exception, the kernel keeps the fact."""

    async def subject() -> str:
        import asyncio

        async def escapes() -> None:
            os.system("true")

        await asyncio.gather(escapes(), return_exceptions=True)
        return "went on"

    _, ending = run(subject)
    assert (ending.reason, ending.value) == ("escape", "went on")


def test_an_escape_names_the_subjects_frame_not_the_librarys() -> None:
    """The site is where the subject, or a library of its, called the standard library."""
    module = types.ModuleType("their_adapter")
    exec(
        compile("import subprocess\ndef go():\n    subprocess.run(['true'])\n", "x.py", "exec"),
        module.__dict__,
    )
    world, _ = run(module.go)
    assert facts(world, "leak")[0][1]["site"] == "their_adapter:3"


def test_outside_a_run_everything_is_allowed() -> None:
    """The hook looks only at simulated threads."""
    assert subprocess.run([sys.executable, "-c", ""]).returncode == 0
    with socket.socket(socket.AF_UNIX) as sock:
        assert sock.fileno() > 0


def test_importing_may_run_a_program(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some libraries look for shared objects when they are imported."""
    (tmp_path / "looks_around.py").write_text(
        "import subprocess\nFOUND = subprocess.run(['/bin/true']).returncode\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def subject() -> int:
        import looks_around  # type: ignore[import-not-found]

        return int(looks_around.FOUND)

    try:
        world, ending = run(subject)
    finally:
        sys.modules.pop("looks_around", None)
    assert (ending.reason, ending.value) == ("completed", 0)
    assert world.kernel.leaks == []


def test_importing_may_not_open_a_real_socket(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that a subject imports in its run is its own code as well."""
    (tmp_path / "calls_home.py").write_text("import _socket\n_socket.socket()\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    def subject() -> None:
        import calls_home  # type: ignore[import-not-found]  # noqa: F401

    _, ending = run(subject)
    assert ending.reason == "escape"
    assert "real socket.__new__" in ending.detail[0]


def test_importing_a_library_with_its_own_io_is_refused(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sockets and threads would be invisible."""
    (tmp_path / "pycurl.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))

    def subject() -> None:
        import pycurl  # type: ignore[import-not-found]  # noqa: F401

    world, ending = run(subject)
    assert ending.reason == "escape"
    assert "pycurl" in world.kernel.leaks[0][0]


def test_a_lock_released_by_a_real_thread_is_a_leak() -> None:
    """The wait ends, but the run proves nothing: real time was in it."""
    import threading

    from faultclock.sim.kernel.threads import start_new_thread

    lock = threading.Lock()
    lock.acquire()

    def subject() -> bool:
        def beside() -> None:
            # Keeps the world turning until the real thread has done it.
            while lock.locked():
                time.sleep(0.001)

        thread = threading.Thread(target=beside)
        waiter = threading.Thread(target=lock.acquire)
        waiter.start()
        time.sleep(1)
        start_new_thread(lock.release, ())
        thread.start()
        waiter.join(1_000)
        return waiter.is_alive()

    world, _ = run(subject)
    assert [what for what, _ in world.kernel.leaks] == ["a lock released by a real thread"]


def test_an_event_loop_from_outside_the_run_is_refused() -> None:
    """Its thread would talk to the real network; in an isolated run it does not even exist."""

    async def never_awaited() -> None:
        """Do nothing."""

    loop = asyncio.new_event_loop()

    def subject() -> None:
        work = never_awaited()
        try:
            asyncio.run_coroutine_threadsafe(work, loop)
        finally:
            work.close()

    try:
        _, ending = run(subject)
    finally:
        loop.close()
    assert ending.reason == "escape"
    assert "an event loop from outside the run" in ending.detail[0]
