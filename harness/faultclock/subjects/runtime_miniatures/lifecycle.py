"""Miniatures of the life of extensions: their phases, and in whose order."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from faultclock.subjects.ports import Extension, TypedError
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


class _Backwards(Extensions):
    """Takes the extensions of one phase the wrong way round."""

    phase = ""

    def in_order(self, extensions: Sequence[Extension], phase: str) -> list[Extension]:
        ordered = super().in_order(extensions, phase)
        return ordered[::-1] if phase == self.phase else ordered


@wrong(
    "initialises-backwards",
    "Initialises dependencies last",
    fails="ordering.dependencies-initialised-first",
)
class _InitialisesBackwards(_Backwards):
    """What an extension depends on is not there yet."""

    phase = "init"


@wrong(
    "activates-backwards",
    "Activates dependencies last",
    fails="ordering.dependencies-activated-first",
)
class _ActivatesBackwards(_Backwards):
    """All are initialised, and the first one that acts finds nobody."""

    phase = "activate"


@wrong(
    "deactivates-forwards",
    "Deactivates dependencies first",
    fails="ordering.dependents-deactivated-first",
)
class _DeactivatesForwards(_Backwards):
    """Whoever is still active uses what is not any more."""

    phase = "deactivate"


@wrong(
    "disposes-forwards",
    "Disposes dependencies first",
    fails="ordering.dependents-disposed-first",
)
class _DisposesForwards(_Backwards):
    """The last words of an extension go to one that is gone."""

    phase = "dispose"


# What cannot be loaded.


@wrong("loads-nothing", "Opens without any extension", fails="extensions.resolved")
class _LoadsNothing(Extensions):
    """What cannot be loaded together is left out, without a word."""

    async def open(self) -> None:
        with contextlib.suppress(TypedError):
            await super().open()


@wrong("phase-unaudited", "Audits no failed phase", fails="extensions.failure")
class _PhaseUnaudited(Extensions):
    """The session goes on without an extension, and nobody knows."""

    def audit(self, extension: Extension, phase: str, error: Exception) -> None:
        return
