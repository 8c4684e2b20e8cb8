"""Cancels what an adapter, a tool or an extension under test is doing, when the scenario says so.

A cancel sets the signal, where the subject was given one, and, for an async subject, also cancels
the task that awaits it: a subject may listen to either. What its own callbacks raise is data.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from faultclock.model.mishap import CancelRule
from faultclock.model.scenario import Scenario
from faultclock.run.moments import Watch
from faultclock.sim.context import CALL_ID
from faultclock.sim.kernel import Kernel
from faultclock.sim.promise import Promise
from faultclock.sim.recorder import Recorder, WatchedRecorder
from faultclock.subjects.outcome import describe_exception
from faultclock.subjects.ports import CancelSignal

__all__ = ["Cancels"]

#: Scopes of which one can be meant, by its name.
_NAMED = frozenset({"tool", "call"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    call: str
    names: frozenset[str]
    signal: CancelSignal | None
    task: asyncio.Task[object] | None


class Cancels:
    """The cancel rules of one run, and what they can reach.

    Make it, record with its `recorder`, and `arm` it before the subject starts.

    Attributes:
        tasks: its own tasks, which are none of the subject's.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        self._rules = scenario.cancels
        self._due: dict[str, Promise] = {}
        self._met: set[str] = set()
        self._running: dict[str, _Running] = {}
        self._kernel: Kernel | None = None
        self._watch = Watch({})
        for rule in self._rules:
            if rule.when.on is not None:
                self._watch.add(rule.id, rule.when.on, partial(self._seen, rule))

    def recorder(self) -> Recorder:
        """Return the recorder of the run; nothing looks at its facts unless a rule does."""
        return WatchedRecorder(self._watch.look) if self._watch else Recorder()

    def arm(self, kernel: Kernel) -> None:
        """Set every clock."""
        self._kernel = kernel
        for rule in self._rules:
            self._due[rule.id] = Promise(kernel, f"the moment of cancel {rule.id}")
            if rule.when.at is not None:
                kernel.call_at(rule.when.at, self._due[rule.id].resolve)

    def start_async(self) -> None:
        """Have a task of the running loop wait for each moment."""
        loop = asyncio.get_running_loop()
        self.tasks = [loop.create_task(self._wait_async(rule)) for rule in self._rules]

    def start_blocking(self) -> None:
        """Have a simulated thread wait for each moment."""
        for rule in self._rules:
            name = f"cancel {rule.id}"
            threading.Thread(target=self._wait, args=(rule,), name=name, daemon=True).start()

    def entered(
        self, call: str, names: Iterable[str], signal: CancelSignal | None, *, is_async: bool
    ) -> None:
        """Take note of what has begun, on the task or thread that runs it.

        Args:
            signal: None where the subject has none, so that its task is all that can be cancelled.
        """
        task = asyncio.current_task() if is_async else None
        self._running[call] = _Running(
            call=call, names=frozenset((call, *names)), signal=signal, task=task
        )

    def left(self, call: str) -> None:
        """Take note that it is over."""
        self._running.pop(call, None)

    def seal(self) -> None:
        """Record each rule that met nothing to cancel. Call it once, after the run."""
        for rule in self._rules:
            if rule.id not in self._met:
                self._record("fault.unmet", fault=rule.id, optional=rule.optional, of="cancel")

    def _seen(self, rule: CancelRule) -> None:
        kernel = self._kernel
        # A fact about the end of the process comes too late to cancel anything.
        if kernel is not None and kernel.ending is None:
            kernel.call_at(kernel.now_ns + rule.when.delay, self._due[rule.id].resolve)

    async def _wait_async(self, rule: CancelRule) -> None:
        await self._due[rule.id].wait_async()
        self._apply(rule)

    def _wait(self, rule: CancelRule) -> None:
        self._due[rule.id].wait_sync()
        self._apply(rule)

    def _apply(self, rule: CancelRule) -> None:
        hit = [
            item
            for item in self._running.values()
            if rule.scope not in _NAMED or rule.target is None or rule.target in item.names
        ]
        if not hit:
            return
        self._met.add(rule.id)
        self._record("fault.fired", fault=rule.id, fault_kind="cancel", of="cancel")
        calls = [item.call for item in hit]
        for number in range(1, rule.times + 1):
            self._record(
                "cancel.requested",
                cancel=rule.id,
                scope=rule.scope,
                target=rule.target,
                n=number,
                calls=calls,
            )
            for item in hit:
                contextvars.copy_context().run(self._stop, item)

    def _stop(self, item: _Running) -> None:
        # What its callbacks do is done for the call that is cancelled.
        CALL_ID.set(item.call)
        try:
            if item.signal is not None:
                item.signal.cancel()
        except Exception as error:  # noqa: BLE001 - a callback of the subject's: data
            self._record("cancel.raised", cancel=item.call, chain=describe_exception(error))
        if item.task is not None and item.call in self._running:
            item.task.cancel()

    def _record(self, kind: str, **payload: object) -> None:
        assert self._kernel is not None, "arm it first"
        self._kernel.record("harness", kind, call=None, life=1, **payload)
