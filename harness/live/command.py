"""A program that is run against the served provider, in any language, and what is known of its end.

Of a program only its exit code is known: that it has ended, and so tries no more. Whether a call
of it returned or raised, nobody tells; a check that needs to know says so. A program that prints
its reply, and nothing else, to its standard output can be taken at its word.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from harness.errors import InputError
from harness.live.server import LiveServer
from harness.subjects.outcome import describe_reply

__all__ = ["Ended", "record_end", "run_command"]

#: How long to wait for a program that is to end, in seconds, before it is asked to, since Ctrl-C
#: at a terminal has reached it already; and then before it is killed.
_PATIENCE_S = 0.5
_MERCY_S = 3.0
_PIECE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended.

    Attributes:
        exit_code: None where a signal ended it.
        signal: its name, such as `SIGKILL`.
        output: what it printed; None where nobody wanted to know.
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
        stop: set when a person interrupts; then it is told to end, too.
        output: where its standard output goes; None: to that of this process.
        listen: whether to keep its standard output, beside passing it on.

    Raises:
        InputError: it cannot be started.
    """
    piped = listen or output is not None
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **variables},
            stdout=asyncio.subprocess.PIPE if piped else None,
        )
    except OSError as error:
        raise InputError(f"{command[0]}: cannot be started: {error.strerror or error}") from None
    kept = bytearray()
    reading = asyncio.create_task(
        _pass_on(process.stdout, output or sys.stdout.buffer, kept if listen else None)
    )
    waiting = asyncio.create_task(process.wait())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not waiting.done():
        await _end(process, waiting)
    await reading
    code = await waiting
    return Ended(
        exit_code=code if code >= 0 else None,
        signal=None if code >= 0 else signal.Signals(-code).name,
        output=kept.decode("utf-8", "replace") if listen else None,
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


async def _pass_on(
    source: asyncio.StreamReader | None, sink: BinaryIO, kept: bytearray | None
) -> None:
    while source is not None and (piece := await source.read(_PIECE_BYTES)):
        if kept is not None:
            kept += piece
        sink.write(piece)
        sink.flush()


async def _end(process: asyncio.subprocess.Process, waiting: asyncio.Task[int]) -> None:
    done, _ = await asyncio.wait({waiting}, timeout=_PATIENCE_S)
    if not done:
        process.send_signal(signal.SIGINT)
        done, _ = await asyncio.wait({waiting}, timeout=_MERCY_S)
    if not done:
        process.kill()
