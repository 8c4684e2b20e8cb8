"""What the tests of what a runtime uses on the way share: one life of a subject that uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

import pytest

from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Ending, Kernel
from faultclock.sim.kernel.recorder import Fact
from faultclock.sim.world import World

MS = 1_000_000
#: Ends long after everything that a test waits for.
_SETTLE_NS = 20_000 * MS

BOTH = pytest.mark.parametrize("style", ["async", "sync"])


@dataclass
class UsedLife:
    """One life: a world with one fake in it, which `make` makes from its kernel, style and life."""

    make: Callable[[Kernel, Any, int], Any]
    style: Any = "async"
    number: int = 1

    def __post_init__(self) -> None:
        self.world = World(life=self.number)
        self.fake = self.make(self.world.kernel, self.style, self.number)

    def run(self, *uses: Callable[[Any], Any]) -> list[Any]:
        """Use the fake as the call ask/1, once after the other; return what came of each.

        What a use raises stands in the place of what it would have returned.
        """
        results: list[Any] = []

        def blocking() -> None:
            CALL_ID.set("ask/1")
            for use in uses:
                try:
                    results.append(use(self.fake))
                except Exception as error:
                    results.append(error)
            self.world.kernel.pause(_SETTLE_NS)

        async def asynchronous() -> None:
            CALL_ID.set("ask/1")
            for use in uses:
                try:
                    value = use(self.fake)
                    results.append(await value if isawaitable(value) else value)
                except Exception as error:
                    results.append(error)
            await asyncio.sleep(_SETTLE_NS / 1e9)

        self.ending: Ending = self.world.run(asynchronous if self.style == "async" else blocking)
        return results

    def events(self) -> list[Fact]:
        """Return the facts of the fake, whole."""
        return [fact for fact in self.world.recorder.events if fact[3] != "world.touched"]

    def facts(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Return (milliseconds, kind, payload) of each fact of the fake, without call and life."""
        facts = []
        for _, at_ns, _, kind, payload in self.events():
            own = {name: payload[name] for name in payload if name not in ("call", "life")}
            facts.append((at_ns // MS, kind, own))
        return facts

    def kinds(self) -> list[tuple[int, str]]:
        """Return (milliseconds, kind) of each fact."""
        return [(at_ms, kind) for at_ms, kind, _ in self.facts()]
