"""Runs a module in processes of Node, one for each life of a subject.

From the second life on, the next process is started ahead: it loads the module while the run
before it is being made. After the first one it is not yet known that there will be another.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from faultclock.errors import InternalError, SubjectError
from faultclock.subjects.foreign import Event, ForeignWorld

#: The version of the protocol that is spoken here.
PROTOCOL = 3
#: The oldest Node that is tried: 20 is the oldest whose clock functions are all replaced.
OLDEST = 20

_HOST = str(Path(__file__).with_name("host.cjs"))
#: Warnings go to nobody; the stack is deep enough for SDKs that call themselves.
_FLAGS = ("--no-warnings",)
#: One thread for files and compression does them in order; the rest changes what Node does.
_SET = {"UV_THREADPOOL_SIZE": "1", "TZ": "UTC", "NO_COLOR": "1"}
_TAKEN = ("NODE_OPTIONS", "NODE_DEBUG", "NODE_V8_COVERAGE", "NODE_EXTRA_CA_CERTS", "FORCE_COLOR")
#: Real seconds that a module may take to be loaded.
LOAD_LIMIT_S = 60.0
_READ_MAX = 1 << 20
#: The functions themselves: in a run, others stand in their place.
_read, _write = os.read, os.write


def node_command() -> str:
    """Return the Node of this machine.

    Raises:
        SubjectError: there is none.
    """
    found = shutil.which("node")
    if found is None:
        raise SubjectError(
            "there is no Node here: the command `node` is not found",
            hint=f"install Node {OLDEST} or newer, so that `node --version` answers",
        )
    return found


class NodeProcess:
    """One process with the module loaded, between two lines.

    Args:
        prepare: called in the new process before Node begins.
        making: an export that makes an agent: it is called, and what it makes is in the greeting.
    """

    def __init__(
        self, file: Path, prepare: Callable[[], None] | None = None, *, making: str = ""
    ) -> None:
        environment = {key: it for key, it in os.environ.items() if key not in _TAKEN} | _SET
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the person's own program
                [node_command(), *_FLAGS, _HOST, *map(str, (theirs_in, theirs_out, file)), making],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs_in, theirs_out),
                env=environment,
                preexec_fn=prepare,
            )
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        #: Kills it, also when nobody holds this object any more.
        self.end = weakref.finalize(self, _end, os.getpid(), self._process, (self._out, self._in))
        self._read = b""
        self._greeting: Event | None = None

    def greeting(self, limit_s: float | None) -> Event | None:
        """Return the first line: what the module exports, or why it does not load.

        Args:
            limit_s: real seconds that it may take; None: no limit of ours.

        Returns:
            None where the process has ended without one.

        Raises:
            TimeoutError: it does not come in time.
        """
        if self._greeting is None:
            self._greeting = self._line(limit_s)
        return self._greeting

    def exchange(self, turn: Event) -> Event | None:
        """Give it one turn; None where it has ended."""
        greeting = self.greeting(None)
        if greeting is None or "failed" in greeting:
            return None
        with contextlib.suppress(BrokenPipeError):
            data = json.dumps(turn, separators=(",", ":")).encode() + b"\n"
            while data:
                data = data[_write(self._out, data) :]
        return self._line(None)

    def _line(self, limit_s: float | None) -> Event | None:
        while b"\n" not in self._read:
            if limit_s is not None and not select.select([self._in], [], [], limit_s)[0]:
                raise TimeoutError
            data = _read(self._in, _READ_MAX)
            if not data:
                return None
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        try:
            event: Event = json.loads(line)
        except ValueError as error:
            raise InternalError(f"a host of the protocol wrote no JSON: {error}") from error
        return event


def _end(owner: int, process: subprocess.Popen[bytes], descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
    if os.getpid() == owner:
        process.kill()
        process.wait()
    else:
        # A process that was forked since has inherited the object alone.
        process.returncode = 0


class NodeProgram:
    """A module, and the processes that run it; see `ForeignProgram`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._process: NodeProcess | None = None
        self._has_lived = False
        self._ahead: tuple[int, NodeProcess] | None = None
        self.world: ForeignWorld | None = None

    @contextmanager
    def alive(self, prepare: Callable[[], None]) -> Iterator[None]:
        """Have a process that loads, or has loaded, the module."""
        here = os.getpid()
        ahead, self._ahead = self._ahead, None
        # One that another process has started is not ours: it inherited the descriptors alone.
        mine = ahead is not None and ahead[0] == here
        process = ahead[1] if ahead and mine else NodeProcess(self._file, prepare)
        if self._has_lived:
            self._ahead = here, NodeProcess(self._file, prepare)
        self._has_lived = True
        self._process = process
        try:
            yield
        finally:
            self._process = None
            process.end()

    def exchange(self, turn: Event) -> Event:
        """Give the process a turn. One that is gone spoils the run: nothing shows why."""
        assert self._process is not None, "no process is alive"
        answer = self._process.exchange(turn)
        if answer is not None:
            return answer
        what = "a process of Node that ended without a word"
        ends: list[Event] = [{"op": op, "what": what, "stack": []} for op in ("refused", "ended")]
        return {"next_ns": None, "events": ends}
