"""Lets the child that makes a run open no socket and start no process, also below Python.

Names that are replaced and an audit hook see Python alone. A library that asks the kernel itself,
by ctypes or from an extension, goes past them. So the child gives the kernel a filter (seccomp),
which holds such a system call back and reports it to the parent. The parent names the call, and
ends the run as an escape. Linux on x86-64 or ARM64; any user may install such a filter.

Two more ways end at the filter: sockets that were made before the run lead nowhere in the child,
and where another filter reports to some supervisor already, the kernel ends the child by SIGSYS.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import select
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

#: What the kernel does about a socket or a process: it reports the call, it ends the child by
#: SIGSYS, or it does nothing.
Holds = Literal["reported", "ended", "nothing"]

_NO_NEW_PRIVS = 38  # prctl; this and all below are from <linux/*.h>
_SET_FILTER, _NEW_LISTENER, _SPEC_ALLOW = 1, 1 << 3, 1 << 2
_KILL, _REPORT, _ALLOW, _ERRNO = 0x80000000, 0x7FC00000, 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
#: Offsets in `struct seccomp_data`: number of the call, architecture, lower half of argument 1.
_NUMBER, _ARCH, _FIRST = 0, 4, 16
_CLONE_THREAD = 0x10000
#: x86-64 has all calls a second time from here on, for another size of pointers.
_X32 = 0x40000000
#: `struct seccomp_notif` and `struct seccomp_notif_resp`, and the calls that take them.
_REPORT_LAYOUT, _ANSWER_LAYOUT = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_INT = struct.Struct("=i")
#: Real seconds after which a parent looks for reports, where the run has not ended.
_PATIENCE_S = 0.05
#: Descriptors of the standard streams, which may well be sockets.
_STANDARD = (0, 1, 2)


class _Machine(Struct, frozen=True, kw_only=True):
    """How the kernel numbers its calls on one architecture.

    Attributes:
        arch: its number, as a filter gets it.
        reported: number to name, of the other calls that no run makes.
    """

    arch: int
    seccomp: int
    clone: int
    socket: int
    sendmsg: int
    reported: Mapping[int, str]


#: The same on both architectures. `clone3` has its flags in memory, where no filter can look.
_CLONE3 = 435
_REPORTED = {425: "io_uring_setup", 438: "pidfd_getfd"}
_MACHINES = {
    "x86_64": _Machine(
        arch=0xC000003E,
        seccomp=317,
        clone=56,
        socket=41,
        sendmsg=46,
        reported=_REPORTED
        | {42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 47: "recvmsg", 49: "bind"}
        | {50: "listen", 288: "accept4", 299: "recvmmsg", 307: "sendmmsg", 101: "ptrace"}
        | {57: "fork", 58: "vfork", 59: "execve", 322: "execveat"},
    ),
    "aarch64": _Machine(
        arch=0xC00000B7,
        seccomp=277,
        clone=220,
        socket=198,
        sendmsg=211,
        reported=_REPORTED
        | {200: "bind", 201: "listen", 202: "accept", 203: "connect", 206: "sendto"}
        | {207: "recvfrom", 212: "recvmsg", 242: "accept4", 243: "recvmmsg", 269: "sendmmsg"}
        | {117: "ptrace", 221: "execve", 281: "execveat"},
    ),
}


class _Filter(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("count", ctypes.c_ushort), ("program", ctypes.c_char_p))


def _find_libc() -> ctypes.CDLL | None:
    try:
        found = ctypes.CDLL(None, use_errno=True)
        # Looked up here, before any simulation watches what a process loads.
        _ = found.prctl, found.syscall
    except (OSError, AttributeError):
        return None
    return found


_LIBC = _find_libc()
_MACHINE = _MACHINES.get(os.uname().machine) if sys.platform == "linux" else None
#: What holds in this process.
_held: Holds = "nothing"


class RefusedError(Exception):
    """The child asked the kernel for what no run may have, and waits for an answer.

    Attributes:
        what: the call.
        answer: lets the call fail.
    """

    def __init__(self, what: str, answer: Callable[[], None]) -> None:
        super().__init__(what)
        self.what = what
        self.answer = answer


class Watch:
    """What a parent keeps for one child: made before the fork, closed when the child has ended."""

    def __init__(self) -> None:
        # What the child would have to work out is worked out here: each page that it touches first
        # is copied for it.
        self._sockets = _open_sockets()
        self._ours, self._theirs = socket.socketpair()
        self._program = None if _MACHINE is None else _program(self._theirs.fileno(), _REPORT)
        self._listener: int | None = None

    def close(self) -> None:
        """Close all that is open."""
        self._ours.close()
        self._theirs.close()
        if self._listener is not None:
            os.close(self._listener)
            self._listener = None

    def cut_off(self) -> None:
        """In the child: let its sockets lead nowhere; those of other processes are as before."""
        for descriptor in self._sockets:
            nowhere, other_end = socket.socketpair()
            other_end.close()
            os.dup2(nowhere.fileno(), descriptor)
            nowhere.close()

    def hand_over(self) -> Holds:
        """In the child: install the filter, and give the parent the other end of its reports."""
        if self._program is None or _LIBC is None or _LIBC.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
            return "nothing"
        listener = _install(self._program, _NEW_LISTENER)
        if listener < 0:
            # The kernel has no reports, or there is a supervisor already.
            return "nothing" if _install(_program(-1, _KILL)) < 0 else "ended"
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, _INT.pack(listener))
        self._theirs.sendmsg([b"\0"], [rights])
        os.close(listener)
        return "reported"

    def until_readable(self, descriptor: int, deadline_s: float) -> None:
        """Return when `descriptor` can be read, or the deadline has come.

        Args:
            deadline_s: of `time.monotonic`.

        Raises:
            RefusedError: the child asked for something.
        """
        self._theirs.close()
        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        # Most runs end sooner, and wake this process once in all.
        poller.poll(min(_PATIENCE_S, max(0.0, deadline_s - time.monotonic())) * 1_000)
        if (listener := self._taken_over(deadline_s)) is not None:
            poller.register(listener, select.POLLIN)
        while (left_s := deadline_s - time.monotonic()) > 0:
            woken = dict(poller.poll(left_s * 1_000))
            if listener is not None and (events := woken.get(listener)):
                if events & select.POLLIN:
                    self._report(listener)
                # No process has the filter any more.
                poller.unregister(listener)
                listener = None
            if descriptor in woken:
                return

    def _taken_over(self, deadline_s: float) -> int | None:
        """Return the end that the child has sent; None where it could install no filter."""
        if self._program is not None and self._listener is None:
            self._ours.settimeout(max(0.001, deadline_s - time.monotonic()))
            with contextlib.suppress(OSError):
                _, found, _, _ = self._ours.recvmsg(1, socket.CMSG_SPACE(_INT.size))
                for _, _, data in found:
                    (self._listener,) = _INT.unpack(data)
        return self._listener

    def _report(self, listener: int) -> None:
        asked = bytearray(_REPORT_LAYOUT.size)
        with contextlib.suppress(OSError):
            # It fails where the child was killed meanwhile.
            fcntl.ioctl(listener, _RECEIVE, asked)
            number, _, _, call, _, _, *arguments = _REPORT_LAYOUT.unpack(asked)
            response = _ANSWER_LAYOUT.pack(number, 0, -errno.EPERM, 0)

            def answer() -> None:
                # A signal may have ended the wait.
                with contextlib.suppress(OSError):
                    fcntl.ioctl(listener, _ANSWER, response)
                # All that it asks for from now on fails.
                self.close()

            raise RefusedError(_words(call, arguments[0]), answer)


def confine(watch: Watch) -> Holds:
    """Refuse this process every socket and every new process from here on, for good.

    Sockets that are open lead nowhere afterwards, but for those in the place of the standard
    streams.

    Args:
        watch: made by the parent, which is given the other end of the reports.

    Returns:
        What holds. Where the kernel has no such filter, only the sockets are cut off.
    """
    global _held
    watch.cut_off()
    _held = watch.hand_over()
    watch.close()
    return _held


def held() -> Holds:
    """Return what holds in this process."""
    return _held


def _install(program: bytes, flags: int = 0) -> int:
    """Return what the kernel answers: a descriptor or 0, and below 0 that it will not."""
    assert _LIBC is not None
    assert _MACHINE is not None
    given = ctypes.byref(_Filter(len(program) // 8, program))
    # Kernels before 5.16 would slow the process down without the last flag.
    answer: int = _LIBC.syscall(_MACHINE.seccomp, _SET_FILTER, flags | _SPEC_ALLOW, given)
    return answer


@lru_cache(maxsize=8)
def _program(channel: int, refuse: int) -> bytes:
    """Return the filter.

    Args:
        channel: the descriptor over which this process may still send a message.
        refuse: what the kernel does about a call that no run makes.
    """
    assert _MACHINE is not None
    steps = [(_LOAD, 0, 0, _ARCH), (_EQUAL, 1, 0, _MACHINE.arch), (_RETURN, 0, 0, _KILL)]
    steps += [(_LOAD, 0, 0, _NUMBER), (_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for call in _MACHINE.reported:
        steps += [(_EQUAL, 0, 1, call), (_RETURN, 0, 0, refuse)]
    # The C library then takes `clone`, which does the same.
    steps += [(_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for call, test, value, then, otherwise in (
        (_MACHINE.clone, _ANY_BIT, _CLONE_THREAD, _ALLOW, refuse),
        (_MACHINE.sendmsg, _EQUAL, channel & 0xFFFFFFFF, _ALLOW, refuse),
        # The C library looks for services of the machine, and does without.
        (_MACHINE.socket, _EQUAL, socket.AF_UNIX, _ERRNO | errno.EAFNOSUPPORT, refuse),
    ):
        steps += [(_EQUAL, 0, 4, call), (_LOAD, 0, 0, _FIRST), (test, 0, 1, value)]
        steps += [(_RETURN, 0, 0, then), (_RETURN, 0, 0, otherwise)]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _words(call: int, first: int) -> str:
    assert _MACHINE is not None
    if call == _MACHINE.socket:
        with contextlib.suppress(ValueError):
            return f"socket of family {socket.AddressFamily(first).name}"
        return f"socket of family {first}"
    named = {_MACHINE.clone: "fork", _MACHINE.sendmsg: "sendmsg"}
    return _MACHINE.reported.get(call) or named.get(call, f"system call {call}")


def _open_sockets() -> tuple[int, ...]:
    """Return the sockets of this process, but for those that are its standard streams."""
    found: list[int] = []
    with contextlib.suppress(OSError), os.scandir("/proc/self/fd") as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(entry.name)).st_mode):
                    found.append(int(entry.name))
    return tuple(item for item in found if item not in _STANDARD)
