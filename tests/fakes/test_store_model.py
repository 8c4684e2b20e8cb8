"""The fake session store against a plain model, under random faults and crashes.

A write that was acknowledged is there after the crash. One that was not is there, or is not, or
cannot be read; it is never a mix.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from faultclock.fakes.ports.stored_session import StoreState
from faultclock.model.scenario.port_values import Slot
from faultclock.model.typed_error import TypedError
from faultclock.sim.patches import installed
from tests.fakes.store_life import (
    Life,
    Step,
    append,
    read,
    read_journal,
    read_slot,
    script,
    typed,
    write,
)


@pytest.fixture(autouse=True, scope="module")
def _patched_world() -> Iterator[None]:
    with installed():
        yield


FAULTS = st.sampled_from(
    [None, None, "unavailable", "slow", "torn_write", "lost_ack", "stale_read"]
)
OPERATIONS = st.sampled_from(["write", "append", "write_slot", "read", "read_journal", "read_slot"])
#: In the model: half a text, which only ManifestDrift may answer for.
TORN = "torn"
#: (manifest, journal entries, slot of x) as plain texts, None where there is nothing.
Contents = tuple[str | None, tuple[str, ...], str | None]


class StoreModel(RuleBasedStateMachine):
    """Every state that is possible by what the subject was told; a read must agree with one."""

    @initialize(kind=st.sampled_from(["memory", "files"]))
    def begin(self, kind: str) -> None:
        """Begin with an empty store."""
        self.kind = kind
        self.state = StoreState.initial(script(kind=kind))
        self.possible: set[Contents] = {(None, (), None)}
        self.ever: list[set[Any]] = [{None}, {()}, {None}]
        self.lives = self.values = 0

    @rule(
        steps=st.lists(st.tuples(OPERATIONS, FAULTS), min_size=1, max_size=10),
        crash=st.none() | st.tuples(st.integers(1, 4), st.sampled_from(["nothing", "part", "all"])),
        style=st.sampled_from(["async", "sync"]),
    )
    def live(
        self, steps: list[tuple[str, str | None]], crash: tuple[int, Any] | None, style: str
    ) -> None:
        """Live one life: some operations, some of them failing, and perhaps a crash."""
        self.lives += 1
        rules = [
            {
                "when": {"calls": self.state.operations + number},
                "then": {"kind": fault},
                "optional": True,
            }
            for number, (_, fault) in enumerate(steps, 1)
            if fault is not None
        ]
        life = Life(script(*rules, kind=self.kind), self.state, style=style, life=self.lives)
        if crash is not None:
            life.crash_at(*crash)
        values = [self.values + number for number, _ in enumerate(steps, 1)]
        self.values += len(steps)
        life.run(*(_step(what, value) for (what, _), value in zip(steps, values, strict=True)))
        self.state = pickle.loads(pickle.dumps(self.state))
        stale = {fact["op"] for fact in life.facts("store.answered") if fact["stale"]}
        asked = [fact["op"] for fact in life.facts("store.asked")]
        for index, (op, (what, _), value) in enumerate(zip(asked, steps, values, strict=False)):
            told = life.out[index] if index < len(life.out) else "nothing: it was killed"
            if what in ("write", "append", "write_slot"):
                self._changed(what, value, acknowledged=told is None)
            elif not isinstance(told, str) and not _unavailable(told):
                self._read(what, told, stale=op in stale)
        good = Life(script(kind=self.kind), self.state).run(read, read_journal, read_slot)
        for what, told in zip(("read", "read_journal", "read_slot"), good.out, strict=True):
            self._read(what, told, stale=False)

    def _changed(self, what: str, value: int, *, acknowledged: bool) -> None:
        after: set[Contents] = set() if acknowledged else set(self.possible)
        for world in self.possible:
            after.add(_changed(world, what, str(value)))
            if not acknowledged and self.kind == "files":
                after.add(_torn(world, what))
        self.possible = after
        for world in after:
            for seen, part in zip(self.ever, world, strict=True):
                seen.add(part)

    def _read(self, what: str, told: Any, *, stale: bool) -> None:
        place = ("read", "read_journal", "read_slot").index(what)
        found = _as_text(told)
        if stale:
            assert found in self.ever[place]
            return
        agreeing = {world for world in self.possible if world[place] == found}
        assert agreeing, f"{what} found {found!r}, possible: {self.possible}"
        self.possible = agreeing


def _step(what: str, value: int) -> Step:
    content = {"value": str(value)}
    steps: dict[str, Step] = {
        "write": write(content),
        "append": append(content),
        "write_slot": lambda store: store.write_slot("s1", "x", Slot(version=value, data=content)),
        "read": read,
        "read_journal": read_journal,
        "read_slot": read_slot,
    }
    return steps[what]


def _changed(world: Contents, what: str, value: str) -> Contents:
    manifest, journal, slot = world
    if what == "write":
        return value, (), slot
    if what == "append":
        return manifest, (*journal, value), slot
    return manifest, journal, value


def _torn(world: Contents, what: str) -> Contents:
    manifest, journal, slot = world
    if what == "write":
        return TORN, journal, slot
    return (manifest, journal, slot if what == "append" else TORN)


def _unavailable(told: object) -> bool:
    return isinstance(told, TypedError) and typed(told) == ("Session", "StoreUnavailable")


def _as_text(told: Any) -> Any:
    if isinstance(told, TypedError):
        assert typed(told) == ("Session", "ManifestDrift")
        return TORN
    if isinstance(told, list):
        return tuple(entry["value"] for entry in told)
    if isinstance(told, Slot):
        assert told.data == {"value": str(told.version)}
        return told.data["value"]
    return None if told is None else told["value"]


StoreModel.TestCase.settings = settings(max_examples=60, stateful_step_count=8)
TestStoreModel = StoreModel.TestCase
