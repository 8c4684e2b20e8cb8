"""What the tests of processes share: a world with a few programs, and the same ones for real.

Each program is told twice: as steps for the world, and as a script for a real shell.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from typing import Any

from faultclock.sim.host.processes import Child, Processes
from faultclock.sim.kernel.kernel import Ending, Kernel
from faultclock.sim.world import World

MS = 1_000_000

#: A program: what it writes, 10 ms apart, then how it ends. None: it never does.
STEPS: dict[str, tuple[list[tuple[str, bytes]], int | None]] = {
    "mixed": ([("stdout", b"one\n"), ("stderr", b"oops\n"), ("stdout", b"two\r\n")], 3),
    "good": ([("stdout", b"fine\n")], 0),
    "silent": ([], 0),
    "latin": ([("stdout", b"\xe9t\xe9\n")], 0),
    "large": ([("stdout", bytes(300_000))], 0),
    "crashes": ([("stdout", b"so far\n")], -signal.SIGSEGV),
    "hangs": ([("stdout", b"part\n"), ("stderr", b"hm\n")], None),
    "stubborn": ([("stdout", b"ready\n")], None),
}

#: The same as scripts.
REAL = {
    "mixed": r"printf 'one\n'; printf 'oops\n' >&2; printf 'two\r\n'; exit 3",
    "good": r"printf 'fine\n'",
    "silent": "exit 0",
    "latin": r"printf '\351t\351\n'",
    "large": "head -c 300000 /dev/zero",
    "crashes": r"printf 'so far\n'; kill -SEGV $$",
    "hangs": r"printf 'part\n'; printf 'hm\n' >&2; exec sleep 60",
    "stubborn": r"trap '' TERM INT; printf 'ready\n'; exec sleep 60",
}

#: Returns what to start for the name of a program.
Named = Callable[[str], list[str]]


class _Run:
    """A program that writes its steps and ends."""

    def __init__(self, kernel: Kernel, name: str, child: Child) -> None:
        self._kernel = kernel
        self._child = child
        self._stubborn = name == "stubborn"
        steps, self._status = STEPS[name]
        self._steps: Iterator[tuple[str, bytes]] = iter(steps)
        self._call = kernel.call_after(10 * MS, self._step)

    def _step(self) -> None:
        step = next(self._steps, None)
        if step is not None:
            self._child.write(*step)
            self._call = self._kernel.call_after(10 * MS, self._step)
        elif self._status is not None:
            self._child.end(self._status)

    def signalled(self, number: signal.Signals) -> None:
        if number == signal.SIGKILL or not self._stubborn:
            self._call.cancel()
            self._kernel.call_after(0, self._child.end, -number)


class Lab:
    """A world in which the programs of STEPS are there.

    Attributes:
        started: what was started, in order.
        children: of those.
    """

    def __init__(self, **options: Any) -> None:
        self.world = World(**options)
        self.processes = Processes(self.world.kernel, self)
        self.started: list[tuple[str, ...]] = []
        self.children: list[Child] = []

    def has(self, program: str) -> bool:
        """Return whether it is one of STEPS."""
        return program in STEPS

    def start(self, program: str, argv: tuple[str, ...], child: Child) -> _Run | None:
        """Begin one of STEPS."""
        self.started.append(argv)
        if program not in STEPS:
            return None
        self.children.append(child)
        return _Run(self.world.kernel, program, child)

    def run(self, subject: Callable[[], Any]) -> Ending:
        """Run `subject` in it."""
        return self.world.run(subject)

    def value(self, subject: Callable[[], Any]) -> Any:
        """Return what `subject` returns; fail if it does not."""
        ending = self.run(subject)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        return ending.value


def simulated(behaviour: Callable[[Named], Any]) -> Any:
    """Return what `behaviour` returns in a world."""

    def named(name: str) -> list[str]:
        return [name]

    async def asynchronous() -> Any:
        return await behaviour(named)

    is_async = iscoroutinefunction(behaviour)
    return Lab().value(asynchronous if is_async else lambda: behaviour(named))


def real(behaviour: Callable[[Named], Any]) -> Any:
    """Return what `behaviour` returns with real programs, outside of any world."""

    def named(name: str) -> list[str]:
        return ["/bin/sh", "-c", REAL[name]] if name in REAL else [name]

    if iscoroutinefunction(behaviour):
        return asyncio.run(behaviour(named))
    return behaviour(named)
