"""Runs the program that is recorded: its standard streams and its end are its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from msgspec import Struct

from faultclock.errors import InputError
from faultclock.live.record.listener import Listener
from faultclock.live.record.parts import takes_of
from faultclock.recordings.tape import Take

_SITE = Path(__file__).with_name("site")


class Recorded(Struct, frozen=True, kw_only=True):
    """What came of a program.

    Attributes:
        takes: its exchanges, in the order in which they began.
        exit_code: None where a signal ended it.
        signal: its name, such as `SIGKILL`.
        interrupted: whether a person asked for the end.
        pythons: how many Python processes there were.
        troubles: why some of these could not be recorded, each once.
        broken: how many exchanges were lost because a process was killed while it sent them.
    """

    takes: tuple[Take, ...]
    exit_code: int | None
    signal: str | None
    interrupted: bool
    pythons: int
    troubles: tuple[str, ...]
    broken: int


def record(command: tuple[str, ...]) -> Recorded:
    """Run `command` to its end and return what its Python processes have exchanged.

    Raises:
        InputError: it cannot be started.
    """
    with Listener() as listener:
        before = os.environ.get("PYTHONPATH")
        path = str(_SITE) if not before else f"{_SITE}{os.pathsep}{before}"
        told = {"FAULTCLOCK_RECORD": listener.address, "PYTHONPATH": path}
        try:
            process = subprocess.Popen(command, env={**os.environ, **told})  # noqa: S603 - asked for
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{command[0]}: cannot be started: {reason}") from None
        with _interrupts(process) as asked:
            code = process.wait()
        listener.settle()
        messages = tuple(listener.messages)
        broken = listener.broken
    troubles = [str(item.get("what")) for item in messages if item.get("kind") == "trouble"]
    return Recorded(
        takes=takes_of(messages),
        exit_code=code if code >= 0 else None,
        signal=None if code >= 0 else signal.Signals(-code).name,
        interrupted=bool(asked),
        pythons=len({item.get("pid") for item in messages if item.get("kind") == "hello"}),
        troubles=tuple(dict.fromkeys(troubles)),
        broken=broken,
    )


@contextlib.contextmanager
def _interrupts(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Leave it to the program what a signal does to it; yield the signals that came."""
    came: list[int] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        came.append(number)
        # A terminal has signalled the program already: it signals its whole foreground.
        if number != signal.SIGINT or not _is_in_foreground():
            with contextlib.suppress(OSError):
                process.send_signal(number)

    kept = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
