"""Fake extensions: phases that take time, fail and hang; slots that drift."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from typing import Any, Literal

import pytest

from faultclock.fakes.ports.extensions import FakeExtension, SlotChoice
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.session_script import ExtensionScript
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Ending
from faultclock.sim.patches import installed
from faultclock.sim.world import World

MS = 1_000_000
STYLES = pytest.mark.parametrize("style", ["async", "sync"])
Style = Literal["async", "sync"]
PHASES = ("init", "activate", "deactivate", "dispose")


@pytest.fixture(autouse=True, scope="module")
def _patched() -> Iterator[None]:
    with installed():
        yield


class Rig:
    """One extension in a world of its own."""

    def __init__(self, style: Style = "sync", **fields: Any) -> None:
        self.world = World()
        script = ExtensionScript.model_validate({"id": "notes", **fields})
        self.extension = FakeExtension(script, self.world.kernel, style, 3)
        self.style = style

    def go(self, *phases: str) -> Ending:
        """Go through phases, as the call start/1, one after the other."""

        async def asynchronous() -> None:
            CALL_ID.set("start/1")
            for phase in phases:
                await getattr(self.extension, phase)()

        def blocking() -> None:
            CALL_ID.set("start/1")
            for phase in phases:
                getattr(self.extension, phase)()

        return self.world.run(asynchronous if self.style == "async" else blocking)

    def run(self, subject: Callable[[], Any]) -> Any:
        """Return what `subject` returns; fail if it does not."""
        ending = self.world.run(subject)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        return ending.value

    def facts(self) -> list[tuple[int, str, dict[str, Any]]]:
        """Return (milliseconds, kind, payload) of each fact of the extension."""
        events = self.world.recorder.events
        return [(at // MS, kind, it) for _, at, actor, kind, it in events if actor == "extension"]

    def phases(self) -> list[tuple[int, str, str]]:
        """Return (milliseconds, phase, how it ended) of each phase."""
        return [(at, it["phase"], it["how"]) for at, _, it in self.facts() if "phase" in it]


def test_it_says_what_it_is() -> None:
    """As a runtime reads it before it loads anything."""
    fields: dict[str, Any] = {"kind": "Hook", "depends_on": ["store"], "conflicts_with": ["diary"]}
    extension = Rig(slot_version=2, **fields).extension
    assert (extension.id, extension.kind, extension.slot_version) == ("notes", "Hook", 2)
    assert (extension.depends_on, extension.conflicts_with) == (("store",), ("diary",))


@STYLES
def test_phases_take_their_time(style: Style) -> None:
    """One that takes none is over at once."""
    quick, slow = Rig(style), Rig(style, takes="30ms")
    assert quick.go(*PHASES).reason == slow.go(*PHASES).reason == "completed"
    assert quick.phases() == [(0, phase, "done") for phase in PHASES]
    assert slow.phases() == [(30 * n, phase, "done") for n, phase in enumerate(PHASES, 1)]
    assert slow.facts()[0] == (
        30,
        "extension.phase",
        {
            "extension": "notes",
            "phase": "init",
            "ok": True,
            "how": "done",
            "call": "start/1",
            "life": 3,
        },
    )


def test_phases_are_of_the_style_of_the_subject() -> None:
    """A runtime may ask which it is."""
    for phase in PHASES:
        assert iscoroutinefunction(getattr(Rig("async").extension, phase))
        assert not iscoroutinefunction(getattr(Rig("sync").extension, phase))


@STYLES
@pytest.mark.parametrize("takes", ["0s", "20ms"])
def test_a_phase_fails_each_time_that_it_is_scripted_to(style: Style, takes: str) -> None:
    """The others are good; the error is a plain one that names the phase."""
    rig = Rig(style, fails_in=["activate"], takes=takes)
    ending = rig.go("init", "activate")
    assert type(ending.error) is RuntimeError
    assert str(ending.error) == "activate of the extension notes failed"
    assert [(phase, how) for _, phase, how in rig.phases()] == [
        ("init", "done"),
        ("activate", "failed"),
    ]
    assert [it["ok"] for _, _, it in rig.facts()] == [True, False]


@STYLES
def test_a_phase_that_hangs_never_comes_back(style: Style) -> None:
    """It is on record as hanging, and the report of the hang names a blocked thread's reason."""
    rig = Rig(style, hangs_in=["init"], takes="20ms")
    ending = rig.go("init")
    assert ending.reason == "deadlock"
    assert rig.phases() == [(20, "init", "hangs")]
    if style == "sync":
        assert "waits for phase init of the extension 'notes'" in ending.detail[1]


def test_a_cancelled_phase_is_over() -> None:
    """One that hung is on record already."""
    rig = Rig("async", hangs_in=["dispose"], takes="20ms")

    async def subject() -> None:
        for phase, seconds in (("init", 0.01), ("dispose", 0.05)):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(getattr(rig.extension, phase)(), seconds)
        await asyncio.sleep(1)

    rig.run(subject)
    assert rig.phases() == [(10, "init", "cancelled"), (30, "dispose", "hangs")]


def test_to_dispose_twice_is_recorded_twice() -> None:
    """The extension objects to nothing; what the runtime did is judged elsewhere."""
    rig = Rig()
    rig.go("dispose", "dispose", "init")
    assert [phase for _, phase, _ in rig.phases()] == ["dispose", "dispose", "init"]


def test_nothing_is_over_after_the_life() -> None:
    """A phase that was running when the process ended stays without an end."""
    rig = Rig("async", takes="20ms")

    async def subject() -> None:
        task = asyncio.ensure_future(rig.extension.init())
        await asyncio.sleep(0)
        rig.extension.end_life()
        await asyncio.sleep(1)
        assert not task.done()

    rig.run(subject)
    assert rig.facts() == []


# ------------------------------------------------------------------ the slot


@pytest.mark.parametrize("stored", [1, None])
@pytest.mark.parametrize(
    ("decision", "slot"),
    [("migrate", Slot(version=2, data={"n": 1})), ("warn", None), ("reject", None)],
)
def test_drift_is_decided_as_scripted(
    stored: int | None, decision: Literal["migrate", "warn", "reject"], slot: Slot | None
) -> None:
    """A migration gives the same data in the version of now."""
    rig = Rig(slot_version=2, on_drift=decision)
    choice = rig.run(lambda: rig.extension.on_slot_drift(Slot(version=stored, data={"n": 1})))
    assert choice == SlotChoice(decision=decision, slot=slot)
    common = {"extension": "notes", "call": None, "life": 3}
    decided = {"stored": stored, "current": 2, "decision": decision, "ok": True}
    assert rig.facts() == [(0, "extension.slot_decided", {**common, **decided})]


def test_a_migration_can_fail() -> None:
    """What was decided is on record, and that it did not work."""
    rig = Rig(slot_version=2, migration_fails=True)
    with pytest.raises(RuntimeError, match="cannot migrate"):
        rig.run(lambda: rig.extension.on_slot_drift(Slot(version=1, data={})))
    payload = rig.facts()[0][2]
    assert (payload["decision"], payload["ok"]) == ("migrate", False)


def test_only_a_migration_can_fail() -> None:
    """A slot that is refused, or used as it is, needs none."""
    rig = Rig(slot_version=2, migration_fails=True, on_drift="warn")
    choice = rig.run(lambda: rig.extension.on_slot_drift(Slot(version=1, data={})))
    assert choice.decision == "warn"


def test_each_delivery_of_a_slot_is_a_fact() -> None:
    """With the version of what was delivered."""
    rig = Rig(slot_version=2)

    def subject() -> None:
        rig.extension.deliver_slot(Slot(version=2, data={"n": 1}))
        rig.extension.deliver_slot(Slot(version=None, data={}))

    rig.run(subject)
    assert [(kind, it["version"]) for _, kind, it in rig.facts()] == [
        ("extension.slot_delivered", 2),
        ("extension.slot_delivered", None),
    ]
