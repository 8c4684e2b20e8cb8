"""Fake tools when the subject's process is killed: what dies with it, and what goes on."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faultclock.fakes.ports.tools import ToolsState
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.sim.kernel.escapes import SimKilled
from faultclock.sim.kernel.recorder import Fact, WatchedRecorder
from faultclock.sim.patches import installed
from faultclock.subjects.ports import CancelSignal
from tests.fakes.tool_life import MS, ONCE, SECOND, Life, fault, once, script


@pytest.fixture(autouse=True, scope="module")
def _patched() -> Iterator[None]:
    with installed():
        yield


def crashed(life: Life, kind: str, subject: Callable[[], Any] | None = None) -> ToolsState:
    """Run a life that is killed right after its first fact of `kind`; return what survives."""
    kernel = life.world.kernel

    def watch(fact: Fact) -> None:
        if fact[3] == kind:
            kernel.crash()

    assert isinstance(life.recorder, WatchedRecorder)
    life.recorder.watch = watch
    assert life.run(subject or once(life)).reason == "crashed"
    copy: ToolsState = pickle.loads(pickle.dumps(life.state))
    return copy


def two_lives(tool: ToolScript, kind: str, style: str = "async") -> tuple[Life, Life]:
    """Crash the first life right after a fact; let the second one execute once more, at 1 s."""
    first = Life(tool, style, recorder=WatchedRecorder(lambda _: None))
    state = crashed(first, kind)
    second = Life(tool, style, state=state, number=2, start_ns=SECOND)
    second.value(once(second))
    return first, second


@pytest.mark.parametrize("style", ["async", "sync"])
def test_counts_and_ledger_go_on_in_the_next_life(style: str) -> None:
    """The execution has the next number, and the same effect counts on."""
    first, second = two_lives(script(), "tool.effect", style)
    assert first.story() == [(0, "tool.called"), (100, "tool.effect"), (100, "tool.unfinished")]
    effect = second.facts("tool.effect")[0][2]
    assert (effect["execution"], effect["count"], effect["life"]) == ("t2", 2, 2)


def test_an_execution_dies_with_its_process() -> None:
    """A tool that stops when it is cancelled has no effect after the kill."""
    first, second = two_lives(script(), "tool.called")
    assert first.story() == [(0, "tool.called"), (0, "tool.unfinished")]
    assert [payload["count"] for _, _, payload in second.facts("tool.effect")] == [1]


def test_a_tool_that_goes_on_survives_the_kill() -> None:
    """Its effect came due between the lives, and is recorded as the next one begins."""
    first, second = two_lives(script(on_cancel="goes_on"), "tool.called")
    assert first.story() == [(0, "tool.called"), (0, "tool.unfinished")]
    effects = [(at, payload["execution"]) for at, _, payload in second.facts("tool.effect")]
    assert effects == [(SECOND, "t1"), (SECOND + 100 * MS, "t2")]
    assert second.state.pending == {}


def test_a_late_effect_survives_the_kill() -> None:
    """The reply that it belongs to went out; it comes at its own time, once."""
    tool = script(
        {
            **fault("timeout", effect="late", effect_after="3s"),
            "when": {"executions": 1},
        }
    )
    _, second = two_lives(tool, "tool.replied")
    effects = [(at // MS, payload["execution"]) for at, _, payload in second.facts("tool.effect")]
    assert effects == [(1_100, "t2"), (3_100, "t1")]
    assert [payload["count"] for _, _, payload in second.facts("tool.effect")] == [1, 2]
    assert second.facts("tool.effect")[1][2]["call"] == "ask/1"


@pytest.mark.parametrize("style", ["async", "sync"])
def test_what_is_left_of_a_killed_process_can_call_nothing(style: str) -> None:
    """Code that catches the kill changes neither the counts nor the ledger."""
    life = Life(script(), style, recorder=WatchedRecorder(lambda _: None))
    inner = once(life)

    async def asynchronous() -> None:
        with pytest.raises(SimKilled):
            await inner()
        await inner()

    def blocking() -> None:
        with pytest.raises(SimKilled):
            inner()
        inner()

    state = crashed(life, "tool.called", asynchronous if style == "async" else blocking)
    assert state.counts.executions == {"send": 1}


def test_a_last_word_of_a_killed_process_stops_nothing() -> None:
    """Its handlers may still give a signal: the execution stays without an end."""
    life = Life(script(), "sync", recorder=WatchedRecorder(lambda _: None))
    signal = CancelSignal()

    def subject() -> None:
        try:
            once(life, signal=signal)()
        finally:
            signal.cancel()

    crashed(life, "tool.effect", subject)
    assert life.story()[-1] == (100, "tool.unfinished")


def test_nothing_happens_after_the_end_of_a_life() -> None:
    """Whatever is left waits for the next one, or died."""
    life = Life(script(on_cancel="goes_on"))

    async def subject() -> None:
        task = asyncio.ensure_future(life.tool.execute(**ONCE))
        await asyncio.sleep(0.05)
        life.tool.end_life()
        await asyncio.sleep(1)
        assert not task.done()

    life.value(subject)
    assert life.story() == [(0, "tool.called"), (50, "tool.unfinished")]
    assert list(life.state.pending) == ["t1"]


@pytest.mark.parametrize("kind", ["tool.called", "tool.effect", "fault.fired", "tool.replied"])
def test_a_rule_that_fired_before_the_kill_stays_met(kind: str) -> None:
    """A fact may be the last one of its life: what it says is remembered already."""
    tool = script({**fault("timeout", effect="committed"), "when": {"executions": 1}})
    first, second = two_lives(tool, kind)
    second.tool.seal()
    fired = bool(first.facts("fault.fired"))
    assert bool(second.facts("fault.unmet")) is not fired
    assert fired is (kind in ("fault.fired", "tool.replied"))
