"""Carries the program of a life out: with a coroutine for an async subject, else with threads.

What is asked in turn is asked in one context, as in a program that has it in one function; each
call of an async subject is a task of its own, so that a cancelled call ends nothing but itself.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.mishap import CancelRule
from faultclock.run.agenda import Call
from faultclock.run.program import ENDS, Asked, Beside, Join, Program, Until
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.loop import SimLoop


class AsyncDriver:
    """Drives an async subject."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._loop: asyncio.AbstractEventLoop | None = None

    async def main(self) -> None:
        """Carry the steps out."""
        loop = self._loop = asyncio.get_running_loop()
        context = copy_context()
        beside: list[asyncio.Task[None]] = []
        for step in self._program.steps():
            match step:
                case Until():
                    await self._wait_until(step.at_ns)
                case Asked(calls=(call,)):
                    await loop.create_task(self._one(call), context=context)
                case Asked():
                    await self._all(step.calls)
                case Beside():
                    beside += [loop.create_task(self._beside(*start)) for start in step.starts]
                case Join():
                    await asyncio.gather(*beside)

    async def _wait_until(self, at_ns: int) -> None:
        left_ns = at_ns - self._program.kernel.now_ns
        if left_ns > 0:
            await asyncio.sleep(left_ns / SECOND_NS)

    async def _beside(self, at_ns: int, calls: Callable[[], tuple[Call, ...]]) -> None:
        await self._wait_until(at_ns)
        await self._all(calls())

    async def _all(self, calls: tuple[Call, ...]) -> None:
        loop = asyncio.get_running_loop()
        made: list[tuple[str, asyncio.Task[None]]] = []
        for call in calls:
            before = [task for name, task in made if name == call.after]
            made.append((call.name, loop.create_task(self._one(call, before))))
        await asyncio.gather(*(task for _, task in made))

    async def _one(self, call: Call, before: list[asyncio.Task[None]] | None = None) -> None:
        program = self._program
        CALL_ID.set(call.id)
        await self._wait_until(call.at_ns)
        if before:
            await asyncio.wait(before)
        program.begin(call)
        try:
            value = await self._answer(call)
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            program.raised(call, error)
        else:
            program.returned(call, value)

    async def _answer(self, call: Call) -> Any:
        asking = self._program.ask(call)
        value: Any = None
        while True:
            try:
                act = asking.send(value)
            except StopIteration as answered:
                return answered.value
            value = act()
            if isinstance(value, Awaitable):
                value = await value

    def cancel(self, rule: CancelRule) -> bool:
        """Cancel as the next callback of the loop.

        It may be called from a callback of the world. Returns whether there is anything to cancel.
        """
        if self._loop is None or not self._program.is_reached_by(rule):
            return False
        assert isinstance(self._loop, SimLoop), "a world has simulated loops"
        self._loop.call_next(self._cancel, rule)
        return True

    def _cancel(self, rule: CancelRule) -> None:
        for value in self._program.cancel(rule):
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


class SyncDriver:
    """Drives a blocking subject on the main thread, and all parallel calls on others."""

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
                case Asked(calls=(call,)):
                    context.run(self._one, call)
                case Asked():
                    self._all(step.calls)
                case Beside():
                    beside += [_started("task", self._beside, *start) for start in step.starts]
                case Join():
                    _join(beside)

    def _wait_until(self, at_ns: int) -> None:
        left_ns = at_ns - self._program.kernel.now_ns
        if left_ns > 0:
            self._program.kernel.pause(left_ns)

    def _beside(self, at_ns: int, calls: Callable[[], tuple[Call, ...]]) -> None:
        self._wait_until(at_ns)
        self._all(calls())

    def _all(self, calls: tuple[Call, ...]) -> None:
        made: list[tuple[str, threading.Thread]] = []
        for call in calls:
            before = [thread for name, thread in made if name == call.after]
            made.append((call.name, _thread(f"call {call.id}", self._one, call, before)))
        for _, thread in made:
            thread.start()
        _join([thread for _, thread in made])

    def _one(self, call: Call, before: list[threading.Thread] | None = None) -> None:
        program = self._program
        CALL_ID.set(call.id)
        self._wait_until(call.at_ns)
        _join(before or [])
        program.begin(call)
        try:
            value = self._answer(call)
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            program.raised(call, error)
        else:
            program.returned(call, value)

    def _answer(self, call: Call) -> Any:
        asking = self._program.ask(call)
        value: Any = None
        while True:
            try:
                act = asking.send(value)
            except StopIteration as answered:
                return answered.value
            value = act()
            if inspect.iscoroutine(value):
                value.close()
                if not self._program.replies:
                    raise TypeError(f"{call.do} is a coroutine function: bind with style='async'")

    def cancel(self, rule: CancelRule) -> bool:
        """Cancel on a fresh thread.

        It may be called from a callback of the world. Returns whether there is anything to cancel.
        """
        if not self._program.is_reached_by(rule):
            return False
        _started(f"cancel {rule.id}", self._cancel, rule)
        return True

    def _cancel(self, rule: CancelRule) -> None:
        CALL_ID.set(None)
        for _ in self._program.cancel(rule):
            pass


def _thread(name: str, function: Callable[..., None], *args: Any) -> threading.Thread:
    return threading.Thread(target=function, args=args, name=name, daemon=True)


def _started(name: str, function: Callable[..., None], *args: Any) -> threading.Thread:
    thread = _thread(name, function, *args)
    thread.start()
    return thread


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join()
