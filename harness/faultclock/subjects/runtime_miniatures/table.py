"""How a miniature of a runtime is made: the reference runtime with one part that has one defect.

`wrong` decorates a subclass of one part of the reference runtime, and registers the runtime that
is made with it. A runtime has its parts as `..._type` attributes, so nothing is patched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.miniatures import Miniature
from faultclock.subjects.reference_runtime.approvals import Approvals
from faultclock.subjects.reference_runtime.bound import DECLARES
from faultclock.subjects.reference_runtime.cancellation import Scope
from faultclock.subjects.reference_runtime.interaction import Interactions
from faultclock.subjects.reference_runtime.lifecycle import Extensions
from faultclock.subjects.reference_runtime.loop import MessageLoop
from faultclock.subjects.reference_runtime.persistence import Persistence
from faultclock.subjects.reference_runtime.provider import ProviderCall, TransportRetries
from faultclock.subjects.reference_runtime.resume import Resume
from faultclock.subjects.reference_runtime.runtime import ReferenceRuntime
from faultclock.subjects.reference_runtime.session import Session
from faultclock.subjects.reference_runtime.stages import Workflow
from faultclock.subjects.reference_runtime.telling import Telling
from faultclock.subjects.reference_runtime.tools import ToolRunner

__all__ = ["RUNTIME_MINIATURES", "OpenLock", "reference_with", "wrong"]

RUNTIME_MINIATURES: dict[str, Miniature] = {}

_PartT = TypeVar("_PartT", bound=type[Any])

#: Each part, where it is named, and what names it.
_PLACES: tuple[tuple[type[Any], str, type[Any]], ...] = (
    (TransportRetries, "retries_type", ProviderCall),
    (ProviderCall, "provider_type", MessageLoop),
    (Telling, "telling_type", ReferenceRuntime),
    (Scope, "scope_type", ReferenceRuntime),
    (Session, "session_type", ReferenceRuntime),
    (Persistence, "persistence_type", ReferenceRuntime),
    (Interactions, "interactions_type", ReferenceRuntime),
    (Approvals, "approvals_type", ReferenceRuntime),
    (ToolRunner, "tools_type", ReferenceRuntime),
    (Extensions, "extensions_type", ReferenceRuntime),
    (Resume, "resume_type", ReferenceRuntime),
    (MessageLoop, "loop_type", ReferenceRuntime),
    (Workflow, "workflow_type", ReferenceRuntime),
)


def wrong(
    name: str,
    title: str,
    *,
    fails: str,
    origin: str | None = None,
    model: str = "stud-cli",
    shown_by: str | None = None,
) -> Callable[[_PartT], _PartT]:
    """Register the reference runtime with the decorated part as `mini-runtime-NAME`.

    Args:
        origin: the public bug that the part has, as `owner/name#number`.
        model: id of the error model by which it fails the check.
        shown_by: id of the scenario that shows it, where that is told here.
    """

    def register(part: _PartT) -> _PartT:
        bind = runtime(id=f"mini-runtime-{name}", title=title, declares=DECLARES, inline=True)
        binding = bind(reference_with(part))
        RUNTIME_MINIATURES[binding.id] = Miniature(
            binding=binding, fails=fails, origin=origin, model=model, shown_by=shown_by
        )
        return part

    return register


def reference_with(part: type[Any]) -> type[ReferenceRuntime]:
    """Return the reference runtime with `part` in the place of the part that it is made from."""
    made = part
    while not issubclass(made, ReferenceRuntime):
        name, owner = next((name, owner) for base, name, owner in _PLACES if issubclass(made, base))
        made = type(part.__name__, (owner,), {"__doc__": part.__doc__, name: made})
    return made


class OpenLock(asyncio.Lock):
    """A lock that keeps nobody out."""

    async def __aenter__(self) -> None:
        return

    async def __aexit__(self, *_: object) -> None:
        return
