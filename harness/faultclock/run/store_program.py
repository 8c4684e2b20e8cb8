"""The program of one life of a store: what it is asked, in which order, and what is recorded."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from faultclock.model.disk_script import StoreArguments
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario import Scenario, Task
from faultclock.run.calls import SETTLE_NS
from faultclock.run.host import RecordingHost
from faultclock.run.notes import note_raised
from faultclock.run.store_calls import (
    Asking,
    call_method,
    chain_of,
    describe_asked,
    describe_returned,
)
from faultclock.sim.context import CALL_ID
from faultclock.sim.escapes import SimEscape, SimKilled
from faultclock.sim.kernel import Kernel
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import StoreSurroundings

if TYPE_CHECKING:
    from faultclock.run.drive_store import StoreRun

__all__ = ["StoreProgram"]

#: How long a process that was ended in good order is away.
_RESTART_NS = SECOND_NS
_WRITES = ("write", "append", "write_slot")


class StoreProgram:
    """Asks a store everything that one life has for it.

    Args:
        run: what goes from life to life; it is changed in place.

    Attributes:
        running: what is being asked; None between two calls.
        in_task: whether that belongs to a task of the scenario.
        restarts: whether the life ended to make place for the next.
    """

    def __init__(
        self, kernel: Kernel, binding: Binding, scenario: Scenario, run: StoreRun, folder: Path
    ) -> None:
        self.kernel = kernel
        self.binding = binding
        self.tasks = scenario.tasks
        self.run = run
        self.folder = folder
        self.host = RecordingHost(kernel)
        self.store: Any = None
        self.running: Asking | None = None
        self.in_task = False
        self.restarts = False

    # ------------------------------------------------------------------ what is asked

    def steps(self) -> Iterator[int | Asking]:
        """Yield what to do next: a virtual time to wait for, or something to ask."""
        yield self._asking("start", "start", StoreArguments())
        if self.store is None:
            for task in self.tasks[self.run.task :]:
                self._skip(task)
            return
        if self.run.crashed:
            yield from self._recovery()
        last = ""
        while self.run.task < len(self.tasks):
            task = self.tasks[self.run.task]
            last = task.do
            if task.do != "restart" and not self._can(task.do):
                self._skip(task)
            else:
                yield task.at
                self.in_task = True
                yield self._asking(task.id, task.do, StoreArguments.model_validate(task.arguments))
                self.in_task = False
            self.run.task += 1
            if task.do == "restart":
                self.restarts = True
                yield self.kernel.now_ns + _RESTART_NS
                return
        if last != "close" and self._can("close"):
            yield self._asking("close", "close", StoreArguments())
        yield self.kernel.now_ns + SETTLE_NS

    def _skip(self, task: Task) -> None:
        """Record that a task cannot be asked."""
        self.run.skipped.add(task.id)
        why = f"the store has no {task.do}" if self.store is not None else "there is no store"
        self.kernel.record(
            "harness",
            "call.skipped",
            call=f"{task.id}/1",
            task=task.id,
            do=task.do,
            why=why,
            life=self.run.life,
        )

    def _recovery(self) -> Iterator[Asking]:
        for session, owners in list(self.run.written.items()):
            for do in ("read", "read_journal"):
                if self._can(do):
                    yield self._asking("recover", do, StoreArguments(session=session))
            for owner in owners:
                if self._can("read_slot"):
                    arguments = StoreArguments(session=session, owner=owner)
                    yield self._asking("recover", "read_slot", arguments)
        if self._can("list_sessions"):
            yield self._asking("recover", "list_sessions", StoreArguments())

    def _can(self, do: str) -> bool:
        return callable(getattr(self.store, do, None))

    def _asking(self, task: str, do: str, arguments: StoreArguments) -> Asking:
        number = self.run.asked[task] = self.run.asked.get(task, 0) + 1
        return Asking(id=f"{task}/{number}", task=task, do=do, arguments=arguments)

    # ------------------------------------------------------------------ how it is asked

    def ask(self, asking: Asking) -> Any:
        """Ask; what is returned may have to be awaited."""
        if asking.do == "start":
            surroundings = StoreSurroundings(
                folder=self.folder, host=self.host, store_id=self.run.store_id
            )
            return self.binding.function(surroundings)
        if asking.do == "restart":
            return self.store.close() if self._can("close") else None
        return call_method(self.store, asking, self.run.store_id)

    def begin(self, asking: Asking) -> None:
        """Record that it is asked."""
        CALL_ID.set(asking.id)
        if asking.do in _WRITES:
            owners = self.run.written.setdefault(asking.arguments.session, [])
            owner = asking.arguments.owner
            if owner is not None and owner not in owners:
                owners.append(owner)
        self.running = asking
        self.kernel.record(
            "harness",
            "call.started",
            call=asking.id,
            task=asking.task,
            copy=1,
            stream=False,
            prompt="",
            do=asking.do,
            life=self.run.life,
            store=self.run.store_id,
            **describe_asked(asking, self.run.store_id),
        )

    def returned(self, asking: Asking, value: Any) -> None:
        """Record what was returned, and keep a store that was made."""
        if asking.do == "start":
            self.store, value = value, None
        self.running = None
        if asking.do == "restart" and asking.arguments.store_id is not None:
            self.run.store_id = asking.arguments.store_id
        self.kernel.record(
            "harness",
            "call.returned",
            call=asking.id,
            do=asking.do,
            life=self.run.life,
            **describe_returned(asking, value),
        )

    def raised(self, asking: Asking, error: BaseException) -> None:
        """Record what was raised.

        Raises:
            BaseException: it is no outcome, but the end of the run.
        """
        if issubclass(type(error), (SimEscape, SimKilled, GeneratorExit)):
            raise error
        self.running = None
        chain = chain_of(error, self.binding.classify, self.folder)
        note_raised(asking.id, error, chain)
        self.kernel.record(
            "harness",
            "call.raised",
            call=asking.id,
            do=asking.do,
            life=self.run.life,
            chain=chain,
        )

    # ------------------------------------------------------------------ the two styles

    def run_blocking(self) -> None:
        """Ask a blocking store."""
        for step in self.steps():
            if isinstance(step, int):
                self.kernel.pause(max(0, step - self.kernel.now_ns))
            else:
                copy_context().run(self._one_blocking, step)

    def _one_blocking(self, asking: Asking) -> None:
        self.begin(asking)
        try:
            value = self.ask(asking)
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError(f"{asking.do} is a coroutine function: bind with style='async'")
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self.raised(asking, error)
        else:
            self.returned(asking, value)

    async def run_async(self) -> None:
        """Ask an async store, each time in a task of its own."""
        loop = asyncio.get_running_loop()
        for step in self.steps():
            if isinstance(step, int):
                await asyncio.sleep(max(0, step - self.kernel.now_ns) / SECOND_NS)
            else:
                await loop.create_task(self._one_async(step))

    async def _one_async(self, asking: Asking) -> None:
        self.begin(asking)
        try:
            value = self.ask(asking)
            if inspect.isawaitable(value):
                value = await value
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self.raised(asking, error)
        else:
            self.returned(asking, value)
