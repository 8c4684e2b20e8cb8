"""Each way of making a run simpler gives a scenario or is refused, and never a larger one."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.explore.ladders import duration_rungs, number_rungs, range_rungs, seed_rungs
from faultclock.explore.reduction_words import choice_words
from faultclock.explore.reductions import Reductions, reductions_of
from faultclock.explore.shrink import own_scenario
from faultclock.explore.sizes import size_of
from faultclock.load.scenario import find_scenarios, shipped_scenarios
from faultclock.model.duration import parse_duration
from faultclock.model.report.exploration import Size
from faultclock.model.scenario.fault import Trigger
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import SubjectInfo, Trace, TraceEvent, TraceFooter, TraceHeader
from tests.run.conftest import small

_TAPE = Tape.of(
    {
        "schedule/1/timer/1/Task-2": {0: 1, 7: 3},
        "schedule/2/loop/1": {4: 1},
        "latency/c1/client": {0: 7, 1: 0},
    }
)


@cache
def _scenarios() -> tuple[Scenario, ...]:
    """Return some of each family: to read them all takes longer than to try them."""
    chosen = tuple(list(shipped_scenarios().values())[::6])
    found = (scenario for item in find_scenarios(chosen) for scenario in item.runnable[:3])
    return tuple(own_scenario(scenario, 9, _TAPE, "f-0123456789ab") for scenario in found)


_ANY = st.deferred(lambda: st.sampled_from(_scenarios()))


@given(_ANY)
@settings(max_examples=30)
def test_with_all_as_it_is_it_is_the_same_scenario(scenario: Scenario) -> None:
    """The walk over the values loses nothing, whatever the role."""
    reductions = reductions_of(scenario)
    assert reductions.scenario(reductions.top) == scenario
    assert reductions.told(reductions.top) == ()


@given(_ANY, st.data())
@settings(max_examples=40)
def test_a_simpler_state_is_never_a_larger_scenario(
    scenario: Scenario, data: st.DataObject
) -> None:
    """Also where many things are simpler at once; what does not go together is refused."""
    reductions = reductions_of(scenario)
    states = data.draw(st.tuples(*(st.integers(0, top) for top in reductions.top)))
    made = reductions.scenario(states)
    if made is None:
        return
    before, after = _size(scenario), _size(made)
    for name in ("faults", "tasks", "tools", "actors", "choices"):
        assert getattr(after, name) <= getattr(before, name)
    assert (made.id, made.role, made.models, made.provider.dialect) == (
        scenario.id,
        scenario.role,
        scenario.models,
        scenario.provider.dialect,
    )


@given(_ANY, st.data())
@settings(max_examples=30)
def test_each_step_changes_something_and_says_what(scenario: Scenario, data: st.DataObject) -> None:
    """A step that changed nothing would be tried for nothing."""
    reductions = reductions_of(scenario)
    simpler = [place for place, item in enumerate(reductions.ladders) if not item.is_name]
    place = data.draw(st.sampled_from(simpler))
    state = data.draw(st.integers(0, reductions.top[place] - 1))
    states = (*reductions.top[:place], state, *reductions.top[place + 1 :])
    assert reductions.scenario(states) != scenario
    told = reductions.told(states)
    assert len(told) == 1
    assert "\n" not in told[0]
    assert reductions.ladders[place].words[state].split()[0] in {"with", "without", "where"}


def test_a_task_that_is_gone_takes_its_faults_along() -> None:
    """Otherwise two steps would be needed, and the first of them is none."""
    then = {"kind": "connect_refused"}
    scenario = small(
        tasks=[{"id": "one"}, {"id": "two"}],
        provider={"faults": [{"id": "refused", "when": {"task": "two"}, "then": then}]},
    )
    made = _without(reductions_of(scenario), "the task two")
    assert [task.id for task in made.tasks] == ["one"]
    assert made.provider.faults == ()


def test_a_tool_that_is_gone_takes_its_calls_along() -> None:
    """The model is not made to call what was there before and is not now."""
    call = {"name": "write_file", "arguments": "{}"}
    scenario = small(
        role="runtime",
        tools=[{"name": "write_file"}, {"name": "read_file"}],
        provider={
            "replies": [
                {"tool_calls": [call]},
                {"tool_calls": [call, {"name": "read_file", "arguments": "{}"}]},
                {"text": "Done."},
            ]
        },
    )
    made = _without(reductions_of(scenario), "the tool write_file")
    assert [tool.name for tool in made.world.tools] == ["read_file"]
    replies = made.provider.replies
    assert [[item.name for item in reply.tool_calls] for reply in replies] == [["read_file"], []]


def test_a_stage_that_is_gone_is_nobodys_next_and_no_entry() -> None:
    """What points to it points to nothing, or to the first that is left."""
    stages = [{"id": "plan", "next": "work"}, {"id": "work", "next": "check"}, {"id": "check"}]
    scenario = small(role="runtime", session={"entry_stage": "plan", "stages": stages})
    reductions = reductions_of(scenario)
    without_work = _without(reductions, "the stage work").world.session
    assert without_work is not None
    assert [(stage.id, stage.next) for stage in without_work.stages] == [
        ("plan", None),
        ("check", None),
    ]
    without_plan = _without(reductions, "the stage plan").world.session
    assert without_plan is not None
    assert without_plan.entry_stage == "work"


def test_deviations_of_the_order_are_told_as_one() -> None:
    """A random schedule has hundreds, and nobody reads that many lines."""
    reductions = reductions_of(small(tape={"choices": dict(_TAPE.choices)}))
    states = tuple(
        0 if ladder.lane.startswith("schedule/2/") else ladder.top for ladder in reductions.ladders
    )
    assert reductions.told(states) == ("with 2 of 3 steps that wait for others",)


@given(st.integers(0, 10**16))
def test_the_last_rung_of_a_duration_is_itself_and_the_others_are_near(duration_ns: int) -> None:
    """A round duration that is another one altogether would be another scenario."""
    rungs = [parse_duration(text) for text in duration_rungs(duration_ns)]
    assert rungs[-1] == duration_ns
    assert len(set(rungs)) == len(rungs)
    assert all(duration_ns / 2 <= rung <= duration_ns * 2 for rung in rungs)


@pytest.mark.parametrize(
    ("duration", "rungs"),
    [
        ("973ms", ("1s", "970ms", "973ms")),
        ("2m0.001s", ("2m", "2m0.001s")),
        ("7s", ("7s",)),
        ("0s", ("0s",)),
        ("1.234567s", ("1s", "1.2s", "1.234567s")),
    ],
)
def test_rounder_durations_come_first(duration: str, rungs: tuple[str, ...]) -> None:
    """One digit, then two, in the unit that people think of it in."""
    assert duration_rungs(parse_duration(duration)) == rungs


@given(st.integers(0, 20), st.integers(0, 5_000))
def test_numbers_go_from_the_lowest_to_itself(lowest: int, more: int) -> None:
    """Every one of them where they are few, and fewer than a hundred in all."""
    rungs = number_rungs(lowest + more, lowest)
    assert rungs[0] == lowest
    assert rungs[-1] == lowest + more
    assert list(rungs) == sorted(set(rungs))
    assert len(rungs) < 100
    if more <= 16:
        assert len(rungs) == more + 1


@given(st.integers(1, 9), st.none() | st.integers(0, 40))
def test_ranges_of_attempts_become_shorter(first: int, more: int | None) -> None:
    """The last one is as it is, and each of them is a range."""
    attempts = AttemptRange(first=first, last=None if more is None else first + more)
    made = [Trigger.model_validate({"attempts": rung}).attempts for rung in range_rungs(attempts)]
    assert made[-1] == attempts
    assert made[0] == AttemptRange(first=1, last=1)
    assert len({str(rung) for rung in made}) == len(made)


def test_small_seeds_are_tried_before_the_one_that_was_drawn() -> None:
    """A seed is a number that somebody has to copy."""
    assert seed_rungs(3_141_592_653)[:3] == (0, 1, 2)
    assert seed_rungs(3_141_592_653)[-1] == 3_141_592_653
    assert seed_rungs(0) == (0,)


def test_every_choice_has_words() -> None:
    """Whose step it is, and in which life."""
    assert choice_words("schedule/1/timer/1/Task-2~3", 5, 2) == (
        "step 5 of the timers of task Task-2 (number 3 of them)"
        " lets 2 others go first that came after it"
    )
    assert choice_words("schedule/2/net/c1/client", 0, 1) == (
        "step 0 of what comes to the client of connection c1 in life 2 of the process"
        " lets 1 other go first that came after it"
    )
    assert choice_words("latency/c1/server", 3, 0) == "draw 3 of latency/c1/server is the lowest"


def _without(reductions: Reductions, thing: str) -> Scenario:
    states = tuple(
        0 if ladder.words[0] == f"without {thing}" else ladder.top for ladder in reductions.ladders
    )
    assert states != reductions.top
    made = reductions.scenario(states)
    assert made is not None
    return made


def test_the_time_of_a_run_is_that_of_its_last_call() -> None:
    """What the world waits for afterwards is nobody's; without an end of a call it is all of it."""
    scenario = small()
    assert _size(scenario).virtual_ns == 0
    header = TraceHeader(
        scenario=scenario,
        scenario_digest="",
        subject=SubjectInfo(id="nobody", role=scenario.role, style="async"),
        seed=0,
        versions={},
    )
    footer = TraceFooter(events=1, ended_at_ns=600, ending="completed", digest="")
    event = TraceEvent(seq=1, at_ns=7, actor="harness", kind="call.returned", payload={})
    trace = Trace(header=header, events=(event,), footer=footer)
    assert size_of(scenario, trace).virtual_ns == 7


def _size(scenario: Scenario) -> Size:
    """Return the size of a scenario without a run."""
    subject = SubjectInfo(id="nobody", role=scenario.role, style="async")
    header = TraceHeader(
        scenario=scenario, scenario_digest="", subject=subject, seed=0, versions={}
    )
    footer = TraceFooter(events=0, ended_at_ns=0, ending="completed", digest="")
    return size_of(scenario, Trace(header=header, events=(), footer=footer))
