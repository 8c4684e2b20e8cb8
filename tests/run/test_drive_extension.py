"""An extension is walked through its life, and what it does in between becomes facts."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from faultclock.agents.extension import reference_extension, reference_extension_sync
from faultclock.errors import InputError
from faultclock.model.trace.trace import Trace
from faultclock.subjects.bind_extension import extension
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import ExtensionHost, Slot, SlotDecision
from tests.run.port_runs import facts, run

LIFE = [{"id": phase, "do": phase} for phase in ("init", "activate", "deactivate", "dispose")]
BOTH = [reference_extension, reference_extension_sync]


class Bare:
    """Does nothing in four phases."""

    def __init__(self, host: ExtensionHost) -> None:
        self.host = host

    async def init(self) -> None:
        """Phase 1."""

    async def activate(self) -> None:
        """Phase 2."""

    async def deactivate(self) -> None:
        """Phase 3."""

    async def dispose(self) -> None:
        """Phase 4."""


def bound(made: Any, **options: Any) -> Binding:
    """Bind a class."""
    options = {"id": "bare", "inline": True, **options}
    return extension(kind="Logger", contract_version="1.0.0", **options)(made)


def phases(trace: Trace) -> list[tuple[str, bool]]:
    """Return each phase and whether it worked."""
    return [(e.payload["phase"], e.payload["ok"]) for e in facts(trace, "extension.phase")]


@pytest.mark.parametrize("binding", BOTH)
def test_a_whole_life_works_and_acts_in_between(binding: Binding) -> None:
    """It beats while it is active, and is silent after dispose."""
    tasks = [*LIFE[:2], {**LIFE[2], "at": "65s"}, LIFE[3]]
    trace = run(binding, tasks=tasks)
    assert phases(trace) == [(item["do"], True) for item in LIFE]
    assert [event.payload["target"] for event in facts(trace, "http.request")] == [
        *("/v1/health", "/v1/beat", "/v1/beat")
    ]
    active, inactive = facts(trace, "extension.capabilities")
    assert (active.payload["names"], inactive.payload["names"]) == (["heartbeat"], [])
    (residue,) = facts(trace, "extension.residue")
    assert (residue.payload["tasks"], residue.payload["threads"]) == (0, 0)


@pytest.mark.parametrize("binding", BOTH)
def test_equal_runs_are_equal_to_the_byte(binding: Binding) -> None:
    """Background threads included."""
    tasks = [*LIFE[:2], {**LIFE[2], "at": "500s"}, LIFE[3]]
    first, second = (run(binding, 5, tasks=tasks).footer.digest for _ in range(2))
    assert first == second


def test_what_is_left_running_is_counted() -> None:
    """A task that waits for ever acts on nothing, and is left all the same."""

    class Leaky(Bare):
        async def activate(self) -> None:
            """Leave a task behind."""
            self.left = asyncio.create_task(asyncio.sleep(10_000))

    (residue,) = facts(run(bound(Leaky), tasks=LIFE), "extension.residue")
    assert residue.payload["tasks"] == 1

    class LeakySync(Bare):
        def init(self) -> None:  # type: ignore[override]
            """Phase 1."""

        def activate(self) -> None:  # type: ignore[override]
            """Leave a thread behind."""
            threading.Thread(target=threading.Event().wait, daemon=True).start()

        def deactivate(self) -> None:  # type: ignore[override]
            """Phase 3."""

        def dispose(self) -> None:  # type: ignore[override]
            """Phase 4."""

    (residue,) = facts(run(bound(LeakySync), tasks=LIFE), "extension.residue")
    assert residue.payload["threads"] == 1


def test_the_first_task_says_which_configuration() -> None:
    """A fixture by its name, or the configuration itself."""
    seen: list[Any] = []

    class Nosy(Bare):
        async def init(self) -> None:
            """Look at the configuration, and spoil it."""
            seen.append(dict(self.host.config))
            self.host.config.clear()  # type: ignore[attr-defined]

    schema = {"properties": {"size": {"type": "integer"}}, "additionalProperties": False}
    nosy = bound(Nosy, config_schema=schema, fixtures={"worst": {"size": 9}})
    for arguments in ({}, {"fixture": "worst"}, {"config": {"size": 3}}, {"fixture": "worst"}):
        run(nosy, tasks=[{"id": "init", "do": "init", "arguments": arguments}])
    assert seen == [{}, {"size": 9}, {"size": 3}, {"size": 9}]
    (started,) = facts(
        run(nosy, tasks=[{"id": "init", "do": "init", "arguments": {"fixture": "invalid"}}]),
        "call.started",
    )
    assert started.payload["config_problem"] is not None


def test_an_object_that_cannot_be_made_fails_its_phase() -> None:
    """Each time, with the configuration of the first."""

    class Picky(Bare):
        def __init__(self, host: ExtensionHost) -> None:
            raise ValueError(f"not with {sorted(host.config)}")

    tasks = [
        {"id": "init", "do": "init", "arguments": {"fixture": "invalid"}},
        {"id": "activate", "do": "activate"},
    ]
    trace = run(bound(Picky), tasks=tasks)
    assert phases(trace) == [("init", False), ("activate", False)]
    messages = [e.payload["chain"][0]["message"] for e in facts(trace, "call.raised")]
    assert messages == ["not with ['unexpected']"] * 2


def test_a_factory_may_be_a_coroutine_function() -> None:
    """Some extensions have to be awaited to come into being."""

    async def make(host: ExtensionHost) -> Bare:
        await asyncio.sleep(1)
        return Bare(host)

    assert phases(run(bound(make), tasks=LIFE)) == [(item["do"], True) for item in LIFE]


def test_a_coroutine_phase_of_a_blocking_extension_fails() -> None:
    """A blocking binding of coroutine functions says how to bind them; no phase is done."""
    trace = run(bound(Bare, style="sync"), tasks=LIFE[:2])
    assert phases(trace) == [("init", False), ("activate", False)]
    raised = facts(trace, "call.raised")[0].payload["chain"][0]
    assert raised["message"] == "init is a coroutine function: bind with style='async'"


def test_a_cancel_ends_the_phase_that_runs_and_nothing_else() -> None:
    """A later phase is asked for as if nothing had been."""
    trace = run(
        reference_extension,
        tasks=[*LIFE[:2], LIFE[3]],
        provider={"faults": [{"id": "silent", "then": {"kind": "stall"}}]},
        cancels=[{"id": "close", "when": {"at": "2s"}, "scope": "session"}],
    )
    assert phases(trace) == [("init", True), ("activate", False), ("dispose", True)]
    (raised,) = facts(trace, "call.raised")
    assert raised.at_ns == 2_000_000_000


class Keeper(Bare):
    """Keeps state, and decides as it is told."""

    decision: Any = None

    def on_slot_drift(self, stored: Slot) -> Any:
        """Decide."""
        return self.decision

    def deliver_slot(self, slot: Slot) -> None:
        """Take it."""


@pytest.mark.parametrize(
    ("decision", "told", "delivered"),
    [
        (SlotDecision(decision="migrate", slot=Slot(version=2, data={})), "migrate", [2]),
        (
            # No JSON has it, so the trace says of what type it is.
            SlotDecision(decision="migrate", slot=Slot(version=object(), data={})),  # type: ignore[arg-type]
            "migrate",
            ["<object>"],
        ),
        (SlotDecision(decision="warn"), "warn", [1]),
        (SlotDecision(decision="reject"), "reject", []),
        ("whatever", None, []),
    ],
)
def test_a_slot_of_another_version_is_decided_about(
    decision: Any, told: str | None, delivered: list[int]
) -> None:
    """And then delivered, as it is or as it became."""
    kept = bound(type("_Keeper", (Keeper,), {"decision": decision}), state_slot=2)
    trace = run(kept, tasks=[{"id": "old", "do": "slot", "arguments": {"version": 1}}])
    (decided,) = facts(trace, "extension.slot_decided")
    assert decided.payload["decision"] == told
    assert [e.payload["version"] for e in facts(trace, "extension.slot_delivered")] == delivered


def test_a_slot_of_its_own_version_is_delivered_at_once() -> None:
    """There is nothing to decide; without state there is nothing to deliver either."""
    trace = run(bound(Keeper, state_slot=2), tasks=[{"id": "same", "do": "slot"}])
    assert [e.payload["version"] for e in facts(trace, "extension.slot_delivered")] == [2]
    trace = run(bound(Bare), tasks=[{"id": "none", "do": "slot", "arguments": {"version": 1}}])
    assert facts(trace, "extension.slot_decided", "extension.slot_delivered") == []


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"id": "a", "do": "explode"}, "no phase 'explode'"),
        ({"id": "a", "do": "init", "copies": 2}, "called only once"),
        ({"id": "a", "do": "init", "arguments": {"size": 1}}, "unknown argument 'size'"),
        ({"id": "a", "do": "init", "arguments": {"fixture": "nope"}}, "no fixture 'nope'"),
    ],
)
def test_what_no_extension_can_do_is_refused(task: dict[str, Any], said: str) -> None:
    """Before anything runs."""
    with pytest.raises(InputError, match=said):
        run(bound(Bare), tasks=[task])
