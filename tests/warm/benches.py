"""Benches that are forked from the process that asks them, where that one is warm already.

A bench of pytest's plugin takes a second to import what it runs scenarios with. That one that is
started by itself makes the same trace is shown by `test_the_replay_line_makes_the_same_trace`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from typing import Any

from faultclock.pytest_plugin.bench.client import Bench
from faultclock.pytest_plugin.bench.process import main
from faultclock.run.process.child import fork_process


class _Forked:
    """What a bench asks of its process."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        deadline_s = time.monotonic() + (60 if timeout is None else timeout)
        while self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired("bench", 0)
            else:
                time.sleep(0.002)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def forked(self: Bench, theirs: socket.socket, said: Any) -> _Forked:
    """Stand in for `Bench._spawned`: fork a bench from this process."""
    parent = os.getpid()
    pid = fork_process()
    if pid == 0:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        # Without the other end of the socket, or it would never seem closed.
        kept = os.dup2(theirs.fileno(), 3)
        os.closerange(4, 1 << 16)
        try:
            main(kept, parent)
        finally:
            os._exit(0)
    return _Forked(pid)
