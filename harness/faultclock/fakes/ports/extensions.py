"""Fake extensions: four phases that take their time, fail or hang, and a slot that may drift.

A FakeExtension is one extension in one life of the subject. It records what was done with it and
objects to nothing: a second `dispose`, a phase out of order or a slot delivered twice are the
runtime's doing, and are judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port, Style, waiting
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.session_script import ExtensionScript, Phase
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Call, Kernel
from faultclock.sim.kernel.promise import Promise

#: How a phase ended, for the trace.
_How = Literal["done", "failed", "hangs", "cancelled"]


class SlotChoice(Struct, frozen=True, kw_only=True):
    """What it decides about a slot of another version; the port's `SlotDecision` has these fields.

    Attributes:
        slot: with `migrate`, what to use from now on.
    """

    decision: Literal["migrate", "warn", "reject"]
    slot: Slot | None = None


class FakeExtension(Port):
    """One extension in one life of the subject.

    Its phases are coroutine functions for an async subject and block the simulated thread of a
    blocking one. A phase that fails raises RuntimeError when its time is over; one that hangs
    never ends, and is recorded as such when its time is over. A phase that takes no time, and
    neither fails nor hangs, is over at once.

    Args:
        script: what it is and does.
        kernel: of the world of this life.
        style: of the subject.
        life: 1-based.
    """

    init: Callable[[], Any]
    activate: Callable[[], Any]
    deactivate: Callable[[], Any]
    dispose: Callable[[], Any]

    def __init__(
        self,
        script: ExtensionScript,
        kernel: Kernel,
        style: Style,
        life: int = 1,
    ) -> None:
        super().__init__(kernel, life, actor="extension")
        self.script = script
        self.id = script.id
        self.kind = script.kind
        self.depends_on = script.depends_on
        self.conflicts_with = script.conflicts_with
        self.slot_version = script.slot_version
        self._due: dict[Promise, Call] = {}
        self.init = waiting(style, partial(self._begin, "init"))
        self.activate = waiting(style, partial(self._begin, "activate"))
        self.deactivate = waiting(style, partial(self._begin, "deactivate"))
        self.dispose = waiting(style, partial(self._begin, "dispose"))

    def end_life(self) -> None:
        """Let everything stand still: the process is gone. Call it once per life."""
        for call in self._due.values():
            call.cancel()
        self._due.clear()

    # ------------------------------------------------------------------ phases

    def _begin(self, phase: Phase) -> Promise:
        make_room(self._kernel)
        reason = f"phase {phase} of the extension {self.id!r}"
        promise = Promise(self._kernel, reason, lambda: self._abandoned(phase, promise))
        if self.script.takes:
            self._due[promise] = self._kernel.call_after(
                self.script.takes, self._over, phase, promise
            )
        else:
            self._over(phase, promise)
        return promise

    def _abandoned(self, phase: Phase, promise: Promise) -> None:
        due = self._due.pop(promise, None)
        # Without a due end, it hangs, and that is on record.
        if due is not None:
            due.cancel()
            self._ended(phase, "cancelled", promise)

    def _over(self, phase: Phase, promise: Promise) -> None:
        self._due.pop(promise, None)
        if phase in self.script.hangs_in:
            self._ended(phase, "hangs", promise)
        elif phase in self.script.fails_in:
            self._ended(phase, "failed", promise)
            promise.reject(RuntimeError(f"{phase} of the extension {self.id} failed"))
        else:
            self._ended(phase, "done", promise)
            promise.resolve()

    def _ended(self, phase: Phase, how: _How, promise: Promise) -> None:
        self._record(
            "extension.phase",
            promise.call,
            extension=self.id,
            phase=phase,
            ok=how == "done",
            how=how,
        )

    # ------------------------------------------------------------------ the slot

    def on_slot_drift(self, stored: Slot) -> SlotChoice:
        """Decide about a stored slot of another version, as the script says.

        Raises:
            RuntimeError: it migrates, and the migration fails.
        """
        decision = self.script.on_drift
        fails = decision == "migrate" and self.script.migration_fails
        self._fact(
            "extension.slot_decided",
            stored=plain(stored.version),
            current=self.slot_version,
            decision=decision,
            ok=not fails,
        )
        if fails:
            raise RuntimeError(f"the extension {self.id} cannot migrate its slot")
        if decision == "migrate":
            slot = Slot(version=self.slot_version, data=dict(stored.data))
            return SlotChoice(decision=decision, slot=slot)
        return SlotChoice(decision=decision)

    def deliver_slot(self, slot: Slot) -> None:
        """Receive the slot on resume."""
        self._fact("extension.slot_delivered", version=plain(getattr(slot, "version", None)))

    def _fact(self, kind: str, /, **payload: Any) -> None:
        make_room(self._kernel)
        self._record(kind, current_call(), extension=self.id, **payload)
