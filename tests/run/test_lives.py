"""A run of a runtime goes on over crashes and restarts, and nothing of a dead process does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.run.execute import execute
from faultclock.run.suite import run_one
from faultclock.run.worlds import seed_of_life
from faultclock.subjects.bind_runtime import runtime
from faultclock.subjects.binding import Binding
from faultclock.subjects.ports import Surroundings
from tests.run.runtime_runs import BOTH, CALLS, SECOND, first, told, working
from tests.run.small_runtime import LIVES_SEEN, small_runtime


@BOTH
def test_a_turn_is_start_then_task_then_close(subject: Binding) -> None:
    """Each is a call with its own id, and the provider's attempts belong to the turn."""
    trace = execute(working(), subject, 0)
    assert told(trace, *CALLS) == [
        (kind, call)
        for call in ("start/1", "ask/1", "close/1")
        for kind in ("call.started", "call.returned")
    ]
    assert {event.payload["call"] for event in trace.of_kind("http.request")} == {"ask/1"}
    answers = [event.payload["text"] for event in trace.of_kind("call.returned")]
    assert answers == [None, "It is written.", None]
    assert trace.footer.ending == "completed"


@BOTH
def test_nothing_of_a_killed_process_is_recorded(subject: Binding) -> None:
    """No `finally`, no reply of the tool: the crash follows its event at once."""
    crash = {"id": "dead", "on": {"kind": "tool.effect"}}
    trace = execute(working(crashes=[crash]), subject, 0)
    killed = first(trace, "tool.effect").seq
    after = [event.kind for event in trace.events[killed : killed + 4]]
    assert after == ["fault.fired", "process.crashed", "call.crashed", "process.started"]
    assert told(trace, "declared.event")[-1][1] == "start/2"
    assert not list(trace.of_kind("tool.replied"))
    assert [event.seq for event in trace.events] == list(range(1, len(trace.events) + 1))


@BOTH
def test_the_fresh_process_resumes_on_what_has_survived(subject: Binding) -> None:
    """A second later, with the store, the numbers of the world and the effects as they were."""
    crash = {"id": "dead", "on": {"kind": "tool.effect"}, "then": "again"}
    trace = execute(working(crashes=[crash]), subject, 0)
    started = [
        (e.at_ns, e.payload["life"], e.payload["resume"]) for e in trace.of_kind("process.started")
    ]
    killed_ns = first(trace, "process.crashed").at_ns
    assert started == [(0, 1, False), (killed_ns + SECOND, 2, True)]
    assert told(trace, "call.started") == [
        ("call.started", call) for call in ("start/1", "ask/1", "start/2", "ask/2", "close/1")
    ]
    assert [e.payload["count"] for e in trace.of_kind("tool.effect")] == [1, 2]
    assert [e.payload["exchange"] for e in trace.of_kind("http.request")] == ["x1", "x2", "x3"]
    connections = [e.payload["connection"] for e in trace.of_kind("net.connect")]
    assert connections == ["c1", "c2", "c3"]
    times = [event.at_ns for event in trace.events]
    assert times == sorted(times)


def test_the_task_that_was_cut_off_is_left_or_asked_again() -> None:
    """As the rule says; the tasks behind it are asked in any case."""
    tasks = [{"id": "ask"}, {"id": "more"}]

    def calls(then: str) -> list[str | None]:
        crash = {"id": "dead", "on": {"kind": "http.response"}, "then": then}
        trace = execute(working(crashes=[crash], tasks=tasks), small_runtime, 0)
        return [call for _, call in told(trace, "call.started")]

    assert calls("next") == ["start/1", "ask/1", "start/2", "more/1", "close/1"]
    assert calls("again") == ["start/1", "ask/1", "start/2", "ask/2", "more/1", "close/1"]


def test_each_life_draws_from_its_own_seed() -> None:
    """Random ids do not repeat, and the first life is the same as without a crash."""

    def marks(**changes: Any) -> list[str]:
        trace = execute(working(**changes), small_runtime, 7)
        events = trace.of_kind("declared.event")
        made = (event.payload for event in events if event.payload["name"] == "RuntimeMade")
        return [payload["fields"]["mark"] for payload in made]

    crashed = marks(crashes=[{"id": "dead", "at": "200ms"}])
    assert crashed[0] == marks()[0]
    assert len(set(crashed)) == 2
    assert seed_of_life(7, 1) == 7


@BOTH
def test_a_process_of_its_own_loses_even_module_globals(subject: Binding) -> None:
    """With isolation each life is a forked child; without it, both share this process."""
    scenario = working(crashes=[{"id": "dead", "on": {"kind": "tool.called"}}])

    def seen(*, isolate: bool) -> list[int]:
        LIVES_SEEN.clear()
        trace = run_one(scenario, subject, 0, isolate=isolate)
        events = trace.of_kind("declared.event")
        made = (event.payload for event in events if event.payload["name"] == "RuntimeMade")
        return [payload["fields"]["seen"] for payload in made]

    assert (seen(isolate=True), seen(isolate=False)) == ([1, 1], [1, 2])


@pytest.mark.parametrize(
    ("leaves", "found"), [("nothing", 0), ("part", 0), ("all", 1)], ids=lambda value: str(value)
)
def test_a_crash_during_a_write_leaves_as_much_as_it_says(leaves: str, found: int) -> None:
    """The second write is the journal entry of the tool call."""
    entries: list[list[Any]] = []

    @runtime(id="journal", inline=True)
    class Journal:
        def __init__(self, surroundings: Surroundings) -> None:
            self.around = surroundings

        async def start(self) -> None:
            if self.around.resume:
                entries.append(await self.around.store.read_journal("s1"))
            else:
                await self.around.store.write("s1", {})

        async def run_turn(self, text: str) -> str:
            await self.around.store.append("s1", {"text": text})
            return "never"

    crash = {"id": "dead", "write": 2, "leaves": leaves}
    trace = execute(working(crashes=[crash], store={"kind": "files"}), Journal, 0)
    assert [len(found) for found in entries] == [found]
    assert told(trace, *CALLS)[-3:] == [
        ("call.crashed", "ask/1"),
        ("call.started", "start/2"),
        ("call.returned", "start/2"),
    ]


def test_several_crashes_happen_in_their_order() -> None:
    """One in each life but the last; each counts its events over the whole run."""
    crashes = [
        {"id": "one", "on": {"kind": "http.request"}, "then": "again"},
        {"id": "two", "on": {"kind": "http.request", "nth": 3}, "then": "again"},
    ]
    trace = execute(working(crashes=crashes), small_runtime, 0)
    crashed = [(e.payload["crash"], e.payload["life"]) for e in trace.of_kind("process.crashed")]
    assert crashed == [("one", 1), ("two", 2)]
    assert len(list(trace.of_kind("http.request"))) == 5
    assert not list(trace.of_kind("fault.unmet"))


def test_a_crash_that_never_comes_spoils_the_run() -> None:
    """It is told like any other fault that nobody met."""
    crashes = [{"id": "never", "on": {"kind": "tool.effect", "where": {"count": 9}}}]
    trace = execute(working(crashes=crashes), small_runtime, 0)
    (unmet,) = trace.of_kind("fault.unmet")
    assert (unmet.payload["fault"], unmet.payload["of"]) == ("never", "crash")


def test_a_start_that_fails_ends_the_tasks_and_not_the_run() -> None:
    """They are not asked, and the trace says so."""
    crashes = [{"id": "dead", "on": {"kind": "store.asked"}}]
    tasks = [{"id": "ask"}, {"id": "later", "waits": False, "at": "1m"}]
    trace = execute(working(crashes=crashes, tasks=tasks), small_runtime, 0)
    raised = first(trace, "call.raised")
    assert raised.payload["chain"][0]["code"] == "NoSnapshot"
    assert told(trace, *CALLS)[-2:] == [("call.skipped", "ask/1"), ("call.skipped", "later/1")]
    assert first(trace, "call.skipped").payload["why"] == "start/2 raised"
    assert trace.footer.ending == "completed"


@BOTH
def test_a_restart_is_a_fresh_process_without_a_crash(subject: Binding) -> None:
    """What the task says is a call, and a fresh start follows; nobody says close after it."""
    tasks = [{"id": "ask"}, {"id": "fresh", "do": "restart"}, {"id": "more"}]
    trace = execute(working(tasks=tasks), subject, 0)
    calls = [call for _, call in told(trace, "call.started")]
    assert calls == ["start/1", "ask/1", "fresh/1", "start/2", "more/1", "close/1"]
    assert told(trace, "process.started", "process.crashed") == [("process.started", None)] * 2
    last = execute(working(tasks=tasks[:2]), subject, 0)
    assert [call for _, call in told(last, "call.started")][-1] == "start/2"


@BOTH
def test_what_a_restart_cuts_off_is_told(subject: Binding) -> None:
    """A turn that runs beside it is lost with its process; one that has not begun is not."""
    tasks = [
        {"id": "beside", "waits": False, "at": "10ms"},
        {"id": "later", "waits": False, "at": "1m"},
        {"id": "fresh", "do": "restart", "at": "100ms"},
    ]
    trace = execute(working(tasks=tasks), subject, 0)
    ends = {call: kind for kind, call in told(trace, *CALLS[1:])}
    assert ends["beside/1"] in ("call.crashed", "call.raised")
    assert ends["later/1"] == "call.returned"
    assert first(trace, "call.returned").payload["life"] == 1


def test_hidden_escapes_of_an_earlier_life_still_spoil_the_run() -> None:
    """A fresh process makes nothing good."""

    @runtime(id="escaping", inline=True)
    class Escaping:
        def __init__(self, surroundings: Surroundings) -> None:
            self.resumed = surroundings.resume

        async def run_turn(self, text: str) -> str:
            if not self.resumed:
                try:
                    os.system("true")
                except BaseException:
                    return "hidden"
            return "fine"

    tasks = [{"id": "ask"}, {"id": "fresh", "do": "restart"}, {"id": "more"}]
    crash = {"id": "dead", "on": {"kind": "call.returned", "where": {"call": "ask/1"}}}
    for changes in ({"tasks": tasks}, {"crashes": [crash]}):
        assert execute(working(**changes), Escaping, 0).footer.ending == "escape"


def test_a_killed_process_that_goes_on_changes_nothing() -> None:
    """Code that catches everything runs on for a moment, and nobody notices."""
    outcomes: list[str] = []

    @runtime(id="stubborn", inline=True)
    class Stubborn:
        def __init__(self, surroundings: Surroundings) -> None:
            self.around = surroundings

        async def start(self) -> None:
            if not self.around.resume:
                await self.around.store.write("s1", {"count": 0})

        async def run_turn(self, text: str) -> str:
            if self.around.resume:
                manifest = await self.around.store.read("s1")
                outcomes.append(str(manifest["count"]))
                return "resumed"
            try:
                self.around.host.event("Now")
            except BaseException:
                outcomes.append("caught")
                self.around.host.event("Then")
                await self.around.store.write("s1", {"count": 1})
                outcomes.append("written")
            return "never"

    crash = {"id": "dead", "on": {"kind": "declared.event"}, "then": "again"}
    trace = execute(working(crashes=[crash]), Stubborn, 0)
    assert outcomes == ["caught", "0"]
    assert [event.payload["name"] for event in trace.of_kind("declared.event")] == ["Now"]


def test_a_life_that_hangs_for_real_is_ended_by_the_watchdog() -> None:
    """All lives have one limit together."""

    @runtime(id="spinning")
    class Spinning:
        def __init__(self, surroundings: Surroundings) -> None:
            self.resumed = surroundings.resume

        def run_turn(self, text: str) -> str:
            while self.resumed:
                pass
            return "done"

    tasks = [{"id": "ask"}, {"id": "fresh", "do": "restart"}, {"id": "more"}]
    trace = run_one(working(tasks=tasks), Spinning, 0, isolate=True, wall_limit_s=1.0)
    assert trace.footer.ending == "watchdog"
    assert trace.footer.detail[0] == "no end after 1 s of real time"
    lives = [event.payload["life"] for event in trace.of_kind("process.started")]
    assert lives == [1, 2], "what happened before is in the trace"
    assert trace.events[-1].payload["life"] == 2


def test_a_life_that_dies_keeps_what_was_recorded_before_it() -> None:
    """The run ends when that was, and proves nothing."""

    @runtime(id="dying")
    class Dying:
        def __init__(self, surroundings: Surroundings) -> None:
            if surroundings.resume:
                os._exit(3)

        def run_turn(self, text: str) -> str:
            time.sleep(2)
            return "done"

    tasks = [{"id": "ask"}, {"id": "fresh", "do": "restart"}, {"id": "more"}]
    trace = run_one(working(tasks=tasks), Dying, 0, isolate=True)
    assert trace.footer.ending == "harness_error"
    assert "call.returned" in [event.kind for event in trace.events]
    assert trace.footer.ended_at_ns == 2_000_000_000


def test_a_task_that_no_runtime_can_do_is_refused() -> None:
    """Before anything runs."""
    with pytest.raises(InputError, match="asks a runtime for 'dance'"):
        execute(working(tasks=[{"id": "ask", "do": "dance"}]), small_runtime, 0)
    with pytest.raises(InputError, match="needs a question"):
        execute(working(tasks=[{"id": "ask", "do": "ask"}]), small_runtime, 0)


def test_a_scenario_of_another_role_is_refused(bound: Callable[[str], Binding]) -> None:
    """An adapter is no runtime."""
    with pytest.raises(InputError, match="is for role runtime"):
        execute(working(), bound("reference"), 0)
