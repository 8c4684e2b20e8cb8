"""Commands in forked children of one warm process, which all tests of a worker share.

To start an interpreter and to import everything takes longer than most of the commands. What is
about the start itself (the hash seed, an interrupt, what is imported) starts an interpreter of
its own.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any

from tests.architecture.source_tree import PROJECT

#: Real seconds after which a command is ended: none of the tests' takes as long.
LIMIT_S = 120.0


class Server:
    """A warm process that forks a child for each command."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(PROJECT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm.server"],
            cwd=PROJECT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def start(self, **request: Any) -> int:
        """Start a command, and return its process."""
        return int(self._ask(request)["pid"])

    def wait(self, process: int) -> int | None:
        """Return the exit code, or None if it had to be ended."""
        code: int | None = self._ask({"wait": process, "limit_s": LIMIT_S})["code"]
        return code

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


@cache
def warm_server() -> Server:
    """Return the one of this process, started when it is first asked for."""
    server = Server()
    atexit.register(server.close)
    return server
