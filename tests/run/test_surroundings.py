"""A runtime is given the ports' own values, whatever the fakes behind them are."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any, Literal

import pytest

from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.host import RecordingHost
from faultclock.run.surroundings import Fakes, FakesState
from faultclock.sim.world import World
from faultclock.subjects.ports import (
    Interactor,
    Limits,
    Next,
    SessionStore,
    SlotDecision,
    Stage,
    Surroundings,
    ToolContract,
    ToolRetryRule,
)
from tests.run.runtime_runs import working

WHOLE: dict[str, Any] = {
    "tools": [
        {
            "name": "write_file",
            "gated": True,
            "destructive": True,
            "timeout": "2s",
            "input_schema": {"type": "object", "required": ["path"]},
            "retry": {
                "attempts_max": 3,
                "backoff": {"kind": "exponential", "base": "500ms", "factor": 3, "cap": "4s"},
                "jitter": {"kind": "proportional", "percent": 10},
                "retryable": ["ResourceBusy"],
            },
        },
        {"name": "research", "agent": True},
    ],
    "interactors": [{"id": "terminal"}, {"id": "phone", "kinds": ["Approve"]}],
    "store": {"id": "remote"},
    "session": {
        "id": "s9",
        "mode": "allowlist",
        "allowlist": ["write_file"],
        "headless": True,
        "deadlines": {"Approve": "90s"},
        "budgets": {"steps_max": 4, "wall_time": "1500ms"},
        "entry_stage": "plan",
        "stages": [
            {
                "id": "plan",
                "turn_cap": 2,
                "next": "do",
                "grants": {"research": "defer"},
                "retry": {"attempts_max": 2, "backoff": {"kind": "fixed", "base": "3s"}},
            },
            {"id": "do", "allowed_tools": ["write_file"]},
        ],
        "extensions": [
            {"id": "notes", "slot_version": 2, "on_drift": "migrate"},
            {"id": "late", "lives": [2]},
        ],
    },
    "tasks": [{"id": "ask", "timeout": "7s"}],
}


def given(
    *, style: Literal["async", "sync"] = "async", life: int = 1, **changes: Any
) -> Surroundings:
    """Return what a runtime is given in one life."""
    scenario: Scenario = working(**(WHOLE | changes))
    world = World(life=life)
    fakes = Fakes(scenario, world, style, FakesState.initial(scenario), seed=0)
    return fakes.surroundings(RecordingHost(world.kernel), resume=life > 1, folder=Path())


def test_a_script_becomes_what_the_ports_say() -> None:
    """Durations in seconds, and nothing of what the fakes will do."""
    around = given()
    assert (around.session_id, around.resume, around.timeout_s) == ("s9", False, 7.0)
    assert (around.mode, around.allowlist, around.headless) == ("allowlist", ("write_file",), True)
    assert around.deadlines_s == {"Approve": 90.0}
    assert around.limits == Limits(steps_max=4, wall_time_s=1.5)
    assert around.store.id == "remote"
    assert [item.id for item in around.interactors] == ["terminal", "phone"]
    assert around.interactors[1].kinds == ("Approve",)


def test_a_tool_has_its_contract() -> None:
    """With the retry policy that belongs to it."""
    write, research = (tool.contract for tool in given().tools)
    assert write == ToolContract(
        name="write_file",
        description="A simulated tool.",
        input_schema={"type": "object", "required": ["path"]},
        output_schema={},
        gated=True,
        destructive=True,
        timeout_s=2.0,
        retry=ToolRetryRule(
            attempts_max=3,
            backoff="exponential",
            base_s=0.5,
            factor=3,
            cap_s=4.0,
            jitter_percent=10,
            retryable=("ResourceBusy",),
        ),
    )
    assert (research.agent, research.retry, research.timeout_s) == (True, None, 30.0)


@pytest.mark.parametrize("style", ["async", "sync"])
def test_what_blocks_is_a_coroutine_function_for_an_async_runtime(
    style: Literal["async", "sync"],
) -> None:
    """And a plain function for a blocking one; some runtimes ask which it is."""
    around = given(style=style)
    execute = around.tools[0].execute
    for function in (execute, around.store.read, around.store.write_slot):
        assert inspect.iscoroutinefunction(function) is (style == "async")
    assert not inspect.iscoroutinefunction(around.interactors[0].show)


def test_a_state_machine_answers_in_the_ports_own_types() -> None:
    """Whatever the fake one answers in."""
    machine = given().state_machine
    assert machine is not None
    assert machine.entry == "plan"
    assert machine.stage("plan") == Stage(
        id="plan",
        body="Do the work of this stage.",
        turn_cap=2,
        attempts_max=2,
        backoff="fixed",
        base_s=3.0,
    )
    assert machine.stage("do").attempts_max == 1
    assert machine.check_gate("plan", 1) == "proceed"
    assert machine.grant_tool("plan", "research", {}) == "defer"
    assert machine.assess("plan", 1, [], False) == "ok"
    assert machine.next("plan", "ok") == Next(kind="stage", stage="do")
    assert machine.next("do", "fail") == Next(kind="abort-workflow")
    assert given(session={"id": "s9"}).state_machine is None


def test_extensions_are_those_of_this_life() -> None:
    """Their decisions about slots are the port's."""
    (notes,) = given().extensions
    assert (notes.id, notes.slot_version) == ("notes", 2)
    stored = Slot(version=1, data={"a": 1})
    assert notes.on_slot_drift(stored) == SlotDecision(
        decision="migrate", slot=Slot(version=2, data={"a": 1})
    )
    assert [item.id for item in given(life=2).extensions] == ["notes", "late"]


def test_a_scenario_that_says_nothing_has_defaults() -> None:
    """An empty store in memory, and nobody to ask."""
    around = given(session=None, store=None, interactors=[], tools=[])
    assert (around.session_id, around.mode, around.headless) == ("s1", "ask", False)
    assert (around.tools, around.interactors, around.extensions) == ((), (), ())
    assert around.store.id == "local"


def test_what_the_fakes_remember_is_plain_data() -> None:
    """It goes from process to process."""
    state = FakesState.initial(working(**WHOLE))
    assert pickle.loads(pickle.dumps(state)) == state
    assert set(state.interactors) == {"terminal", "phone"}
    assert state.store.session == "s9"


def test_the_fakes_are_what_the_ports_ask_for() -> None:
    """By the methods that each port names."""
    around = given()
    for port, thing in ((Interactor, around.interactors[0]), (SessionStore, around.store)):
        names = [name for name in vars(port) if not name.startswith("_")]
        assert [name for name in names if not hasattr(thing, name)] == []
