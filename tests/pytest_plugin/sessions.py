"""Runs pytest inside of a test, with the plugin, whether or not it is installed here.

A bench takes a second to import what it runs scenarios with, and this process has it already: so
here benches are forked from it. That one that is started by itself makes the same trace is shown
by `test_the_replay_line_makes_the_same_trace`.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Any

import pytest

# Imported before any inner session: what one imports first is forgotten after it, and would be
# imported again by each.
import harness.bench.judging
import harness.pytest_plugin.playing
import harness.pytest_plugin.provider
import harness.pytest_plugin.simulation  # noqa: F401
from harness.bench.client import Bench
from harness.bench.process import main
from harness.run.isolate import fork_process

__all__ = ["PLUGIN", "forked_benches", "inner", "outcomes", "project"]

#: How an inner session comes by the plugin.
PLUGIN = (
    ()
    if any(point.name == "faultclock" for point in entry_points(group="pytest11"))
    else ("-p", "harness.pytest_plugin")
)


def project(pytester: pytest.Pytester, *lines: str, also: Iterable[str] = ()) -> None:
    """Write a pyproject.toml with these lines of `[tool.faultclock]`, and others of pytest's."""
    text = "\n".join(["[tool.faultclock]", *lines, "[tool.pytest.ini_options]", *also])
    pytester.makefile(".toml", pyproject=text)


def inner(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run a session in this process; every warning is an error in it."""
    return pytester.runpytest_inprocess(*PLUGIN, "-W", "error", *words)


def outcomes(result: pytest.RunResult) -> dict[str, int]:
    """Return how many tests came out how."""
    return result.parseoutcomes()


@pytest.fixture
def forked_benches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every bench of this process forked from it."""
    monkeypatch.setattr(Bench, "_spawned", _forked)


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


def _forked(self: Bench, theirs: socket.socket, said: Any) -> _Forked:
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
