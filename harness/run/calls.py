"""Drives the calls of a scenario: one client per task copy, each in a context of its own.

An async subject runs as tasks of one loop, a sync one as simulated threads (or on the main
thread when there is just one call). What a subject raises is data.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from harness.model.duration import SECOND_NS
from harness.model.scenario import Scenario, Task
from harness.run.host import RecordingHost
from harness.sim.context import CALL_ID
from harness.sim.escapes import SimEscape, SimKilled
from harness.sim.world import World
from harness.subjects.binding import Binding
from harness.subjects.outcome import describe_exception, describe_reply
from harness.subjects.ports import ProviderRequest

__all__ = ["async_main", "sync_main"]

#: How long the world goes on after the last call ended. A retry that a subject left running in
#: the background shows itself in this time; the longest default wait is 160 s.
SETTLE_NS = 600 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    id: str
    copy: int
    task: Task


def _calls(scenario: Scenario) -> list[_Call]:
    return [
        _Call(id=f"{task.id}/{copy}", copy=copy, task=task)
        for task in scenario.tasks
        for copy in range(1, task.copies + 1)
    ]


class _Driver:
    """What async and sync driving have in common: the request, and the facts that are recorded."""

    def __init__(self, world: World, binding: Binding) -> None:
        self.world = world
        self.binding = binding
        self.host = RecordingHost(world.kernel)

    def request(self, task: Task) -> ProviderRequest:
        return ProviderRequest(
            messages=[{"role": "user", "content": task.prompt}],
            stream=task.stream,
            timeout_s=task.timeout / SECOND_NS,
            host=self.host,
        )

    def started(self, call: _Call) -> None:
        self.world.kernel.record(
            "harness",
            "call.started",
            call=call.id,
            task=call.task.id,
            copy=call.copy,
            stream=call.task.stream,
            prompt=call.task.prompt,
        )

    def returned(self, call: _Call, value: object) -> None:
        self.world.kernel.record("harness", "call.returned", call=call.id, **describe_reply(value))

    def raised(self, call: _Call, error: BaseException) -> None:
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), (SimEscape, SimKilled, GeneratorExit)):
            raise error
        chain = describe_exception(error, self.binding.classify)
        self.world.kernel.record("harness", "call.raised", call=call.id, chain=chain)


def async_main(
    world: World, binding: Binding, scenario: Scenario
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return the main coroutine function that drives an async subject through `scenario`."""
    driver = _Driver(world, binding)

    async def one(call: _Call) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            await asyncio.sleep(call.task.at / SECOND_NS)
        driver.started(call)
        try:
            value = await binding.invoke_async(driver.request(call.task))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            driver.raised(call, error)
        else:
            driver.returned(call, value)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.create_task(one(call)) for call in _calls(scenario)))
        await asyncio.sleep(SETTLE_NS / SECOND_NS)

    return main


def sync_main(world: World, binding: Binding, scenario: Scenario) -> Callable[[], None]:
    """Return the main function that drives a blocking subject through `scenario`."""
    driver = _Driver(world, binding)

    def one(call: _Call) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            world.kernel.pause(call.task.at)
        driver.started(call)
        try:
            value = binding.invoke_sync(driver.request(call.task))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            driver.raised(call, error)
        else:
            driver.returned(call, value)

    def main() -> None:
        calls = _calls(scenario)
        if len(calls) == 1:
            contextvars.copy_context().run(one, calls[0])
        else:
            threads = [
                threading.Thread(target=one, args=(call,), name=f"call {call.id}") for call in calls
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        world.kernel.pause(SETTLE_NS)

    return main
