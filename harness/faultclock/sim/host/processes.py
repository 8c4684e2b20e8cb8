"""Processes: the children that a subject starts, none of which exists.

A Child is what the operating system would know of one: its number, what it has written and
nobody has read, how it ended. Who plays the program, a ProgramHost, writes and ends it on the
kernel's clock; the subject reads, waits and signals through Python's own API (the patches in
`patches.processes` and the transports in `process_transports` see to that). It knows no scripts.

A world whose kernel has no Processes refuses to start anything.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from typing import Protocol

from faultclock.sim.kernel.actors import TIMED_OUT, Wake, current
from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.kernel import Kernel

#: Where a kernel keeps its processes.
PART = "processes"

#: Linux gives no process a number above 4,194,304, so nothing real can be meant by these.
_PID_BASE = 5_000_000
_PIDS_PER_LIFE = 100_000

#: Signals that do nothing to a program that has no handler for them.
_HARMLESS = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH})
_STOPS = frozenset({signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU})


class ProgramRun(Protocol):
    """One execution of a program, as whoever plays it sees it."""

    def signalled(self, number: signal.Signals) -> None:
        """Take a signal that would end a program without a handler."""
        ...


class ProgramHost(Protocol):
    """Whoever plays the programs of a world."""

    def has(self, program: str) -> bool:
        """Return whether somebody who looks for `program` now finds it."""
        ...

    def start(self, program: str, argv: tuple[str, ...], child: Child) -> ProgramRun | None:
        """Begin to execute it, or return None: there is no such program. It must not block."""
        ...


class _Watched:
    """Something that changes: threads wait for that, and a loop is told of it."""

    __slots__ = ("_kernel", "_reason", "_wakes", "_watchers")

    def __init__(self, kernel: Kernel, reason: str) -> None:
        self._kernel = kernel
        self._reason = reason
        self._wakes: list[Wake] = []
        self._watchers: list[Callable[[], None]] = []

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call `watcher` at every change; it must not block."""
        self._watchers.append(watcher)

    def _tell(self) -> None:
        for wake in self._wakes:
            self._kernel.fire(wake)
        for watcher in tuple(self._watchers):
            watcher()

    def _wait(self, ready: Callable[[], bool], timeout_ns: int | None) -> bool:
        """Block the calling simulated thread until `ready()`; return False at the deadline.

        Raises:
            SimEscape: the calling thread is in no world, or in another one.
            SimKilled: the run is over.
        """
        kernel = self._kernel
        deadline_ns = None if timeout_ns is None else kernel.now_ns + timeout_ns
        while not ready():
            here = current()
            if here is None or here[0] is not kernel:
                refuse("waiting for a program of another world")
            left_ns = None if deadline_ns is None else deadline_ns - kernel.now_ns
            wake = kernel.waiter(self._reason)
            self._wakes.append(wake)
            try:
                timed_out = kernel.park(wake, left_ns) is TIMED_OUT
            finally:
                self._wakes.remove(wake)
            if timed_out:
                return ready()
        return True


class OutputPipe(_Watched):
    """What a program writes and the subject reads. It has no capacity: writing never blocks.

    Attributes:
        ended: nobody writes any more.
        closed: nobody reads any more.
    """

    __slots__ = ("_unread", "closed", "ended")

    def __init__(self, kernel: Kernel, reason: str) -> None:
        super().__init__(kernel, reason)
        self._unread = bytearray()
        self.ended = False
        self.closed = False

    @property
    def readable(self) -> bool:
        """Whether a read would return at once."""
        return bool(self._unread) or self.ended or self.closed

    def feed(self, data: bytes) -> None:
        """Write."""
        if not (self.ended or self.closed):
            self._unread += data
            self._tell()

    def end(self) -> None:
        """Close the writing end."""
        if not self.ended:
            self.ended = True
            self._tell()

    def close(self) -> None:
        """Close the reading end; what was not read is gone."""
        self._unread.clear()
        self.closed = True

    def take(self, size: int) -> bytes:
        """Return up to `size` bytes that are there; nothing is not the end of the stream."""
        data = bytes(self._unread[:size])
        del self._unread[:size]
        return data

    def wait(self, timeout_ns: int | None = None) -> bool:
        """Block until it is readable; return False at the deadline."""
        return self._wait(lambda: self.readable, timeout_ns)

    def wait_for_end(self, timeout_ns: int | None) -> bool:
        """Block until nobody writes any more; return False at the deadline."""
        return self._wait(lambda: self.ended or self.closed, timeout_ns)


class InputPipe(_Watched):
    """What the subject writes and a program reads, if it does.

    Attributes:
        broken: the program has ended.
        reader: takes what is written, at once, and nothing at the end; None: all of it is lost.
    """

    __slots__ = ("broken", "reader")

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, "the input of a program")
        self.broken = False
        self.reader: Callable[[bytes], None] | None = None

    def write(self, data: bytes) -> None:
        """Write.

        Raises:
            BrokenPipeError: the program has ended.
        """
        if self.broken:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        if self.reader is not None and data:
            self.reader(data)

    def close(self) -> None:
        """Close the writing end."""
        if self.reader is not None and not self.broken:
            self.reader(b"")
        self.reader = None

    def end(self) -> None:
        """Close the reading end."""
        self.broken = True
        self._tell()


class Child(_Watched):
    """One started program.

    Args:
        leads: it has a session or process group of its own, whose number is its own.

    Attributes:
        stdin, stdout, stderr: None where the subject has asked for no pipe. Both outputs may be
            the same pipe.
        returncode: None while it runs; a negative one is the signal that ended it.
        collected: somebody has been told how it ended, so its number means nothing any more.
    """

    __slots__ = ("_run", "collected", "leads", "pid", "returncode", "stderr", "stdin", "stdout")

    def __init__(
        self,
        kernel: Kernel,
        pid: int,
        reason: str,
        *,
        stdin: InputPipe | None = None,
        stdout: OutputPipe | None = None,
        stderr: OutputPipe | None = None,
        leads: bool = False,
    ) -> None:
        super().__init__(kernel, reason)
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.leads = leads
        self.returncode: int | None = None
        self.collected = False
        self._run: ProgramRun | None = None

    def plays(self, run: ProgramRun) -> None:
        """Have `run` told of signals."""
        self._run = run

    @property
    def complains(self) -> bool:
        """Whether the program may write to its standard error."""
        return getattr(self._run, "complains", True)

    # ------------------------------------------------------------------ for the program

    def write(self, stream: str, data: bytes) -> None:
        """Write to "stdout" or "stderr"; where nobody asked for it, it is lost."""
        pipe = self.stdout if stream == "stdout" else self.stderr
        if pipe is not None:
            pipe.feed(data)

    def end(self, returncode: int) -> None:
        """End it, once: its streams first, as with a real process."""
        if self.returncode is not None:
            return
        self.returncode = returncode
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.end()
        self._tell()

    # ------------------------------------------------------------------ for the subject

    def collect(self) -> int | None:
        """Return how it ended, None while it runs."""
        if self.returncode is not None:
            self.collected = True
        return self.returncode

    def wait(self, timeout_ns: int | None = None) -> bool:
        """Block until it has ended; return False at the deadline."""
        return self._wait(lambda: self.returncode is not None, timeout_ns)

    def signal(self, number: int) -> None:
        """Send it a signal; 0 only asks whether it is there.

        Raises:
            ProcessLookupError: it is not.
            OSError: there is no such signal.
        """
        if self.collected:
            raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
        if number == 0:
            return
        try:
            known = signal.Signals(number)
        except ValueError:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None
        if known in _STOPS:
            refuse(f"{known.name} to a simulated program")
        if self.returncode is None and known not in _HARMLESS and self._run is not None:
            self._run.signalled(known)


class Processes:
    """The process table of one world. Making it lets the subject start what `host` plays.

    Attributes:
        hosts: who plays programs; the first that has one plays it.
    """

    def __init__(self, kernel: Kernel, host: ProgramHost) -> None:
        self._kernel = kernel
        self.hosts = [host]
        self._children: dict[int, Child] = {}
        kernel.parts[PART] = self

    def has(self, program: str) -> bool:
        """Return whether somebody who looks for `program` now finds it."""
        return any(host.has(program) for host in self.hosts)

    def child(self, pid: object) -> Child | None:
        """Return the child with this number, if it is one of ours."""
        return self._children.get(pid) if isinstance(pid, int) else None

    def start(
        self,
        program: str,
        argv: tuple[str, ...],
        *,
        stdin: InputPipe | None = None,
        stdout: OutputPipe | None = None,
        stderr: OutputPipe | None = None,
        leads: bool = False,
        shell: bool = False,
    ) -> Child | None:
        """Start a program, or return None: there is none.

        Args:
            program: its name, without a folder.
            argv: its arguments, its name first.
            shell: a shell starts it, which does not fail where it finds no such program, but
                says so and ends with status 127.
        """
        pid = _PID_BASE + (self._kernel.life - 1) * _PIDS_PER_LIFE + len(self._children) + 1
        child = Child(
            self._kernel,
            pid,
            f"the program {program!r}",
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            leads=leads,
        )
        started = (host.start(program, argv, child) for host in self.hosts)
        run = next((run for run in started if run is not None), None)
        if run is None and not shell:
            return None
        self._children[pid] = child
        if run is not None:
            child.plays(run)
        else:
            said = f"/bin/sh: 1: {argv[0]}: not found\n"
            child.write("stderr", said.encode(errors="surrogateescape"))
            self._kernel.call_after(0, child.end, 127)
        return child


def current_processes() -> Processes | None:
    """Return the processes of the calling thread's world; None outside, and where none start."""
    here = current()
    processes: Processes | None = None if here is None else here[0].parts.get(PART)
    return processes
