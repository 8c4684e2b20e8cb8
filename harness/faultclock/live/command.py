"""A program that is run against the served provider, in any language, and what is known of its end.

Of a program only its exit code is known: that it has ended, and so tries no more. Whether a call
of it returned or raised, is unknown; a check that needs it says so. A program that prints
its reply, and nothing else, to its standard output can be taken at its word.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping
from typing import BinaryIO

from msgspec import Struct

from faultclock.errors import InputError
from faultclock.live.server import LiveServer
from faultclock.subjects.outcome import describe_reply

#: How long to wait for a program that is to end, in seconds, before it is asked to, since Ctrl-C
#: at a terminal has reached it already; and then before it is killed.
_PATIENCE_S = 0.5
_MERCY_S = 3.0
#: What is left running may keep a program's standard output open for ever: when nothing came for
#: so long, in seconds, after its end, nothing more is waited for.
_QUIET_S = 0.5


class Ended(Struct, frozen=True, kw_only=True):
    """How a program ended.

    Attributes:
        exit_code: None where a signal ended it.
        signal: its name, such as `SIGKILL`.
        output: what it printed; None where it was not kept.
    """

    exit_code: int | None
    signal: str | None = None
    output: str | None = None


async def run_command(
    command: tuple[str, ...],
    variables: Mapping[str, str],
    *,
    stop: asyncio.Event,
    output: BinaryIO | None = None,
    listen: bool = False,
) -> Ended:
    """Run `command` to its end and return how it ended.

    Args:
        variables: what it finds in its environment, beside that of this process.
        stop: set when a person interrupts; then it has to end, too.
        output: where its standard output goes; None: to that of this process.
        listen: whether to keep its standard output, beside passing it on.

    Raises:
        InputError: it cannot be started.
    """
    piped = listen or output is not None
    pipe = _Pipe(output or sys.stdout.buffer, keep=listen) if piped else None
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **variables},
            stdout=None if pipe is None else pipe.write_fd,
        )
    except OSError as error:
        if pipe is not None:
            pipe.close()
        raise InputError(f"{command[0]}: cannot be started: {error.strerror or error}") from None
    if pipe is not None:
        await pipe.open()
    waiting = asyncio.create_task(process.wait())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not waiting.done():
        await _end(process, waiting)
    code = await waiting
    if pipe is not None:
        await pipe.drained()
    return Ended(
        exit_code=code if code >= 0 else None,
        signal=None if code >= 0 else signal.Signals(-code).name,
        output=bytes(pipe.kept).decode("utf-8", "replace") if listen and pipe else None,
    )


def record_end(server: LiveServer, ended: Ended) -> None:
    """Record the end of the program as that of all its calls, as far as it shows it."""
    for call in server.routes.calls:
        if ended.exit_code == 0 and ended.output is not None:
            reply = describe_reply(ended.output.removesuffix("\n"))
            server.kernel.record("harness", "call.returned", call=call, **reply)
            continue
        server.kernel.record(
            "harness", "call.left", call=call, exit_code=ended.exit_code, signal=ended.signal
        )


class _Pipe(asyncio.Protocol):
    """What a program prints, passed on and, with `keep`, kept.

    It is not one of asyncio's own: then a program would not be over before everything that it
    left running has closed its standard output, too.
    """

    def __init__(self, sink: BinaryIO, *, keep: bool) -> None:
        self.kept = bytearray()
        self._keep = keep
        self._sink = sink
        self._pieces = 0
        self._read_fd, self.write_fd = os.pipe()
        self._closed = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None

    async def open(self) -> None:
        """Read from now on; the program has its end."""
        os.close(self.write_fd)
        loop = asyncio.get_running_loop()
        file = os.fdopen(self._read_fd, "rb", buffering=0)
        self._transport, _ = await loop.connect_read_pipe(lambda: self, file)

    def close(self) -> None:
        """Close both ends: no process got one."""
        os.close(self.write_fd)
        os.close(self._read_fd)

    async def drained(self) -> None:
        """Return when all that the program printed was passed on."""
        while not self._closed.is_set():
            before = self._pieces
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), _QUIET_S)
            if self._pieces == before:
                break
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._pieces += 1
        if self._keep:
            self.kept += data
        self._sink.write(data)
        self._sink.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._closed.set()


async def _end(process: asyncio.subprocess.Process, waiting: asyncio.Task[int]) -> None:
    done, _ = await asyncio.wait({waiting}, timeout=_PATIENCE_S)
    if not done:
        process.send_signal(signal.SIGINT)
        done, _ = await asyncio.wait({waiting}, timeout=_MERCY_S)
    if not done:
        process.kill()
