"""What a runtime is asked for, and what becomes of it when it cannot, fails or is cancelled."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from faultclock.run.execute import execute
from faultclock.sim.kernel.context import current_call
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings, TypedError
from tests.run.runtime_runs import BOTH, CALLS, SECOND, first, told, working
from tests.run.small_runtime import blocking_runtime, small_runtime

QUESTION = {"id": "ask", "do": "ask", "question": {"kind": "Ask", "prompt": "Why?"}}


def only_turns(style: str, calls: list[Any]) -> Binding:
    """Return a runtime that can do nothing but turns, and notes what it was asked."""
    if style == "sync":

        @runtime(inline=True)
        class Turns:
            def __init__(self, surroundings: Surroundings) -> None:
                calls.append(surroundings.session_id)

            def run_turn(self, text: str) -> str:
                calls.append((text, current_call()))
                time.sleep(2)
                return text.upper()

        return Turns

    @runtime(style="async", inline=True)
    async def make(surroundings: Surroundings) -> Any:
        class Turns:
            async def run_turn(self, text: str) -> str:
                calls.append((text, current_call()))
                await asyncio.sleep(2)
                return text.upper()

        calls.append(surroundings.session_id)
        return Turns()

    return make


STYLES = pytest.mark.parametrize("style", ["async", "sync"])


@STYLES
def test_a_runtime_needs_nothing_but_turns(style: str) -> None:
    """What it cannot do is not asked, and the trace says why."""
    calls: list[Any] = []
    tasks = [
        {"id": "hi", "prompt": "hi"},
        QUESTION,
        {"id": "bye", "do": "close"},
        {"id": "more", "prompt": "more", "at": "30s"},
    ]
    trace = execute(working(tasks=tasks), only_turns(style, calls), 0)
    assert calls == ["s1", ("hi", "hi/1"), ("more", "more/1")]
    why = [event.payload["why"] for event in trace.of_kind("call.skipped")]
    assert why == ["the runtime has no ask", "the runtime has no close"]
    texts = [event.payload["text"] for event in trace.of_kind("call.returned")]
    assert texts == [None, "HI", "MORE"]
    assert trace.footer.ending == "completed"


@STYLES
def test_tasks_wait_for_each_other_and_for_their_time(style: str) -> None:
    """But for those that do not; copies are asked at once."""
    tasks = [
        {"id": "one"},
        {"id": "two", "at": "1s"},
        {"id": "three", "at": "10s", "copies": 2},
        {"id": "beside", "at": "1s", "waits": False},
    ]
    trace = execute(working(tasks=tasks), only_turns(style, []), 0)
    started = {e.payload["call"]: e.at_ns / SECOND for e in trace.of_kind("call.started")}
    assert started == {
        "start/1": 0,
        "one/1": 0,
        "beside/1": 1,
        "two/1": 2,
        "three/1": 10,
        "three/2": 10,
    }
    assert len(list(trace.of_kind("call.returned"))) == 6


@BOTH
def test_a_question_is_asked_and_its_answer_told_without_its_value(subject: Binding) -> None:
    """It may be a password."""
    trace = execute(working(tasks=[QUESTION]), subject, 0)
    started = [e.payload for e in trace.of_kind("call.started")][1]
    assert (started["do"], started["prompt"]) == ("ask", "Why?")
    assert (started["interaction_kind"], started["deadline_ns"]) == ("Ask", None)
    returned = [e.payload for e in trace.of_kind("call.returned")][1]
    assert returned["answer"] == {"status": "accepted", "reason": ""}


@BOTH
def test_a_close_that_was_asked_for_is_not_asked_for_twice(subject: Binding) -> None:
    """Only a scenario that says nothing gets the usual one."""
    tasks = [{"id": "ask"}, {"id": "bye", "do": "close"}]
    trace = execute(working(tasks=tasks), subject, 0)
    assert [call for _, call in told(trace, "call.started")] == ["start/1", "ask/1", "bye/1"]


@pytest.mark.parametrize("broken", ["factory", "none", "start"])
def test_a_runtime_that_cannot_be_made_is_data(broken: str) -> None:
    """What its factory raises, that it returned nothing, or what its start raises."""

    class Failing:
        async def start(self) -> None:
            raise TypedError("Session", "StoreUnavailable", "not today")

    @runtime(style="async", inline=True)
    def make(surroundings: Surroundings) -> Any:
        if broken == "factory":
            raise ValueError("no configuration")
        return None if broken == "none" else Failing()

    trace = execute(working(), make, 0)
    messages = {
        "factory": "no configuration",
        "none": "the bound function returned None instead of a runtime",
        "start": "not today",
    }
    assert first(trace, "call.raised").payload["chain"][0]["message"] == messages[broken]
    assert told(trace, *CALLS)[-1] == ("call.skipped", "ask/1")
    assert trace.footer.ending == "completed"


def cancelling(**rule: Any) -> dict[str, Any]:
    """Return the changes for one cancel of the turn."""
    return {"cancels": [{"id": "stop", "scope": "turn", **rule}]}


@BOTH
@pytest.mark.parametrize(
    "when",
    [
        {"at": "150ms"},
        {"on": {"kind": "http.response"}},
        {"on": {"kind": "http.request"}, "delay": "50ms"},
    ],
    ids=["at", "on", "later"],
)
def test_a_cancel_comes_while_the_turn_runs(subject: Binding, when: dict[str, Any]) -> None:
    """On the loop of an async runtime, on a thread of its own for a blocking one."""
    trace = execute(working(**cancelling(when=when)), subject, 0)
    (requested,) = trace.of_kind("cancel.requested")
    assert requested.payload == {
        "cancel": "stop",
        "scope": "turn",
        "target": None,
        "n": 1,
        "call": None,
        "life": 1,
    }
    raised = first(trace, "call.raised")
    assert raised.payload["call"] == "ask/1"
    assert raised.payload["chain"][0]["code"] == "TurnCancelled"
    fired = [event.payload["of"] for event in trace.of_kind("fault.fired")]
    assert fired == ["cancel"]
    if "at" in when:
        assert requested.at_ns == 150_000_000
    if "delay" in when:
        assert requested.at_ns == first(trace, "http.request").at_ns + 50_000_000


def test_a_cancel_on_an_event_comes_before_anything_else() -> None:
    """An async runtime sees it in the very next callback."""
    changes = cancelling(when={"on": {"kind": "tool.replied"}}, times=3)
    trace = execute(working(**changes), small_runtime, 0)
    replied = first(trace, "tool.replied").seq
    following = [event.kind for event in trace.events[replied : replied + 4]]
    assert following == ["fault.fired"] + ["cancel.requested"] * 3
    assert [e.payload["n"] for e in trace.of_kind("cancel.requested")] == [1, 2, 3]


@STYLES
def test_a_runtime_without_cancel_is_told(style: str) -> None:
    """The rule was met all the same."""
    trace = execute(working(**cancelling(when={"at": "1s"})), only_turns(style, []), 0)
    assert told(trace, "cancel.unsupported", "fault.unmet") == [("cancel.unsupported", None)]


def test_what_cancel_raises_is_data() -> None:
    """At once, or when it has to be awaited."""

    @runtime(inline=True)
    class Late:
        def __init__(self, surroundings: Surroundings) -> None:
            self.times = 0

        async def run_turn(self, text: str) -> str:
            await asyncio.sleep(5)
            return "done"

        def cancel(self, scope: str, target: str | None) -> Any:
            self.times += 1
            if self.times == 1:
                raise ValueError("at once")
            return self.later()

        async def later(self) -> None:
            raise ValueError("later")

    changes = cancelling(when={"at": "1s"}, times=2)
    trace = execute(working(**changes), Late, 0)
    chains = [event.payload["chain"][0] for event in trace.of_kind("cancel.raised")]
    assert [item["message"] for item in chains] == ["at once", "later"]


def test_a_cancel_when_nobody_is_there_is_unmet() -> None:
    """The process was dead at that time."""
    changes = cancelling(when={"at": "500ms"})
    crash = {"id": "dead", "at": "200ms"}
    trace = execute(working(crashes=[crash], **changes), small_runtime, 0)
    assert [e.payload["fault"] for e in trace.of_kind("fault.unmet")] == ["stop"]


def test_a_cancelled_call_ends_nothing_but_itself() -> None:
    """Even when the runtime cancels the task that the harness asked it in."""

    @runtime(inline=True)
    class Rude:
        def __init__(self, surroundings: Surroundings) -> None:
            """Nothing is needed."""

        async def run_turn(self, text: str) -> str:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
            return "never"

    trace = execute(working(tasks=[{"id": "one"}, {"id": "two"}]), Rude, 0)
    raised = [event.payload["call"] for event in trace.of_kind("call.raised")]
    assert raised == ["one/1", "two/1"]
    assert trace.footer.ending == "completed"


def test_calls_in_turn_share_a_context() -> None:
    """What `start` leaves in a context variable is there in the turns, as in one program."""
    from contextvars import ContextVar

    mark: ContextVar[str] = ContextVar("mark", default="unset")

    def bound(style: str) -> Binding:
        class Sync:
            def __init__(self, surroundings: Surroundings) -> None:
                """Nothing is needed."""

            def start(self) -> None:
                mark.set("set")

            def run_turn(self, text: str) -> str:
                return mark.get()

        class Async(Sync):
            async def start(self) -> None:  # type: ignore[override]
                mark.set("set")

            async def run_turn(self, text: str) -> str:  # type: ignore[override]
                return mark.get()

        return runtime(Async if style == "async" else Sync)

    for style in ("async", "sync"):
        trace = execute(working(), bound(style), 0)
        assert [e.payload["text"] for e in trace.of_kind("call.returned")] == [None, "set"]
    assert mark.get() == "unset"


def test_a_blocking_runtime_is_cancelled_from_a_thread() -> None:
    """So it may lock and wait there, as in a program with a signal thread."""
    names: list[str] = []

    @runtime(inline=True)
    class Locked:
        def __init__(self, surroundings: Surroundings) -> None:
            self.cancelled = threading.Event()

        def run_turn(self, text: str) -> str:
            self.cancelled.wait()
            return "cancelled"

        def cancel(self, scope: str, target: str | None) -> None:
            names.append(threading.current_thread().name)
            time.sleep(3)
            self.cancelled.set()

    trace = execute(working(**cancelling(when={"at": "1s"})), Locked, 0)
    assert names == ["cancel stop"]
    returned = list(trace.of_kind("call.returned"))[-1]
    assert (returned.payload["text"], returned.at_ns) == ("cancelled", 4 * SECOND)


def test_the_turns_of_a_blocking_runtime_run_on_the_main_thread() -> None:
    """As in a program that has no other."""
    names: list[str] = []

    @runtime(inline=True)
    class Named:
        def __init__(self, surroundings: Surroundings) -> None:
            """Nothing is needed."""

        def run_turn(self, text: str) -> str:
            names.append(threading.current_thread().name)
            return text

    execute(working(), Named, 0)
    assert names == ["MainThread"]
    assert blocking_runtime.style == "sync"
