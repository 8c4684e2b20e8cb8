"""Drives the calls of a scenario: one client per task copy, each in a context of its own.

An async subject runs as tasks of one loop, a sync one as simulated threads (or on the main
thread when there is just one call). What a subject raises is data.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario import Scenario, Task
from faultclock.run.cancels import Cancels
from faultclock.run.host import Recording, RecordingHost
from faultclock.run.notes import note_raised
from faultclock.sim.context import CALL_ID
from faultclock.sim.escapes import SimEscape, SimKilled
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception, describe_reply
from faultclock.subjects.ports import API_KEY, ProviderRequest

__all__ = ["Begun", "CallDriver", "PlannedCall", "async_main", "planned_calls", "sync_main"]

_T = TypeVar("_T")
#: How long the world goes on after the last call ended. A retry that a subject left running in
#: the background shows itself in this time; the longest default wait is 160 s.
SETTLE_NS = 600 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One call that a scenario asks for: the copy `copy` (1-based) of `task`."""

    id: str
    copy: int
    task: Task


def planned_calls(scenario: Scenario) -> list[PlannedCall]:
    """Return the calls of `scenario` in order."""
    return [
        PlannedCall(id=f"{task.id}/{copy}", copy=copy, task=task)
        for task in scenario.tasks
        for copy in range(1, task.copies + 1)
    ]


class Begun(Generic[_T]):
    """The calls of a run that were started, so that a call can wait for those before it."""

    def __init__(self) -> None:
        self._of: dict[str, list[_T]] = {}

    def before(self, call: PlannedCall) -> tuple[_T, ...]:
        """Return the calls that have to end before `call` begins."""
        return () if call.task.after is None else tuple(self._of[call.task.after])

    def add(self, call: PlannedCall, started: _T) -> _T:
        """Take down that `call` was started, and return `started`."""
        self._of.setdefault(call.task.id, []).append(started)
        return started


class CallDriver:
    """What all ways of driving have in common: the request, and the facts that are recorded.

    Args:
        ledger: where the facts go.
    """

    def __init__(self, ledger: Recording, binding: Binding, scenario: Scenario) -> None:
        self.ledger = ledger
        self.binding = binding
        self.host = RecordingHost(ledger)
        endpoint = scenario.provider.endpoint
        self.where = {} if endpoint is None else endpoint.model_dump()

    def request(self, task: Task) -> ProviderRequest:
        """Return what the adapter is given for a call of `task`."""
        return ProviderRequest(
            **self.where,
            api_key=API_KEY if task.key is None else _key_named(task.key),
            messages=[{"role": "user", "content": task.prompt}],
            stream=task.stream,
            timeout_s=task.timeout / SECOND_NS,
            host=self.host,
        )

    def started(self, call: PlannedCall) -> None:
        """Record that a call begins."""
        self.ledger.record(
            "harness",
            "call.started",
            call=call.id,
            task=call.task.id,
            copy=call.copy,
            stream=call.task.stream,
            prompt=call.task.prompt,
        )

    def returned(self, call: PlannedCall, value: object) -> None:
        """Record that a call returned."""
        self.ledger.record("harness", "call.returned", call=call.id, **describe_reply(value))

    def raised(self, call: PlannedCall, error: BaseException) -> None:
        """Record what a call raised.

        Raises:
            BaseException: it was raised by the end of the world, and is no outcome.
        """
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), (SimEscape, SimKilled, GeneratorExit)):
            raise error
        chain = describe_exception(error, self.binding.classify)
        note_raised(call.id, error, chain)
        self.ledger.record("harness", "call.raised", call=call.id, chain=chain)


def async_main(
    world: World, binding: Binding, scenario: Scenario, cancels: Cancels
) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return the main coroutine function that drives an async subject through `scenario`.

    A cancel cancels the task of a call, and nothing else: what the subject makes of it is data, and
    so is what it does afterwards.
    """
    driver = CallDriver(world.kernel, binding, scenario)

    async def one(call: PlannedCall, before: tuple[asyncio.Task[None], ...]) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            await asyncio.sleep(call.task.at / SECOND_NS)
        if before:
            await asyncio.wait(before)
        cancels.entered(call.id, (call.task.id,), None, is_async=True)
        driver.started(call)
        try:
            value = await binding.invoke_async(driver.request(call.task))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            cancels.left(call.id)
            driver.raised(call, error)
        else:
            cancels.left(call.id)
            driver.returned(call, value)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        cancels.start_async()
        begun = Begun[asyncio.Task[None]]()
        calls = planned_calls(scenario)
        await asyncio.gather(
            *(begun.add(call, loop.create_task(one(call, begun.before(call)))) for call in calls)
        )
        await asyncio.sleep(SETTLE_NS / SECOND_NS)

    return main


def sync_main(world: World, binding: Binding, scenario: Scenario) -> Callable[[], None]:
    """Return the main function that drives a blocking subject through `scenario`."""
    driver = CallDriver(world.kernel, binding, scenario)

    def one(call: PlannedCall, before: tuple[threading.Thread, ...] = ()) -> None:
        CALL_ID.set(call.id)
        if call.task.at:
            world.kernel.pause(call.task.at)
        for other in before:
            other.join()
        driver.started(call)
        try:
            value = binding.invoke_sync(driver.request(call.task))
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            driver.raised(call, error)
        else:
            driver.returned(call, value)

    def main() -> None:
        calls = planned_calls(scenario)
        if len(calls) == 1:
            contextvars.copy_context().run(one, calls[0])
        else:
            begun = Begun[threading.Thread]()
            threads = [
                begun.add(
                    call,
                    threading.Thread(
                        target=one, args=(call, begun.before(call)), name=f"call {call.id}"
                    ),
                )
                for call in calls
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        world.kernel.pause(SETTLE_NS)

    return main


def _key_named(name: str) -> str:
    """Return the key that a scenario calls `name`, in the shape of a real one."""
    return f"sk-simulated-{hashlib.sha256(name.encode()).hexdigest()[:20]}"
