"""Miniatures of the life of extensions: their phases, and in whose order."""

from __future__ import annotations

from faultclock.subjects.ports import Extension
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.runtime_miniatures.table import wrong

__all__: list[str] = []


@wrong(
    "disposes-what-is-active",
    "Disposes an extension, then deactivates it",
    fails="ordering.extension-phases-in-order",
)
class _DisposesWhatIsActive(Extensions):
    """What is gone is asked to stop."""

    async def close(self) -> None:
        for extension in self.in_order(self._initialised, "dispose"):
            await self.disposed(extension)
        await super().close()


@wrong("never-disposes", "Deactivates extensions, and leaves it there", fails="extensions.walked")
class _NeverDisposes(Extensions):
    """The process is about to end, so who would notice? Whoever has a file open."""

    async def disposed(self, extension: Extension) -> None:
        self._initialised.remove(extension)


@wrong(
    "activates-what-failed",
    "Activates an extension whose init failed",
    fails="ordering.extension-initialised-before-activated",
)
class _ActivatesWhatFailed(Extensions):
    """The failure is audited, and forgotten."""

    async def enter(self, extension: Extension, phase: str) -> bool:
        return await super().enter(extension, phase) or phase == "init"

    def disable(self, extension: Extension, phase: str, error: Exception) -> None:
        self.audit(extension, phase, error)


class _ActivatesLater(Extensions):
    waits = True

    async def call(self, extension: Extension, phase: str) -> None:
        if phase != "activate" or not self.waits:
            await super().call(extension, phase)


@wrong(
    "slots-before-activation",
    "Delivers slots, then activates",
    fails="ordering.slot-after-activation",
)
class _SlotsBeforeActivation(ReferenceRuntime):
    """State comes to an extension that is not there yet."""

    extensions_type = _ActivatesLater

    async def open(self) -> None:
        await super().open()
        assert isinstance(self.extensions, _ActivatesLater)
        self.extensions.waits = False
        for extension in self.extensions.active:
            await self.extensions.enter(extension, "activate")


# What cannot be loaded.
