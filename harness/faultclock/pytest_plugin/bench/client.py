"""A process beside this one in which scenarios are run, and what is told of it when it fails.

A run is equal to that of the command line only where it is made alike: under a fixed hash seed,
with the patches in place before the subject is imported. Neither can be had in a process that
runs pytest already. So a pytest process has one more, started when the first scenario is asked
for, and talks to it over a socket. Nothing here imports more than the standard library.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import faultclock
from faultclock.pytest_plugin.bench.values import Ask, Refused, Settings
from faultclock.pytest_plugin.bench.wire import receive, send

_HASH_SEED = "PYTHONHASHSEED"
#: Real seconds that a bench gets to end by itself.
_END_LIMIT_S = 5.0
_START = (
    "import sys; sys.path.insert(0, {root!r});"
    " from faultclock.pytest_plugin.bench.process import main; main({descriptor}, {parent})"
)


class BenchRefusedError(Exception):
    """What was asked for cannot be: the text says why, for people."""


class Bench:
    """One process that runs scenarios for one configuration.

    Args:
        settings: what it is opened with, at the first question.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._said: IO[bytes] | None = None
        self._read_to = 0

    def ask(self, question: Ask) -> Any:
        """Return the answer to `question`.

        Raises:
            BenchRefusedError: there is none; the text says why.
        """
        if self._process is None:
            self._start()
        answer = self._exchange(question)
        if isinstance(answer, Refused):
            raise BenchRefusedError(answer.text)
        return answer

    def said(self) -> str:
        """Return what was written to its standard output and error since the last time."""
        if self._said is None:
            return ""
        size = os.fstat(self._said.fileno()).st_size
        data = os.pread(self._said.fileno(), size - self._read_to, self._read_to)
        self._read_to = size
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """End the process; nothing happens when there is none."""
        process, self._process = self._process, None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if process is not None:
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._said is not None:
            self._said.close()
            self._said, self._read_to = None, 0

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        # What the subject writes is shown with the item, as pytest does with its own output.
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        with theirs:
            self._process = self._spawned(theirs, self._said)
        self._socket = ours
        send(ours, self._settings)

    def _spawned(self, theirs: socket.socket, said: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the process at the other end of our socket."""
        root = str(Path(faultclock.__file__).resolve().parents[1])
        start = _START.format(root=root, descriptor=theirs.fileno(), parent=os.getpid())
        return subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-c", start],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env=_environment(os.environ),
        )

    def _exchange(self, question: Ask) -> Any:
        assert self._socket is not None
        try:
            send(self._socket, question)
            return receive(self._socket)
        except (EOFError, OSError):
            raise BenchRefusedError(self._how_it_ended()) from None
        except BaseException:
            # An interrupt: the answer to this question must not be taken for that to the next.
            self._abandon()
            raise

    def _abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
        self.close()

    def _how_it_ended(self) -> str:
        process = self._process
        assert process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_LIMIT_S)
        code = process.returncode
        last = self.said().rstrip()
        self._abandon()
        ended = f"by signal {-code}" if code and code < 0 else f"with exit code {code}"
        text = f"the process that runs scenarios ended {ended}"
        return f"{text}; it said last:\n{last}" if last else text


class Benches:
    """All benches of one process, one for each settings."""

    def __init__(self) -> None:
        self._all: dict[Settings, Bench] = {}

    def of(self, settings: Settings) -> Bench:
        """Return the bench for `settings`."""
        return self._all.setdefault(settings, Bench(settings))

    def close(self) -> None:
        """End all of them."""
        for bench in self._all.values():
            bench.close()


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that the command line would run in."""
    # Which test is running is nothing that a run may depend on.
    # Nor how wide a terminal is, which decides where the lines of a finding end.
    environment = {
        name: value
        for name, value in ours.items()
        if not name.startswith("PYTEST_") and name not in ("COLUMNS", "LINES")
    }
    if environment.get(_HASH_SEED, "random") == "random":
        environment[_HASH_SEED] = "0"
    return environment
