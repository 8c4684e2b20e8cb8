"""New event loops: simulated ones on simulated threads."""

from __future__ import annotations

import asyncio.events
from collections.abc import Callable
from typing import Any

from harness.sim.kernel import current
from harness.sim.loop import SimLoop
from harness.sim.patches.registry import Patch

__all__ = ["PATCHES"]


def _make_function(original: Callable[[], Any]) -> Callable[[], Any]:
    def new_event_loop() -> Any:
        return original() if current() is None else SimLoop()

    new_event_loop.__doc__ = original.__doc__
    return new_event_loop


def _make_method(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def new_event_loop(self: Any) -> Any:
        return original(self) if current() is None else SimLoop()

    return new_event_loop


PATCHES: tuple[Patch, ...] = (
    # Whatever policy is set: `asyncio.run` and `asyncio.new_event_loop` come here.
    Patch(owner=asyncio.events, name="new_event_loop", make=_make_function),
    # `asyncio.get_event_loop` in synchronous code asks the policy itself.
    Patch(
        owner=asyncio.events.BaseDefaultEventLoopPolicy,
        name="new_event_loop",
        make=_make_method,
    ),
)
