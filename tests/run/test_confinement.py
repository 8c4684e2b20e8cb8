"""What goes past Python reaches no socket and starts no process, and the run says what it was."""

from __future__ import annotations

import _posixsubprocess
import _socket
import ctypes
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.run.process import confinement
from faultclock.run.process.confinement import held
from faultclock.run.process.isolate import run_isolated
from faultclock.run.suite import run_one
from tests.run.conftest import small
from tests.run.unsteady_subjects import binding_of

#: As a library has them that looked for them at its import; no walk over modules finds these.
_LIBC = ctypes.CDLL(None)
_HELD: dict[str, Any] = {
    **{name: getattr(_LIBC, name) for name in ("socket", "connect", "fork", "system")},
    "fork_exec": _posixsubprocess.fork_exec,
    "socket class": _socket.socket,
}

PATIENT_S = 60.0
HOLDS = run_isolated(held, wall_limit_s=PATIENT_S)


def filter_by_hand(flags: int) -> bool:
    """Return whether the kernel takes a filter that allows everything, from this process."""
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(allow)))
    number = {"x86_64": 317, "aarch64": 277}.get(os.uname().machine)
    if number is None or _LIBC.prctl(38, 1, 0, 0, 0) != 0:
        return False
    return bool(_LIBC.syscall(number, 1, flags, program) >= 0)


needs_reports = pytest.mark.skipif(HOLDS != "reported", reason="the kernel reports no calls here")


@pytest.mark.parametrize(("flags", "wanted"), [(0, ("reported", "ended")), (8, ("reported",))])
def test_what_the_kernel_can_do_is_used(flags: int, wanted: tuple[str, ...]) -> None:
    """Otherwise the tests below would be skipped where the filter itself is broken."""
    if run_isolated(lambda: filter_by_hand(flags), wall_limit_s=PATIENT_S, confined=False):
        assert HOLDS in wanted


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Have a real socket that waits for connections."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield listener


def reached(listener: socket.socket) -> bool:
    """Return whether a connection came."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def with_act(act: Callable[[], object]) -> Trace:
    """Run a subject that does this before it asks its provider as it should."""

    return run_one(small(), binding_of("past-python", float, before=act), 0, isolate=True)


def hidden(act: Callable[[], object]) -> Callable[[], object]:
    """Return a function that goes on whatever comes of `act`."""

    def acts() -> None:
        try:
            act()
        except BaseException:  # a subject that hides it
            return

    return acts


def connect_by_libc(port: int) -> None:
    """Connect as an extension does."""
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), b"\x7f\0\0\1")
    made = _HELD["socket"](socket.AF_INET, socket.SOCK_STREAM, 0)
    _HELD["connect"](made, address, len(address))


def fork_exec(path: Path) -> None:
    """Start a program below `subprocess`."""
    reads, writes = os.pipe()
    before = (["sh", "-c", f"echo ran > {path}"], [b"/bin/sh"], True, (), None, None)
    after = (*[-1] * 6, reads, writes, False, False, -1, None, None, None, -1, None)
    _HELD["fork_exec"](*before, *after, *((False,) if sys.version_info < (3, 14) else ()))


def assert_escape(model: ErrorModel, trace: Trace, what: str) -> None:
    """Fail unless the run proves nothing, and says by its name what it reached for."""
    assert trace.footer.ending == "escape"
    assert what in trace.footer.detail[0]
    findings = judge(model, trace).findings
    assert verdict_of(findings) is Verdict.INCONCLUSIVE
    (whole,) = [item for item in findings if item.check == "evidence.whole"]
    assert f"the subject left the simulation: {trace.footer.detail[0]}" in whole.observed


@needs_reports
def test_a_socket_of_the_c_library_reaches_nobody(
    model: ErrorModel, listening: socket.socket
) -> None:
    """The function was looked up at import, where no hook of Python sees the call."""
    port = listening.getsockname()[1]
    trace = with_act(hidden(lambda: connect_by_libc(port)))
    assert not reached(listening)
    assert_escape(model, trace, "the system call socket of family AF_INET")
    assert "connect_by_libc" in trace.footer.detail[1]


@needs_reports
@pytest.mark.parametrize("name", ["fork", "system"])
def test_a_process_of_the_c_library_never_exists(
    model: ErrorModel, name: str, tmp_path: Path
) -> None:
    """Neither `fork` nor what is built on it."""
    arguments = {"fork": (), "system": (f"echo ran > {tmp_path / 'ran'}".encode(),)}[name]

    def act() -> None:
        if _HELD[name](*arguments) == 0 and name == "fork":
            os._exit(0)

    assert_escape(model, with_act(hidden(act)), "the system call fork")
    assert not (tmp_path / "ran").exists()


@needs_reports
def test_a_held_fork_exec_starts_no_program(model: ErrorModel, tmp_path: Path) -> None:
    """`subprocess` is built on it, and no audit event tells of it."""
    trace = with_act(hidden(lambda: fork_exec(tmp_path / "ran")))
    assert_escape(model, trace, "fork")
    assert not (tmp_path / "ran").exists()


def test_a_held_socket_class_reaches_nobody(model: ErrorModel, listening: socket.socket) -> None:
    """It was bound to a name before anything was replaced."""

    def act() -> None:
        _HELD["socket class"]().connect(listening.getsockname())

    trace = with_act(hidden(act))
    assert not reached(listening)
    assert_escape(model, trace, "real socket.__new__")


@needs_reports
def test_a_connection_from_before_the_run_carries_nothing(
    model: ErrorModel, listening: socket.socket
) -> None:
    """What is sent over it is reported; what is written to its descriptor leads nowhere."""
    with socket.create_connection(listening.getsockname()) as connection:
        other_end, _ = listening.accept()
        other_end.setblocking(False)
        with other_end:
            trace = with_act(hidden(lambda: connection.sendall(b"real")))
            assert_escape(model, trace, "the system call sendto")
            with_act(hidden(lambda: os.write(connection.fileno(), b"real")))
            with pytest.raises(BlockingIOError):
                other_end.recv(1)
            connection.sendall(b"after")
            other_end.setblocking(True)
            assert other_end.recv(5) == b"after"


@needs_reports
@pytest.mark.parametrize("thread", [False, True])
def test_threads_and_pairs_of_sockets_are_left_alone(thread: bool) -> None:
    """Event loops and libraries need both, and neither leads out of the process."""

    def act() -> str:
        if not thread:
            here, there = socket.socketpair()
            os.write(here.fileno(), b"here")
            return os.read(there.fileno(), 9).decode()
        said: list[str] = []
        beside = threading.Thread(target=lambda: said.append("here"))
        beside.start()
        beside.join()
        return said[0]

    assert run_isolated(act, wall_limit_s=PATIENT_S) == "here"


@needs_reports
def test_a_service_of_the_machine_is_not_there() -> None:
    """The C library looks for one to name a user, and does without; that is no escape."""
    made = run_isolated(lambda: _HELD["socket"](socket.AF_UNIX, 1, 0), wall_limit_s=PATIENT_S)
    assert made == -1


@needs_reports
def test_without_reports_the_kernel_ends_the_child(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So it is where another supervisor listens to the process already."""
    monkeypatch.setattr(confinement, "_NEW_LISTENER", 1 << 30)
    trace = with_act(lambda: _HELD["socket"](socket.AF_INET, socket.SOCK_STREAM, 0))
    assert_escape(model, trace, "a system call for a socket or a process")


def test_importing_may_run_a_program_where_no_verdict_depends_on_it() -> None:
    """A subject is warmed without the filter."""
    done = run_isolated(
        lambda: subprocess.run(["true"]).returncode, wall_limit_s=PATIENT_S, confined=False
    )
    assert done == 0
