"""Runs command lines in forked children of this process, under limits, and says how each ended.

The process that asks has imported everything, so a child costs milliseconds. A child leads a
process group of its own, which is killed as a whole at its limit.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultclock.cli.app import app
from faultclock.run.process.child import fork_process

#: Real seconds that one command may take.
LIMIT_S = 20.0
#: Bytes of addresses that a child may have, so that it cannot take the machine with it.
_ADDRESSES = 6 << 30
_PAUSE_S = 0.002
#: What no terminal and no build log may get from an input: control characters and bidirectional
#: marks, and a command for a build server at the beginning of a line.
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|^::\w", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One input, and the commands that it is given to.

    Attributes:
        number: by which it can be had again.
        make: writes the input into an empty folder, which is the working folder of the commands,
            and returns their command lines.
    """

    number: int
    kind: str
    make: Callable[[Path], list[list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one command ended.

    Attributes:
        code: exit code; None where it was killed at its limit, and below zero by a signal.
        output: both streams.
        bytes_max: the largest of its processes.
    """

    trial: Trial
    command: tuple[str, ...]
    code: int | None
    seconds: float
    output: str
    bytes_max: int

    @property
    def wrong(self) -> str | None:
        """What is wrong with it, in a word or two; None for what a command may do."""
        if self.code is None:
            return "hang"
        if self.code not in (0, 1, 2, 3):
            return f"exit {self.code}"
        if "Traceback (most recent call last)" in self.output:
            return "traceback"
        if self.seconds > LIMIT_S:
            return "slow"
        return "control characters" if _OBEYED.search(self.output) else None


def tried(
    trials: Iterable[Trial], folder: Path, jobs: int, limit_s: float = LIMIT_S
) -> Iterator[Ended]:
    """Yield how the commands of all trials ended, as they do; up to `jobs` trials at a time.

    The folder of a trial with which something is wrong is kept.
    """
    waiting = iter(trials)
    running: dict[int, tuple[Trial, Path, float]] = {}
    while True:
        while len(running) < jobs and (trial := next(waiting, None)) is not None:
            place = folder / str(trial.number)
            pid = _begun(trial, place)
            running[pid] = (trial, place, time.monotonic())
        if not running:
            return
        for pid, (trial, place, since_s) in list(running.items()):
            found, status, used = os.wait4(pid, os.WNOHANG)
            killed = not found and time.monotonic() - since_s > limit_s * _commands_in(place)
            if killed:
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                _, status, used = os.wait4(pid, 0)
            if found or killed:
                del running[pid]
                code = None if killed else os.waitstatus_to_exitcode(status)
                yield from _ends(trial, place, code, used)
        time.sleep(_PAUSE_S)


def _commands_in(place: Path) -> int:
    with suppress(OSError, ValueError):
        return max(1, len(json.loads((place / "commands").read_bytes())))
    return 1


def _begun(trial: Trial, place: Path) -> int:
    (place / "work").mkdir(parents=True)
    pid = fork_process()
    if pid == 0:
        code = 99
        try:
            os.setsid()
            code = _child(trial, place)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    return pid


def _child(trial: Trial, place: Path) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    # What was dumped would be larger than everything else.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["FAULTCLOCK_DEBUG"] = "1"
    output = os.open(place / "output", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    for number in (1, 2):
        os.dup2(output, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (_stream(number) for number in (1, 2))
    os.chdir(place / "work")
    commands = trial.make(place / "work")
    (place / "commands").write_text(json.dumps(commands))
    with (place / "ends").open("a", buffering=1) as ends:
        for command in commands:
            before, since_s = os.lseek(output, 0, os.SEEK_END), time.monotonic()
            code = ran(command)
            sys.stdout.flush()
            sys.stderr.flush()
            after = os.lseek(output, 0, os.SEEK_END)
            ends.write(json.dumps([code, time.monotonic() - since_s, before, after]) + "\n")
    return 0


def _stream(number: int) -> Any:
    file = io.FileIO(number, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(file), "utf-8", errors="replace", line_buffering=True)


def ran(command: list[str]) -> int:
    """Run a command line in this process, and return its exit code."""
    try:
        app.main(list(command))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1


def _ends(trial: Trial, place: Path, code: int | None, used: resource.struct_rusage) -> list[Ended]:
    """Return how the commands of a trial that is over ended, and tidy up."""
    commands = json.loads(_read(place / "commands") or "[]")
    rows = [json.loads(line) for line in _read(place / "ends").splitlines()]
    output = (place / "output").read_bytes() if (place / "output").exists() else b""
    found = []
    for number, command in enumerate(commands or [["make the input"]]):
        if number < len(rows):
            ended, seconds, start, stop = rows[number]
        elif number > len(rows) or (commands and code == 0):
            break
        else:
            start = rows[-1][3] if rows else 0
            ended, seconds, stop = code, LIMIT_S if code is None else 0.0, len(output)
        found.append(
            Ended(
                trial=trial,
                command=tuple(command),
                code=ended,
                seconds=seconds,
                output=output[start:stop].decode("utf-8", "replace"),
                bytes_max=used.ru_maxrss * 1024,
            )
        )
    if all(end.wrong is None for end in found):
        shutil.rmtree(place)
    return found


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""
