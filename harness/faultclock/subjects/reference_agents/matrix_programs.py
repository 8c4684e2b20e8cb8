"""Running the program of a stage: an agent on the command line, or the command of the tests.

    run.started -> run.spawned -> (run.stdout.line | run.stderr.line)* -> [run.terminating]
                -> run.completed{code | signal}
    run.started -> run.failed          where there is no such program

A program has its stage's time. One whose time is up, that is denied a permission again and again,
or whose stage is cancelled, is told to stop, and killed five seconds later. It is never left
behind. What its end means is for `matrix_reading` to say.
"""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from typing import Any

from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.matrix_reading import ProgramRun, is_denial

Emit = Callable[..., None]


class _DeniedTooOftenError(Exception):
    """The program asks again and again for what it is not granted."""


class ProgramRunner:
    """Runs programs, one at a time.

    Args:
        emit: takes the name of an event and its fields.
        denials_max: lines about a denied permission after which a program is stopped.

    Attributes:
        grace_s: seconds between SIGTERM and SIGKILL.
    """

    grace_s = 5.0

    def __init__(self, emit: Emit, denials_max: int) -> None:
        self.emit = emit
        self.denials_max = denials_max
        self.runs = 0

    async def run(self, node: Node, attempt: int) -> ProgramRun:
        """Run the program of `node` once.

        Raises:
            asyncio.CancelledError: the stage was cancelled; the program has ended by then.
        """
        self.runs += 1
        name = f"{node.id}-{self.runs}"
        run = ProgramRun(argv=node.argv)
        self.emit("run.started", run=name, stage=node.id, role=node.role, attempt=attempt)
        try:
            process = await asyncio.create_subprocess_exec(
                *node.argv, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
            )
        except FileNotFoundError:
            self.emit("run.failed", run=name, error="ENOENT")
            return run
        self.emit("run.spawned", run=name)
        try:
            await self.follow(process, run, name, node)
        except _DeniedTooOftenError:
            run.denied = True
            await self.stop(process, name, "permission_denied_loop")
        except TimeoutError:
            run.timed_out = True
            await self.stop(process, name, "timeout")
        except asyncio.CancelledError:
            await self.stop(process, name, "canceled")
            raise
        finally:
            self.completed(process, run, name)
        return run

    async def follow(self, process: Process, run: ProgramRun, name: str, node: Node) -> None:
        """Read what the program writes until it has ended.

        Raises:
            TimeoutError: its time is up.
        """
        async with asyncio.timeout(node.timeout_s):
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.read(process.stdout, "stdout", run, name))
                    group.create_task(self.read(process.stderr, "stderr", run, name))
            except* _DeniedTooOftenError:
                raise _DeniedTooOftenError from None
            await process.wait()

    async def read(
        self, stream: asyncio.StreamReader | None, which: str, run: ProgramRun, name: str
    ) -> None:
        """Note each line of one of its outputs."""
        assert stream is not None, "both outputs are pipes"
        lines = run.stdout if which == "stdout" else run.stderr
        while text := await stream.readline():
            line = text.decode("utf-8", "replace").rstrip("\r\n")
            lines.append(line)
            self.emit(f"run.{which}.line", run=name, line=line)
            if is_denial(which, line):
                run.denials += 1
                if run.denials >= self.denials_max:
                    raise _DeniedTooOftenError

    async def stop(self, process: Process, name: str, reason: str) -> None:
        """Tell the program to stop, and see to it that it does."""
        if process.returncode is not None:
            return
        self.emit("run.terminating", run=name, reason=reason)
        process.terminate()
        try:
            async with asyncio.timeout(self.grace_s):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def completed(self, process: Process, run: ProgramRun, name: str) -> None:
        """Note how the program ended: with a status, or by a signal."""
        run.status = process.returncode
        how: dict[str, Any] = {"code": run.status}
        if run.status is not None and run.status < 0:
            how = {"signal": signal.Signals(-run.status).name}
        self.emit("run.completed", run=name, **how)
