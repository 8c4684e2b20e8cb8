"""What the tests of the fake store share: one life of a subject, and the steps that it does."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from faultclock.fakes.ports.store import FakeStore, WriteCrash, WriteMoment
from faultclock.fakes.ports.stored_session import StoreState
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.store_script import StoreScript
from faultclock.model.typed_error import TypedError
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.ending import Ending
from faultclock.sim.world import World

MILLISECOND = 1_000_000
Step = Callable[[Any], Any]


def script(*rules: dict[str, Any], **fields: Any) -> StoreScript:
    """Return a script from its form in a file; rules get the ids r1, r2..."""
    numbered = [{"id": f"r{number}", **each} for number, each in enumerate(rules, 1)]
    return StoreScript.model_validate({"rules": numbered, **fields})


class Life:
    """One life of a subject: it does its steps one after another and notes what came of them."""

    def __init__(
        self,
        plan: StoreScript,
        state: StoreState | None = None,
        *,
        style: Any = "sync",
        life: int = 1,
    ) -> None:
        self.world = World()
        self.state = state or StoreState.initial(plan)
        self.style = style
        self.store = FakeStore(plan, self.world.kernel, style, self.state, life)
        self.store.begin_life()
        self.out: list[Any] = []
        self.moments: list[WriteMoment] = []

    def crash_at(self, n: int, leaves: Any) -> Life:
        """Have the process killed at the nth write of this life."""

        def on_write(moment: WriteMoment) -> WriteCrash | None:
            self.moments.append(moment)
            return WriteCrash(leaves=leaves, kill=self._kill) if moment.n_in_life == n else None

        self.store.on_write = on_write
        return self

    def _kill(self) -> None:
        self.world.kernel.end(Ending(reason="completed"))

    def run(self, *steps: Step) -> Life:
        """Do the steps; each takes the store and returns, or awaits, what goes into `out`."""

        async def main_async() -> None:
            CALL_ID.set("ask/1")
            for step in steps:
                try:
                    value = step(self.store)
                    self.out.append(await value if isinstance(value, Awaitable) else value)
                except Exception as error:
                    self.out.append(error)

        def main_sync() -> None:
            CALL_ID.set("ask/1")
            for step in steps:
                try:
                    self.out.append(step(self.store))
                except Exception as error:
                    self.out.append(error)

        ending = self.world.run(main_async if self.style == "async" else main_sync)
        assert ending.error is None or type(ending.error).__name__ == "SimKilled", ending
        self.store.seal()
        json.dumps(self.world.recorder.events, allow_nan=False)
        return self

    def facts(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the payloads of the store's facts."""
        return [
            payload
            for _, _, actor, kind, payload in self.world.recorder.events
            if actor == "store" and (not kinds or kind in kinds)
        ]

    def times(self) -> list[tuple[float, str]]:
        """Return (virtual millisecond, kind) of the store's facts."""
        return [
            (at_ns / MILLISECOND, kind)
            for _, at_ns, actor, kind, _ in self.world.recorder.events
            if actor == "store"
        ]


def write(value: Any, session: str = "s1") -> Step:
    """Return a step that writes the manifest."""
    return lambda store: store.write(session, value)


def append(value: Any) -> Step:
    """Return a step that appends a journal entry."""
    return lambda store: store.append("s1", value)


def read(store: Any) -> Any:
    """Read the manifest."""
    return store.read("s1")


def read_journal(store: Any) -> Any:
    """Read the journal."""
    return store.read_journal("s1")


def read_slot(store: Any) -> Any:
    """Read the slot of x."""
    return store.read_slot("s1", "x")


def write_slot(version: int | None, **data: Any) -> Step:
    """Return a step that writes the slot of x."""
    return lambda store: store.write_slot("s1", "x", Slot(version=version, data=data))


def typed(error: Any) -> tuple[str, str]:
    """Return class and code of a typed error."""
    assert isinstance(error, TypedError), error
    return error.error_class, error.code
