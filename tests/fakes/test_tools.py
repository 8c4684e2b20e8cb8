"""Fake tools in a world: what they do to it, what they reply, and when they stop."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from inspect import iscoroutinefunction
from typing import Any

import pytest

from faultclock.model.scenario.port_values import ToolResult
from faultclock.model.typed_error import TypedError
from faultclock.sim.patches import installed
from faultclock.subjects.ports import CancelSignal
from tests.fakes.tool_life import KEY, MS, ONCE, Life, fault, once, script


@pytest.fixture(autouse=True, scope="module")
def _patched() -> Iterator[None]:
    with installed():
        yield


def cancelling(life: Life, after_s: float, signal: CancelSignal | None = None) -> Any:
    """Return an async subject that cancels the execution, by its task or its signal."""

    async def subject() -> Any:
        task = asyncio.ensure_future(life.tool.execute(**ONCE, signal=signal))
        await asyncio.sleep(after_s)
        if signal is None:
            task.cancel()
        else:
            signal.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        return results[0]

    return subject


# ------------------------------------------------------------------ replies and effects


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_good_execution_has_its_effect_and_replies(style: str) -> None:
    """Both at the end of its work; the facts say which call it was for, and in which life."""
    life = Life(script(value={"sent": 1}), style)
    assert life.value(once(life)) == ToolResult(value={"sent": 1})
    common = {
        "execution": "t1",
        "tool": "send",
        "tool_call": "call_1",
        "call": "ask/1",
        "life": 1,
    }
    replied = {
        "value_sha256": hashlib.sha256(b'{"sent":1}').hexdigest(),
        "ok": True,
        "partial": False,
        "class": None,
        "code": None,
        "errors": [],
        "seen": True,
    }
    assert life.facts() == [
        (0, "tool.called", {**common, "arguments": {"to": "ann"}, "agent": False}),
        (100 * MS, "tool.effect", {**common, "key": KEY, "count": 1}),
        (100 * MS, "tool.replied", {**common, **replied}),
    ]


def test_a_failure_is_replied_and_fires_its_rule() -> None:
    """The rule is met when its reply goes out."""
    life = Life(script(fault("resource_busy", takes=None)))
    result = life.value(once(life))
    assert result.problem.code == "ResourceBusy"
    assert life.story() == [(0, "tool.called"), (100, "fault.fired"), (100, "tool.replied")]
    assert life.facts("fault.fired")[0][2] == {
        "fault": "r1",
        "fault_kind": "resource_busy",
        "of": "tool send",
        "execution": "t1",
        "call": "ask/1",
        "life": 1,
    }
    replied = life.facts("tool.replied")[0][2]
    assert (replied["ok"], replied["class"], replied["code"], replied["value_sha256"]) == (
        False,
        "ToolTransient",
        "ResourceBusy",
        None,
    )


def test_a_partial_result_names_its_items() -> None:
    """Their texts are no fact; class and code are."""
    life = Life(script(fault("partial")))
    assert life.value(once(life)).value == ["a", "b"]
    replied = life.facts("tool.replied")[0][2]
    assert (replied["ok"], replied["partial"]) == (True, True)
    assert replied["errors"] == [{"item": "c", "class": "ToolTerminal", "code": "NotFound"}]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_an_exception_leaves_a_tool_that_breaks_its_contract(style: str) -> None:
    """Its type is a fact, its text is not."""
    life = Life(script(fault("exception")), style)
    ending = life.run(once(life))
    assert type(ending.error) is RuntimeError
    assert life.story()[-1] == (100, "tool.raised")
    assert life.facts("tool.raised")[0][2]["type"] == "RuntimeError"
    assert "/srv" not in str(life.facts())


def test_commit_then_fail_and_fail_then_commit_can_be_told_apart() -> None:
    """The order of effect and reply is the order of the facts."""
    stories = {}
    for effect in ("none", "committed", "late"):
        life = Life(script(fault("timeout", effect=effect, effect_after="2s")))
        life.value(once(life))
        stories[effect] = [entry for entry in life.story() if "fault" not in entry[1]][1:]
    assert stories == {
        "none": [(100, "tool.replied")],
        "committed": [(100, "tool.effect"), (100, "tool.replied")],
        "late": [(100, "tool.replied"), (2_100, "tool.effect")],
    }


def test_effects_of_equal_calls_are_counted() -> None:
    """A double effect shows, whoever replied what; another call has another key."""
    life = Life(script({**fault("timeout", effect="committed"), "when": {"executions": 1}}))

    async def subject() -> None:
        for to in ("ann", "ann", "bob"):
            await life.tool.execute({"to": to}, call_id="call_1")

    life.value(subject)
    effects = [payload for _, _, payload in life.facts("tool.effect")]
    assert [(effect["key"] == KEY, effect["count"]) for effect in effects] == [
        (True, 1),
        (True, 2),
        (False, 1),
    ]


def test_a_rule_may_take_its_own_time() -> None:
    """Such a rule makes its difference from the start, so it is met then."""
    life = Life(script(fault("timeout", takes="3s")))
    life.value(once(life))
    assert life.story() == [(0, "tool.called"), (0, "fault.fired"), (3_000, "tool.replied")]


def test_executions_run_side_by_side() -> None:
    """Nothing in one of them holds the other up, on a loop or on threads."""
    life = Life(script())

    async def subject() -> None:
        await asyncio.gather(*(life.tool.execute({"n": n}, call_id=str(n)) for n in range(3)))

    life.value(subject)
    assert [at for at, kind in life.story() if kind == "tool.replied"] == [100] * 3
    blocking = Life(script(), "sync")

    def threads() -> None:
        started = [
            threading.Thread(target=blocking.tool.execute, args=({"n": n},), kwargs={"call_id": ""})
            for n in range(3)
        ]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    blocking.value(threads)
    assert blocking.story() == life.story()
    assert {payload["call"] for _, _, payload in blocking.facts()} == {"ask/1"}


def test_an_async_execution_begins_when_its_coroutine_runs() -> None:
    """A task that is cancelled before its first step has called nothing."""
    life = Life(script())
    assert iscoroutinefunction(life.tool.execute)

    async def subject() -> None:
        task = asyncio.ensure_future(life.tool.execute(**ONCE))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    life.value(subject)
    assert life.facts() == []


def test_a_subagent_is_called_like_a_tool() -> None:
    """The fact says that it is one."""
    life = Life(script(agent=True))
    life.value(once(life))
    assert life.facts("tool.called")[0][2]["agent"] is True


def test_whatever_a_subject_passes_is_recorded_as_plain_data() -> None:
    """Arguments that are none, and an odd id, are the runtime's fault and no crash of ours."""
    life = Life(script(), "sync")
    odd: Any = ["not", object()]
    life.value(lambda: life.tool.execute(odd, call_id=7))
    called = life.facts("tool.called")[0][2]
    assert (called["arguments"], called["tool_call"]) == (["not", "<object>"], "7")


# ------------------------------------------------------------------ hangs and cancels


def test_a_hang_is_told_at_the_end_of_the_life() -> None:
    """A blocking subject that has no deadline of its own hangs with it."""
    life = Life(script(fault("hang", effect="committed")), "sync")
    ending = life.run(once(life))
    assert ending.reason == "deadlock"
    assert "waits for the tool 'send'" in ending.detail[1]
    assert life.story() == [
        (0, "tool.called"),
        (0, "fault.fired"),
        (100, "tool.effect"),
        (100, "tool.unfinished"),
    ]


def test_a_hang_ends_with_the_deadline_of_an_async_caller() -> None:
    """Its task is cancelled, and so is whatever was still to come of it."""
    life = Life(script(fault("hang", effect="late", effect_after="5s")))

    async def subject() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(life.tool.execute(**ONCE), 1.0)

    life.value(subject)
    assert life.story() == [(0, "tool.called"), (0, "fault.fired"), (1_000, "tool.stopped")]


def test_a_cancel_before_the_effect_means_no_effect() -> None:
    """Whether the task is cancelled or the signal comes."""
    for signal in (None, CancelSignal()):
        life = Life(script())
        result = life.value(cancelling(life, 0.05, signal))
        assert life.story() == [(0, "tool.called"), (50, "tool.stopped")]
        assert life.state.counts.effects == {}
        if signal is None:
            assert isinstance(result, asyncio.CancelledError)
        else:
            assert isinstance(result, TypedError)
            assert (result.error_class, result.code) == ("Cancellation", "ToolCancelled")


def test_a_signal_stops_a_blocking_execution() -> None:
    """It comes from another thread; the blocked one raises ToolCancelled at once."""
    life = Life(script(), "sync")
    signal = CancelSignal()

    def subject() -> int:
        life.world.kernel.call_after(40 * MS, signal.cancel)
        with pytest.raises(TypedError, match="send was cancelled"):
            life.tool.execute(**ONCE, signal=signal)
        return life.world.kernel.now_ns // MS

    assert life.value(subject) == 40
    assert life.story() == [(0, "tool.called"), (40, "tool.stopped")]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_signal_that_came_before_stops_it_at_once(style: str) -> None:
    """The execution was asked for, and did nothing."""
    life = Life(script(), style)
    signal = CancelSignal()
    signal.cancel()
    ending = life.run(once(life, signal=signal))
    assert isinstance(ending.error, TypedError)
    assert life.story() == [(0, "tool.called"), (0, "tool.stopped")]


def test_a_signal_after_the_reply_changes_nothing() -> None:
    """Not even a late effect: that is the world's already."""
    life = Life(script(fault("timeout", effect="late", effect_after="2s")))
    signal = CancelSignal()
    life.value(cancelling(life, 0.5, signal))
    assert life.story()[-2:] == [(100, "tool.replied"), (2_100, "tool.effect")]


def test_a_tool_that_goes_on_finishes_unseen() -> None:
    """Its task was cancelled; effect and reply come all the same."""
    life = Life(script(on_cancel="goes_on"))
    assert isinstance(life.value(cancelling(life, 0.05)), asyncio.CancelledError)
    assert life.story() == [(0, "tool.called"), (100, "tool.effect"), (100, "tool.replied")]
    assert life.facts("tool.replied")[0][2]["seen"] is False


def test_a_tool_that_goes_on_ignores_a_signal() -> None:
    """Whoever waits for it gets its reply."""
    life = Life(script(on_cancel="goes_on"))
    assert life.value(cancelling(life, 0.05, CancelSignal())) == ToolResult(value={"done": True})
    assert life.facts("tool.replied")[0][2]["seen"] is True


def test_rules_that_nobody_met_are_told_at_the_end() -> None:
    """A fault that was cancelled before it made a difference was not met."""
    life = Life(
        script(
            {**fault("forbidden"), "when": {"executions": 1}},
            {**fault("hang"), "when": {"executions": 9}, "optional": True},
        )
    )
    life.value(cancelling(life, 0.05))
    life.tool.seal()
    assert [payload for _, _, payload in life.facts("fault.unmet")] == [
        {"fault": "r1", "optional": False, "of": "tool send", "call": None, "life": 1},
        {"fault": "r2", "optional": True, "of": "tool send", "call": None, "life": 1},
    ]


# ------------------------------------------------------------------ a real tool behind it


def kinds(life: Life) -> list[str]:
    """Return the kinds of the facts of the tool, in order."""
    return [kind for _, kind in life.story()]


def working(life: Life, done: list[str], error: Exception | None = None, **more: Any) -> Any:
    """Return a subject that executes once, with a function of its own behind the tool."""

    def work() -> str:
        done.append("worked")
        if error is not None:
            raise error
        return "sent"

    async def work_async() -> str:
        await asyncio.sleep(0.5)
        return work()

    if life.style == "sync":
        return lambda: life.tool.execute(**ONCE, work=work, **more)

    async def subject() -> Any:
        return await life.tool.execute(**ONCE, work=work_async, **more)

    return subject


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_real_tool_does_its_work_and_its_value_is_the_reply(style: str) -> None:
    """Its end is the effect."""
    life, done = Life(script(), style), []
    assert life.value(working(life, done)) == ToolResult(value="sent")
    assert done == ["worked"]
    assert kinds(life) == ["tool.called", "tool.effect", "tool.replied"]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_tool_that_fails_at_once_does_no_work(style: str) -> None:
    """The function of the user is never called."""
    life, done = Life(script(fault("not_found")), style), []
    result = life.value(working(life, done))
    assert (result.problem.code, done) == ("NotFound", [])


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_tool_that_acts_and_then_fails_has_done_its_work(style: str) -> None:
    """The effect is real, and the reply denies it."""
    life, done = Life(script(fault("timeout", effect="committed")), style), []
    result = life.value(working(life, done))
    assert (result.problem.code, done) == ("ExecutionTimeout", ["worked"])
    assert kinds(life) == ["tool.called", "tool.effect", "fault.fired", "tool.replied"]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_what_a_real_tool_raises_leaves_the_execution(style: str) -> None:
    """It has no effect, as far as anybody knows."""
    life = Life(script(), style)
    with pytest.raises(ZeroDivisionError):
        life.value(working(life, [], ZeroDivisionError("by nothing")))
    assert kinds(life) == ["tool.called", "tool.raised"]


@pytest.mark.parametrize("style", ["async", "sync"])
def test_a_tool_that_acts_and_never_replies_is_unfinished(style: str) -> None:
    """The effect happened, and its caller waits."""
    life, done = Life(script(fault("hang", effect="committed")), style), []
    life.run(working(life, done))
    assert done == ["worked"]
    assert kinds(life)[-2:] == ["tool.effect", "tool.unfinished"]


def test_a_tool_that_only_reads_has_no_effect() -> None:
    """Nothing happens twice when it is called twice."""
    life = Life(script(reads=True))
    assert life.value(working(life, [])) == ToolResult(value="sent")
    assert kinds(life) == ["tool.called", "tool.replied"]


@pytest.mark.parametrize("error", [None, ValueError("waits")])
def test_a_real_tool_that_asks_a_person_first_is_put_off(error: Exception | None) -> None:
    """It has no effect, whether it returns or raises."""
    life = Life(script())
    with nullcontext() if error is None else pytest.raises(ValueError, match="waits"):
        assert life.value(working(life, [], error, acted=lambda: False)) == ToolResult(value="sent")
    assert kinds(life) == ["tool.called", "tool.put_off"]


def test_a_cancel_stops_the_work_of_a_real_tool() -> None:
    """Its task is cancelled amid the work."""
    life, done = Life(script()), []

    async def subject() -> Any:
        task = asyncio.ensure_future(working(life, done)())
        await asyncio.sleep(0.3)
        task.cancel()
        return (await asyncio.gather(task, return_exceptions=True))[0]

    assert isinstance(life.value(subject), asyncio.CancelledError)
    assert (done, kinds(life)) == ([], ["tool.called", "tool.stopped"])
