"""Programs that carry out a stage: running one, and reading what its end and its output mean.

    run.started -> run.spawned -> (run.stdout.line | run.stderr.line)* -> [run.terminating]
                -> run.completed{code | signal}
    run.started -> run.failed          where there is no such program

A program has its stage's time. One whose time is up, that is denied a permission again and again,
or whose stage is cancelled, is stopped with SIGTERM, and killed five seconds later. It is never
left behind.

    ProgramRun --trouble_of--> Trouble with class and code, or None where it is good
               --answer_of--> the JSON that it answered, or why there is none

What a program complains of stands on its error output, or in an event of its NDJSON that says so
itself. What the assistant writes proves nothing: it may talk about tokens and networks all day.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from faultclock.agents.calls import misfit
from faultclock.agents.matrix_errors import (
    AUTH,
    DENIED,
    NETWORK,
    NOT_FOUND,
    RUNTIME,
    TIMEOUT,
)
from faultclock.agents.turn import Pair
from faultclock.subjects.ports import Node

Emit = Callable[..., None]

_DENIAL = re.compile(r"requested permissions? to .*haven't granted", re.IGNORECASE)
_QUOTA = re.compile(r"rate limit|quota|\b429\b|usage limit", re.IGNORECASE)
_AUTH = re.compile(
    r"\b40[13]\b|\binvalid[ _](?:api[ _]key|token)\b|\bunauthorized\b|\bauthentication failed\b",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"stream disconnected before completion|\bECONN[A-Z]+\b|\bENOTFOUND\b|\bETIMEDOUT\b"
    r"|socket hang up|connection reset",
    re.IGNORECASE,
)


class _DeniedTooOftenError(Exception):
    """The program asks again and again for what it is not granted."""


class Trouble(Struct, frozen=True):
    """What is wrong with a run; `pair` is None where the document has no row for it."""

    pair: Pair | None


class ProgramRun(Struct, kw_only=True):
    """One run of a program, as its parent sees it.

    Attributes:
        status: exit status; negative for the signal that ended it; None if it never started.
        timed_out: it was stopped because its time was up.
        denials: lines about a permission that was denied.
        denied: it was stopped because there were too many of them.
    """

    argv: tuple[str, ...]
    status: int | None = None
    stdout: list[str] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)
    timed_out: bool = False
    denials: int = 0
    denied: bool = False

    @property
    def raw(self) -> str:
        """Everything that it wrote."""
        return "\n".join([*self.stdout, *self.stderr])

    @property
    def said(self) -> str:
        """The last line of its error output, else its last complaint."""
        lines = [line for line in self.stderr if line.strip()] or list(complaints(self))
        return lines[-1] if lines else ""


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


def trouble_of(run: ProgramRun) -> Trouble | None:
    """Return what is wrong with a run, None where it is good.

    A run that ended by a signal is never good, even if it had answered by then. A rate limit or a
    quota is told by its words, so that it is not taken for anything that has a row.
    """
    if run.status is None:
        return Trouble(NOT_FOUND)
    if run.denied:
        return Trouble(DENIED)
    if run.timed_out:
        return Trouble(TIMEOUT)
    if run.status == 0 and not _ends_with_complaint(run):
        return None
    complained = "\n".join(complaints(run))
    if _QUOTA.search(complained):
        return Trouble(None)
    for pattern, pair in ((_AUTH, AUTH), (_NETWORK, NETWORK)):
        if pattern.search(complained):
            return Trouble(pair)
    return Trouble(RUNTIME)


def complaints(run: ProgramRun) -> Iterator[str]:
    """Yield what the program complains of, in no particular order."""
    yield from run.stderr
    for line in run.stdout:
        event = _event(line)
        if event is not None and _is_complaint(event):
            yield _message(event)


def is_denial(stream: str, line: str) -> bool:
    """Return whether `line` says that a tool was denied a permission."""
    event = _event(line)
    if event is not None:
        return bool(event.get("is_error")) and bool(_DENIAL.search(_message(event)))
    return stream == "stderr" and bool(_DENIAL.search(line))


def answer_of(run: ProgramRun, schema: Mapping[str, Any] | None) -> tuple[Any, str | None]:
    """Return what the program answered, and why it does not fit `schema` (None if it does)."""
    text = "\n".join(run.stdout)
    if schema is None:
        return text, None
    lines = [line for line in run.stdout if line.strip()]
    for candidate in (text, lines[-1] if lines else ""):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        return value, misfit(value, schema)
    return text, "the answer is no JSON"


def _ends_with_complaint(run: ProgramRun) -> bool:
    lines = [line for line in run.stdout if line.strip()]
    event = _event(lines[-1]) if lines else None
    return event is not None and _is_complaint(event)


def _event(line: str) -> dict[str, Any] | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_complaint(event: Mapping[str, Any]) -> bool:
    return event.get("type") in ("error", "turn.failed") or bool(event.get("is_error"))


def _message(event: Mapping[str, Any]) -> str:
    said = event.get("error", event.get("message", event.get("content", event.get("result"))))
    if isinstance(said, Mapping):
        said = said.get("message")
    return str(said)
