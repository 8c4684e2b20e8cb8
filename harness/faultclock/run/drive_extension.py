"""Walks an extension under test through its lifecycle, one task a phase, as a host would.

    do: init | activate | deactivate | dispose     the phase
    do: slot                                       a stored state slot is found on resume

The first task makes the object; its arguments say with which configuration. What it does to the
world between the calls of its phases is recorded as well: an extension that is active may act,
and one that is disposed of may not.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from typing import Any

from faultclock.errors import InputError
from faultclock.model.duration import SECOND_NS
from faultclock.model.port_values import Slot
from faultclock.model.scenario import Scenario, Task
from faultclock.model.tape import PLAIN, Chance
from faultclock.run.calls import SETTLE_NS
from faultclock.run.cancels import Cancels
from faultclock.run.happened import Happened
from faultclock.run.host import RecordingHost, plain
from faultclock.run.notes import note_raised
from faultclock.run.one_world import in_one_world
from faultclock.run.tool_reply import NO_TEXT
from faultclock.sim.context import CALL_ID
from faultclock.sim.escapes import SimEscape, SimKilled
from faultclock.sim.kernel import Kernel
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception
from faultclock.subjects.ports import CancelSignal, ExtensionContract, ExtensionHost
from faultclock.subjects.schemas import misfit

__all__ = ["PHASES", "simulate_extension"]

PHASES = ("init", "activate", "deactivate", "dispose")
#: What a task's arguments may hold: which configuration the object gets, and which slot is found.
_ARGUMENTS = {"phase": {"fixture", "config"}, "slot": {"fixture", "config", "version", "data"}}


def simulate_extension(
    scenario: Scenario, binding: Binding, seed: int, chance: Chance = PLAIN
) -> Happened:
    """Ask the extension for each task in turn, and return what happened.

    Raises:
        InputError: the scenario asks an extension for something that no extension can do.
    """
    for task in scenario.tasks:
        _check(task)
        _check_fixture(task, binding)

    def make_main(kernel: Kernel, cancels: Cancels) -> Callable[[], Any]:
        driver = _Driver(kernel, cancels, binding, scenario)
        return driver.run_async if binding.style == "async" else driver.run_blocking

    return in_one_world(scenario, binding, seed, chance, make_main)


def _check(task: Task) -> None:
    if task.do not in (*PHASES, "slot"):
        raise InputError(
            f"task {task.id!r}: an extension has no phase {task.do!r}",
            hint=f"known: {', '.join(PHASES)}, slot",
        )
    if task.copies != 1:
        raise InputError(f"task {task.id!r}: a phase is called only once", hint="leave out copies")
    known = _ARGUMENTS["slot" if task.do == "slot" else "phase"]
    unknown = sorted(set(task.arguments) - known)
    if unknown:
        raise InputError(
            f"task {task.id!r} has the unknown argument {unknown[0]!r}",
            hint=f"known: {', '.join(sorted(known))}",
        )


def _check_fixture(task: Task, binding: Binding) -> None:
    fixture = task.arguments.get("fixture")
    fixtures = getattr(binding.contract, "fixtures", {})
    if fixture is not None and str(fixture) not in fixtures:
        raise InputError(
            f"task {task.id!r}: the extension has no fixture {fixture!r}",
            hint=f"known: {', '.join(sorted(fixtures))}",
        )


class _Driver:
    def __init__(
        self, kernel: Kernel, cancels: Cancels, binding: Binding, scenario: Scenario
    ) -> None:
        self.kernel = kernel
        self.cancels = cancels
        self.binding = binding
        self.contract: ExtensionContract = binding.contract
        self.host = RecordingHost(kernel)
        self.tasks = scenario.tasks
        self.subject: Any = None
        self.signal = CancelSignal()
        # The first task decides; an object that could not be made is made with the same again.
        self.config = self._config(scenario.tasks[0])

    async def run_async(self) -> None:
        """Walk on the running loop."""
        loop = asyncio.get_running_loop()
        self._declare_contract()
        self.cancels.start_async()
        for task in self.tasks:
            # A task of its own: what it leaves running carries the phase's call, and a cancel
            # reaches the phase alone.
            await loop.create_task(self._one_async(task))
        await asyncio.sleep(SETTLE_NS / SECOND_NS)
        own = {asyncio.current_task(), *self.cancels.tasks}
        left = [task for task in asyncio.all_tasks() if task not in own and not task.done()]
        self._residue(tasks=len(left), threads=0)

    def run_blocking(self) -> None:
        """Walk on the calling simulated thread."""
        self._declare_contract()
        self.cancels.start_blocking()
        before = set(threading.enumerate())
        for task in self.tasks:
            contextvars.copy_context().run(self._one_blocking, task)
        self.kernel.pause(SETTLE_NS)
        left = [thread for thread in threading.enumerate() if thread not in before]
        self._residue(tasks=0, threads=len(left))

    async def _one_async(self, task: Task) -> None:
        call = f"{task.id}/1"
        CALL_ID.set(call)
        delay_ns = task.at - self.kernel.now_ns
        if delay_ns > 0:
            await asyncio.sleep(delay_ns / SECOND_NS)
        self._begun(task, call, is_async=True)
        try:
            if self.subject is None:
                made = self.binding.function(self._host())
                self.subject = await made if isinstance(made, Awaitable) else made
            value = self._asked(task)
            if isinstance(value, Awaitable):
                value = await value
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self._raised(task, call, error)
        else:
            self._done(task, call)

    def _one_blocking(self, task: Task) -> None:
        call = f"{task.id}/1"
        CALL_ID.set(call)
        delay_ns = task.at - self.kernel.now_ns
        if delay_ns > 0:
            self.kernel.pause(delay_ns)
        self._begun(task, call, is_async=False)
        try:
            if self.subject is None:
                self.subject = self.binding.function(self._host())
            self._asked(task)
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            self._raised(task, call, error)
        else:
            self._done(task, call)

    def _asked(self, task: Task) -> Any:
        if task.do != "slot":
            return getattr(self.subject, task.do)()
        current = self.contract.state_slot
        if current is None:
            # An extension without state is shown no slot: there is nothing to decide.
            return None
        stored = Slot(
            version=task.arguments.get("version", current),
            data=dict(task.arguments.get("data", {})),
        )
        if stored.version == current:
            return self._delivered(stored)
        decision = self.subject.on_slot_drift(stored)
        slot = getattr(decision, "slot", None)
        self._fact(
            "slot_decided",
            stored=stored.version,
            current=current,
            decision=plain(getattr(decision, "decision", None)),
            migrated_to=plain(getattr(slot, "version", None)),
        )
        if getattr(decision, "decision", None) == "migrate" and isinstance(slot, Slot):
            return self._delivered(slot)
        if getattr(decision, "decision", None) == "warn":
            return self._delivered(stored)
        return None

    def _delivered(self, slot: Slot) -> None:
        self.subject.deliver_slot(slot)
        self._fact("slot_delivered", version=plain(slot.version))

    def _host(self) -> ExtensionHost:
        return ExtensionHost(
            host=self.host,
            # A copy of its own: an extension may change what it is given.
            config=json.loads(json.dumps(self.config)),
            capabilities=dict.fromkeys(self.contract.depends_on, True),
            signal=self.signal,
        )

    def _config(self, task: Task) -> dict[str, Any]:
        config = task.arguments.get("config")
        if config is None:
            config = self.contract.fixtures[str(task.arguments.get("fixture", "valid"))]
        return dict(config)

    # ------------------------------------------------------------------ what is recorded

    def _declare_contract(self) -> None:
        contract = asdict(self.contract)
        del contract["fixtures"]
        self.kernel.record("harness", "contract.declared", call=None, contract=plain(contract))

    def _begun(self, task: Task, call: str, *, is_async: bool) -> None:
        config = self.config if self.subject is None else None
        wrong = misfit(self.contract.config_schema, self.config)
        self.cancels.entered(call, (task.id, task.do), self.signal, is_async=is_async)
        self.kernel.record(
            "harness",
            "call.started",
            call=call,
            task=task.id,
            copy=1,
            stream=False,
            prompt="",
            do=task.do,
            life=1,
            config=plain(config),
            config_problem=plain(wrong),
        )

    def _done(self, task: Task, call: str) -> None:
        self.cancels.left(call)
        self._phase(task, ok=True)
        self.kernel.record("harness", "call.returned", call=call, do=task.do, life=1, **NO_TEXT)

    def _raised(self, task: Task, call: str, error: BaseException) -> None:
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), (SimEscape, SimKilled, GeneratorExit)):
            raise error
        self.cancels.left(call)
        self._phase(task, ok=False)
        chain = describe_exception(error, self.binding.classify)
        note_raised(call, error, chain)
        self.kernel.record("harness", "call.raised", call=call, do=task.do, life=1, chain=chain)

    def _phase(self, task: Task, *, ok: bool) -> None:
        if task.do == "slot":
            return
        self._fact("phase", phase=task.do, ok=ok)
        if ok and task.do in ("activate", "deactivate"):
            self._fact("capabilities", phase=task.do, names=self._capabilities())

    def _capabilities(self) -> list[str]:
        try:
            offered: object = getattr(self.subject, "capabilities", ())
            names = offered if isinstance(offered, Iterable) else ()
            return sorted(str(name) for name in names)
        except Exception:  # noqa: BLE001 - what cannot be listed is not offered
            return []

    def _fact(self, kind: str, **payload: Any) -> None:
        self.kernel.record(
            "extension",
            f"extension.{kind}",
            extension=self.binding.id,
            call=CALL_ID.get(),
            life=1,
            **payload,
        )

    def _residue(self, *, tasks: int, threads: int) -> None:
        self._fact("residue", tasks=tasks, threads=threads)
