"""An extension: walked through its lifecycle, one task a phase, as a host would.

    do: init | activate | deactivate | dispose     the phase
    do: slot                                       a stored state slot is found on resume

The first task makes the object; its arguments say with which configuration. What it does to the
world between the calls of its phases is recorded as well: an extension that is active may act,
and one that is disposed of may not.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from faultclock.errors import InputError
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.task import Task
from faultclock.run.agenda import Call
from faultclock.run.host import plain
from faultclock.run.program import NO_TEXT, Asked, Program, Setting, Step
from faultclock.run.roles.service import Service
from faultclock.sim.kernel.context import CALL_ID
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import CancelSignal, ExtensionContract, ExtensionHost
from faultclock.subjects.schemas import misfit

PHASES = ("init", "activate", "deactivate", "dispose")
#: What a task's arguments may hold: which configuration the object gets, and which slot is found.
_ARGUMENTS = {"phase": {"fixture", "config"}, "slot": {"fixture", "config", "version", "data"}}


class ExtensionProgram(Program):
    """An extension, its host, and the service that it asks."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(*setting.usual)
        self.contract: ExtensionContract = self.binding.contract
        self._service = Service(setting)
        self._subject: Any = None
        self._signal = CancelSignal()
        # The first task decides; an object that could not be made is made with the same again.
        self._config = self._config_of(self.scenario.tasks[0])

    @classmethod
    def check(cls, scenario: Scenario, binding: Binding) -> None:
        """Check the phases and what they are given."""
        for task in scenario.tasks:
            _check(task)
            _check_fixture(task, binding)

    def steps(self) -> Iterator[Step]:
        """Yield one call a task, and look last at what is left running."""
        self._record("run.started")
        contract = asdict(self.contract)
        del contract["fixtures"]
        self._record("contract.declared", call=None, contract=plain(contract))
        before = _at_work()
        for task in self.scenario.tasks:
            yield Asked((self.agenda.call(task.id, task.do, task, at_ns=task.at),))
        yield from self.settling()
        left = _at_work() - before
        threads = sum(isinstance(item, threading.Thread) for item in left)
        self._fact("residue", tasks=len(left) - threads, threads=threads)

    def seal(self) -> None:
        """Record the faults that no request of the extension met."""
        self._service.seal()

    # ------------------------------------------------------------------ a call

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record that a phase begins."""
        config = self._config if self._subject is None else None
        wrong = misfit(self.contract.config_schema, self._config)
        self.can_cancel(call, call.name, call.do, signal=self._signal)
        super().begin(call, config=plain(config), config_problem=plain(wrong), **facts)

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Make the extension, if there is none, and have it go through the phase."""
        if self._subject is None:
            self._subject = yield partial(self.binding.function, self._host())
        if call.do != "slot":
            return (yield lambda: getattr(self._subject, call.do)())
        current = self.contract.state_slot
        if current is None:
            # An extension without state is shown no slot: there is nothing to decide.
            return None
        arguments = call.of_task.arguments
        stored = Slot(
            version=arguments.get("version", current), data=dict(arguments.get("data", {}))
        )
        if stored.version == current:
            return (yield from self._deliver(stored))
        answer = yield lambda: self._subject.on_slot_drift(stored)
        slot, decision = getattr(answer, "slot", None), getattr(answer, "decision", None)
        self._fact(
            "slot_decided",
            stored=stored.version,
            current=current,
            decision=plain(decision),
            migrated_to=plain(getattr(slot, "version", None)),
        )
        if decision == "migrate" and isinstance(slot, Slot):
            yield from self._deliver(slot)
        elif decision == "warn":
            yield from self._deliver(stored)
        return None

    def _deliver(self, slot: Slot) -> Generator[Callable[[], Any], Any, None]:
        yield lambda: self._subject.deliver_slot(slot)
        self._fact("slot_delivered", version=plain(slot.version))

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record that the phase is done."""
        self._over(call)
        self._phase(call, ok=True)
        super().returned(call, value, **NO_TEXT, **facts)

    def failed(self, call: Call, error: BaseException, chain: list[dict[str, Any]]) -> None:
        """Record that the phase has failed."""
        self._phase(call, ok=False)

    def _phase(self, call: Call, *, ok: bool) -> None:
        if call.do == "slot":
            return
        self._fact("phase", phase=call.do, ok=ok)
        if ok and call.do in ("activate", "deactivate"):
            self._fact("capabilities", phase=call.do, names=self._capabilities())

    # ------------------------------------------------------------------ what it is given

    def _host(self) -> ExtensionHost:
        return ExtensionHost(
            host=self.host,
            # A copy of its own: an extension may change what it is given.
            config=json.loads(json.dumps(self._config)),
            capabilities=dict.fromkeys(self.contract.depends_on, True),
            signal=self._signal,
        )

    def _config_of(self, task: Task) -> dict[str, Any]:
        config = task.arguments.get("config")
        if config is None:
            config = self.contract.fixtures[str(task.arguments.get("fixture", "valid"))]
        return dict(config)

    def _capabilities(self) -> list[str]:
        try:
            offered: object = getattr(self._subject, "capabilities", ())
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


def _at_work() -> set[object]:
    """Return the tasks of the running loop, if there is one, else the threads."""
    try:
        return {task for task in asyncio.all_tasks() if not task.done()}
    except RuntimeError:
        return set(threading.enumerate())


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
