"""Carries the program of a life out: with a coroutine for an async runtime, else with threads.

What is asked in turn is asked in one context, as in a program that has it in one function; each
call of an async runtime is a task of its own, so that a cancelled call ends nothing but itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.mishap import CancelRule
from faultclock.model.scenario import Task
from faultclock.run.agenda import Asking
from faultclock.run.program import ENDS, Asked, Beside, Join, Program, Until
from faultclock.sim.context import CALL_ID
from faultclock.sim.loop import SimLoop

__all__ = ["AsyncDriver", "SyncDriver"]


class AsyncDriver:
    """Drives an async runtime."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._loop: SimLoop | None = None

    async def main(self) -> None:
        """Carry the steps out."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimLoop), "a world has simulated loops"
        self._loop = loop
        context = copy_context()
        beside: list[asyncio.Task[None]] = []
        for step in self._program.steps():
            match step:
                case Until():
                    await self._wait_until(step.at_ns)
                case Asked(askings=(asking,)):
                    await loop.create_task(self._one(asking), context=context)
                case Asked():
                    await self._all(step.askings)
                case Beside():
                    tasks = self._program.beside()
                    beside += [loop.create_task(self._beside(task)) for task in tasks]
                case Join():
                    await asyncio.gather(*beside)

    async def _wait_until(self, at_ns: int) -> None:
        left_ns = at_ns - self._program.kernel.now_ns
        if left_ns > 0:
            await asyncio.sleep(left_ns / SECOND_NS)

    async def _beside(self, task: Task) -> None:
        await self._wait_until(task.at)
        await self._all(self._program.askings(task, self._program.agenda.beside[task.id]))

    async def _all(self, askings: tuple[Asking, ...]) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.create_task(self._one(asking)) for asking in askings))

    async def _one(self, asking: Asking) -> None:
        program = self._program
        CALL_ID.set(asking.id)
        program.begin(asking)
        try:
            if asking.do == "start":
                program.made(await _awaited(program.make()))
            value = await _awaited(program.ask(asking))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            program.raised(asking, error)
        else:
            program.returned(asking, value)

    def cancel(self, rule: CancelRule) -> bool:
        """Ask the runtime to cancel, as the next callback of the loop.

        It may be called from a callback of the world. Returns whether there is a runtime to ask.
        """
        if self._program.runtime is None or self._loop is None:
            return False
        self._loop.call_next(self._cancel, rule)
        return True

    def _cancel(self, rule: CancelRule) -> None:
        for value in self._program.cancels(rule):
            # The port says that it does not have to be awaited; a runtime may see it otherwise.
            if isinstance(value, Awaitable):
                asyncio.get_running_loop().create_task(self._await_cancel(rule, value))

    async def _await_cancel(self, rule: CancelRule, value: Awaitable[Any]) -> None:
        try:
            await value
        except ENDS:
            raise
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self._program.cancel_raised(rule, error)


async def _awaited(value: Any) -> Any:
    return await value if isinstance(value, Awaitable) else value


class SyncDriver:
    """Drives a blocking runtime on the main thread, and all parallel ones on others."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def main(self) -> None:
        """Carry the steps out."""
        context = copy_context()
        beside: list[threading.Thread] = []
        for step in self._program.steps():
            match step:
                case Until():
                    self._wait_until(step.at_ns)
                case Asked(askings=(asking,)):
                    context.run(self._one, asking)
                case Asked():
                    self._all(step.askings)
                case Beside():
                    tasks = self._program.beside()
                    beside += [_started(f"task {task.id}", self._beside, task) for task in tasks]
                case Join():
                    _join(beside)

    def _wait_until(self, at_ns: int) -> None:
        left_ns = at_ns - self._program.kernel.now_ns
        if left_ns > 0:
            self._program.kernel.pause(left_ns)

    def _beside(self, task: Task) -> None:
        self._wait_until(task.at)
        self._all(self._program.askings(task, self._program.agenda.beside[task.id]))

    def _all(self, askings: tuple[Asking, ...]) -> None:
        _join([_started(f"call {asking.id}", self._one, asking) for asking in askings])

    def _one(self, asking: Asking) -> None:
        program = self._program
        CALL_ID.set(asking.id)
        program.begin(asking)
        try:
            if asking.do == "start":
                program.made(program.make())
            value = program.ask(asking)
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            program.raised(asking, error)
        else:
            program.returned(asking, value)

    def cancel(self, rule: CancelRule) -> bool:
        """Ask the runtime to cancel, on a fresh thread.

        It may be called from a callback of the world. Returns whether there is a runtime to ask.
        """
        if self._program.runtime is None:
            return False
        _started(f"cancel {rule.id}", self._cancel, rule)
        return True

    def _cancel(self, rule: CancelRule) -> None:
        CALL_ID.set(None)
        for _ in self._program.cancels(rule):
            pass


def _started(name: str, function: Callable[..., None], *args: Any) -> threading.Thread:
    thread = threading.Thread(target=function, args=args, name=name, daemon=True)
    thread.start()
    return thread


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join()
