"""Extensions: in which order they are loaded, what happens to one that fails, and how they go.

    cycle? -> conflict? -> something missing? -> order: dependencies first, then by name
    init all -> activate all -> (the session) -> deactivate all -> dispose all, in reverse

A configuration that cannot be resolved keeps the session shut. An extension that fails in a phase
is disabled, with those that depend on it; the session goes on without them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

from faultclock.agents.stud_cli.cancellation import within
from faultclock.agents.stud_cli.session import Session, pair_of
from faultclock.subjects.ports import Extension, TypedError

#: How long a phase may take, in seconds; the document names no figure.
_PHASE_S = 30.0


class Extensions:
    """The extensions of one life.

    Attributes:
        active: those that are, in the order in which they became so.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.active: list[Extension] = []
        self._loaded: list[Extension] = []
        self._initialised: list[Extension] = []
        self._disabled: set[str] = set()

    async def open(self) -> None:
        """Resolve, initialise and activate.

        Raises:
            TypedError: ExtensionHost: they cannot be loaded beside each other.
        """
        self._loaded = load_order(self.session.world.extensions)
        for extension in self.in_order(self._loaded, "init"):
            if await self.enter(extension, "init"):
                self._initialised.append(extension)
        for extension in self.in_order(self._initialised, "activate"):
            if await self.enter(extension, "activate"):
                self.active.append(extension)
            else:
                await self.disposed(extension)

    async def close(self) -> None:
        """Deactivate and dispose in reverse order, each of them even where others fail."""
        for extension in self.in_order(self.active, "deactivate"):
            await self.leave(extension, "deactivate")
        self.active.clear()
        for extension in self.in_order(self._initialised, "dispose"):
            await self.disposed(extension)

    def in_order(self, extensions: Sequence[Extension], phase: str) -> list[Extension]:
        """Return extensions in the order of a phase: as they were loaded, or in reverse."""
        ordered = [extension for extension in self._loaded if extension in extensions]
        return ordered if phase in ("init", "activate") else ordered[::-1]

    async def enter(self, extension: Extension, phase: str) -> bool:
        """Bring an extension into a phase; return whether it is there."""
        missing = [name for name in extension.depends_on if name in self._disabled]
        if missing:
            message = f"{extension.id} needs {missing[0]}, which is disabled"
            error = TypedError("ExtensionHost", "DependencyMissing", message)
            self.disable(extension, phase, error)
            return False
        try:
            await self.call(extension, phase)
        except Exception as error:  # noqa: BLE001 - an extension may raise anything
            self.disable(extension, phase, error)
            return False
        return True

    async def leave(self, extension: Extension, phase: str) -> None:
        """Take an extension out of a phase; its failure does not stop the others."""
        try:
            await self.call(extension, phase)
        except Exception as error:  # noqa: BLE001 - an extension may raise anything
            self.audit(extension, phase, error)
            self.session.telling.swallowed(f"{extension.id} failed in {phase}", error)

    async def disposed(self, extension: Extension) -> None:
        """Dispose an extension once."""
        self._initialised.remove(extension)
        await self.leave(extension, "dispose")

    async def call(self, extension: Extension, phase: str) -> None:
        """Call one phase, for as long as a phase may take.

        Raises:
            Exception: the phase failed.
        """
        await within(_PHASE_S, _awaited(extension, phase))

    def disable(self, extension: Extension, phase: str, error: Exception) -> None:
        """Go on without an extension, and say so."""
        self._disabled.add(extension.id)
        self.audit(extension, phase, error)

    def audit(self, extension: Extension, phase: str, error: Exception) -> None:
        """Audit a failed phase; an error that is typed already keeps its class and code."""
        if pair_of(error)[0] is None:
            message = f"{extension.id} failed in {phase}: {error}"
            wrapper = TypedError("ExtensionHost", "LifecycleFailure", message)
            wrapper.__cause__ = error
            error = wrapper
        context = {"extension": extension.id, "phase": phase}
        self.session.telling.failed_attempt(error, 1, context)


async def _awaited(extension: Extension, phase: str) -> Any:
    result = getattr(extension, phase)()
    return await result if inspect.isawaitable(result) else result


def load_order(extensions: Sequence[Extension]) -> list[Extension]:
    """Return the extensions in the order in which they are loaded.

    Raises:
        TypedError: ExtensionHost/DependencyCycle, DependencyConflict or DependencyMissing.
    """
    known = {extension.id: extension for extension in extensions}
    _check_cycles(known)
    for extension in sorted(extensions, key=lambda item: item.id):
        for other in sorted(extension.conflicts_with):
            if other in known:
                raise _unresolved("DependencyConflict", f"{extension.id} conflicts with {other}")
    for extension in sorted(extensions, key=lambda item: item.id):
        for other in extension.depends_on:
            if other not in known:
                raise _unresolved("DependencyMissing", f"{extension.id} needs {other}")
    order: list[Extension] = []
    left = sorted(known)
    while left:
        loaded = {extension.id for extension in order}
        name = next(name for name in left if set(known[name].depends_on) <= loaded)
        left.remove(name)
        order.append(known[name])
    return order


def _check_cycles(known: dict[str, Extension]) -> None:
    try:
        TopologicalSorter({name: known[name].depends_on for name in sorted(known)}).prepare()
        return
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))
    # It has no cause: the circle is all that there is to know.
    raise _unresolved("DependencyCycle", f"extensions need each other: {circle}")


def _unresolved(code: str, message: str) -> TypedError:
    return TypedError("ExtensionHost", code, message, {"extensions": message})
