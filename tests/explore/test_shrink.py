"""A failing run becomes the smallest near it, and the same one wherever that is done."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultclock import ProviderRequest, provider_adapter
from faultclock.errors import InternalError
from faultclock.explore.fingerprint import marks_of
from faultclock.explore.search import States, least, steps_down
from faultclock.explore.shrink import Smallest, shrink
from faultclock.load.error_model import load_error_model
from faultclock.model.report.exploration import Shrunk
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.model.scenario.mishap import CrashRule
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.trigger import EventTrigger
from faultclock.model.tape import BLANK, FIFO, PLAIN, Chance, Schedule
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import load_subject
from tests.run.conftest import shipped_scenario, small

_MIXED = Schedule(kind="random", seed=3)
_HTTP_500 = {"kind": "http_error", "status": 500, "error": "server_error"}


# ------------------------------------------------------------------ the search, without runs


class _Counted:
    """A property, and how many different tuples it was asked of."""

    def __init__(self, holds: Callable[[States], bool]) -> None:
        self._holds = holds
        self.asked: set[States] = set()

    def __call__(self, states: States) -> bool:
        self.asked.add(states)
        return self._holds(states)


def test_two_deviations_of_four_hundred_are_found_quickly() -> None:
    """Whole stretches go at once: by single steps it would take hundreds of runs."""
    keeps = _Counted(lambda states: states[137] >= 1 and states[311] >= 2)
    found = least((3,) * 400, keeps, groups=[0] * 400, loose=range(400))
    assert {place: state for place, state in enumerate(found) if state} == {137: 1, 311: 2}
    assert len(keeps.asked) < 100


def test_what_is_not_needed_at_all_goes_in_one_run() -> None:
    """Most failures do not depend on the order."""
    keeps = _Counted(lambda states: True)
    assert least((5,) * 300, keeps, groups=[0] * 300, loose=range(300)) == (0,) * 300
    assert len(keeps.asked) == 1


def test_numbers_that_depend_on_each_other_are_lowered_together() -> None:
    """No single step down keeps the property; Hypothesis moves both."""
    keeps = _Counted(lambda states: states[0] == states[1] and states[0] >= 1)
    assert least((9, 9, 4), keeps, groups=[0, 0, 1]) == (1, 1, 0)


def test_a_count_is_lowered_with_what_it_counts() -> None:
    """The second of two is the first once the other one is gone."""
    keeps = _Counted(lambda states: states in {(1, 0, 0, 0, 0, 2), (0, 0, 0, 0, 0, 1)})
    found = least((1, 0, 0, 0, 0, 2), keeps, groups=[0] * 6, things=[0], counts=[5])
    assert found == (0, 0, 0, 0, 0, 1)


def test_a_name_that_counts_is_another_one_when_what_it_counts_is_gone() -> None:
    """The fifth of five tasks has to wait: without the others it is the first, and still waits."""

    def keeps(states: States) -> bool:
        *tasks, waits, number = states
        return bool(tasks[4] and waits and number == sum(tasks) - 1)

    found = least((1, 1, 1, 1, 1, 2, 4), keeps, groups=[0] * 7, things=range(5), names={6: [5]})
    assert found == (0, 0, 0, 0, 1, 1, 0)


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=8).flatmap(
        lambda tops: st.tuples(
            st.just(tuple(tops)),
            st.lists(st.tuples(*(st.integers(0, top) for top in tops)), min_size=1, max_size=4),
            st.sets(st.integers(0, len(tops) - 1)),
        )
    )
)
@settings(max_examples=10, suppress_health_check=[HealthCheck.nested_given])
def test_no_single_step_down_from_the_result_keeps_the_property(
    case: tuple[States, list[States], set[int]],
) -> None:
    """Whatever the property: it keeps what it started from and one of a few other tuples."""
    tops, needed, loose = case

    def keeps(states: States) -> bool:
        return states == tops or any(
            all(state >= low for state, low in zip(states, lows, strict=True)) for lows in needed
        )

    found = least(tops, keeps, groups=[place // 2 for place in range(len(tops))], loose=[*loose])
    assert keeps(found)
    assert not any(keeps(lower) for lower in steps_down(found))


def test_what_breaks_in_between_is_told_and_not_shrunk() -> None:
    """To Hypothesis any exception is a failing test; to us this one is our own mistake."""
    keeps = _Counted(lambda states: states == (9, 9) or 1 // (states[0] - 9) >= 0)
    with pytest.raises(ZeroDivisionError):
        least((9, 9), keeps, groups=[0, 0])
    assert len(keeps.asked) < 5


def test_a_step_down_is_smaller_in_one_place() -> None:
    """From the simplest on, all that are below."""
    assert list(steps_down((2, 0, 1))) == [(0, 0, 1), (1, 0, 1), (2, 0, 0)]


# ------------------------------------------------------------------ real failures


@cache
def _judge() -> Judge:
    return Judge(load_error_model("stud-cli", {}))


def _failing(scenario: Scenario, binding: Binding, schedule: Schedule = FIFO) -> tuple[Trace, str]:
    """Return a run that fails, and the fingerprint of its first failure."""
    chance = PLAIN if schedule is FIFO else Chance(schedule=schedule)
    trace = run_one(scenario, binding, scenario.seed, isolate=False, chance=chance)
    return trace, marks_of(trace, _judge().judge(trace))[0].fingerprint


def _shrunk(scenario: Scenario, binding: Binding, schedule: Schedule = FIFO) -> Smallest:
    trace, fingerprint = _failing(scenario, binding, schedule)
    tape = trace.header.tape
    return shrink(scenario, binding, scenario.seed, tape, fingerprint, _judge())


def _bloated() -> Scenario:
    """Return much that has nothing to do with a Retry-After that is not kept to."""
    return small(
        seed=4_711,
        tasks=[
            {"id": "before", "at": "137ms", "prompt": "Who is there?"},
            {"id": "crowd", "at": "973ms", "copies": 4, "stream": True},
            {"id": "after", "at": "91s", "timeout": "47s"},
        ],
        provider={
            "latency": "13ms",
            "think_time": "412ms",
            "reply": "Something else.",
            "faults": [
                {"id": "broken", "when": {"task": "before", "attempts": 2}, "then": _HTTP_500},
                {
                    "id": "limited",
                    "when": {"attempts": "1-2", "until_time": "2m"},
                    "then": {
                        "kind": "http_error",
                        "status": 429,
                        "error": "rate_limit_exceeded",
                        "headers": {"retry-after": "37", "x-request-id": "r-1"},
                    },
                },
                {"id": "late", "when": {"from_time": "90s"}, "optional": True, "then": _HTTP_500},
            ],
        },
    )


@pytest.fixture(scope="module")
def wrong_wait(bound: Callable[[str], Binding]) -> Shrunk:
    """The smallest run of a Retry-After that is not kept to."""
    return _shrunk(_bloated(), bound("mini-ignores-retry-after"), _MIXED).shrunk


def test_a_wrong_wait_needs_one_call_one_fault_and_its_header(wrong_wait: Shrunk) -> None:
    """Of three tasks, six calls, three faults and a random schedule nothing else is left."""
    shrunk = wrong_wait
    assert shrunk.is_minimum, shrunk.stopped
    assert shrunk.scenario.tape == BLANK
    assert shrunk.scenario.seed == 0
    written = shrunk.scenario.model_dump(mode="json", exclude_defaults=True)
    (fault,) = written["provider"].pop("faults")
    assert (written["provider"], fault["id"], fault["when"]) == ({}, "limited", {"attempts": 1})
    assert fault["then"]["headers"] == {"retry-after": "1"}
    assert len(written["tasks"]) == 1
    assert shrunk.before.choices == 11
    assert (shrunk.before.tasks, shrunk.after.tasks, shrunk.after.choices) == (6, 1, 0)


def test_an_order_that_matters_is_kept_and_nothing_else_of_it(
    bound: Callable[[str], Binding],
) -> None:
    """One step that waits is enough, and without it the run passes."""
    scenario = shipped_scenario("exploration/token-is-renewed-twice")
    # By itself it has one tie. With a third call many steps wait that need not.
    third = scenario.tasks[0].model_copy(update={"id": "third"})
    scenario = scenario.model_copy(update={"vary": None, "tasks": (*scenario.tasks, third)})
    subject = bound("mini-race-token-is-renewed-twice")
    found = _shrunk(scenario, subject, Schedule(kind="random", seed=0))
    assert found.shrunk.before.choices > 5
    assert found.shrunk.is_minimum
    assert found.shrunk.scenario.tape.length == 1
    assert any("waits for" in words for words, _ in found.near)


def test_a_crash_that_was_named_by_its_number_keeps_its_meaning(
    bound: Callable[[str], Binding],
) -> None:
    """Event 26 is another event once something before it is gone."""
    scenario = shipped_scenario("session-store-contract/power-cut-after-save")
    subject = bound("mini-store-no-folder-sync")
    saved = next(
        event
        for event in run_one(scenario, subject, 0, isolate=False).of_kind("call.returned")
        if event.payload["call"] == "second/1"
    )
    crash = CrashRule(id="crash-everywhere", on=EventTrigger(seq=saved.seq))
    shrunk = _shrunk(scenario.model_copy(update={"crashes": (crash,)}), subject).shrunk
    (rule,) = shrunk.scenario.crash_rules
    assert rule.id == "crash"
    assert rule.on is not None
    assert (rule.on.kind, rule.on.seq) == ("call.returned", None)
    assert shrunk.is_minimum
    assert (shrunk.before.tasks, shrunk.after.tasks) == (3, 1)


@pytest.mark.parametrize(
    ("subject", "scenario"),
    [
        ("mini-store-no-folder-sync", "session-store-contract/power-cut-after-save"),
        ("mini-tool-waits-nothing", "tool-contract/busy-then-good"),
        ("mini-runtime-forgets-history", "resume-drift/extension-is-gone"),
        ("mini-extension-stuck", "extension-contract/activate-fails"),
    ],
)
def test_the_result_fails_by_itself_and_what_lies_beside_it_passes(
    bound: Callable[[str], Binding], subject: str, scenario: str
) -> None:
    """Whatever the role: run with nothing but its own seed and tape it shows the same failure."""
    binding = bound(subject)
    found = _shrunk(shipped_scenario(scenario), binding)
    own = found.shrunk.scenario
    assert own.id == f"{scenario}-{found.mark.fingerprint}"
    assert (own.vary, own.variant, own.seeds) == (None, None, 1)
    trace = run_one(own, binding, own.seed, isolate=False)
    marks = marks_of(trace, _judge().judge(trace))
    assert found.mark.fingerprint in {mark.fingerprint for mark in marks}
    assert trace.footer.digest == found.trace.footer.digest
    assert found.shrunk.is_minimum
    assert found.near
    for words, near in found.near:
        assert words.startswith("the same with")
        assert verdict_of(_judge().judge(near).findings) in (Verdict.PASS, Verdict.WARN)


def test_a_search_that_may_not_go_on_says_so(bound: Callable[[str], Binding]) -> None:
    """What was not tried cannot be called a minimum."""
    binding = bound("mini-ignores-retry-after")
    scenario = _bloated()
    trace, fingerprint = _failing(scenario, binding)
    counted: list[int] = []
    found = shrink(
        scenario,
        binding,
        scenario.seed,
        trace.header.tape,
        fingerprint,
        _judge(),
        runs_max=6,
        on_run=counted.append,
    )
    assert not found.shrunk.is_minimum
    assert found.shrunk.stopped == "6 runs were made, and that is the limit"
    assert counted == list(range(1, found.shrunk.runs + 1))


@provider_adapter(inline=True)
async def _never_content(request: ProviderRequest) -> str:
    """End with the first error, which is wrong; while there is none, ask again and again."""
    subject = load_subject("mini-matches-nothing")
    while True:
        await subject.function(request)
        await asyncio.sleep(1)


def test_a_run_that_becomes_endless_on_the_way_is_cut_and_no_candidate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without its fault the subject works for a day: hundreds of thousands of events."""
    lengths: list[int] = []

    def counted(*words: Any, **options: Any) -> Trace:
        trace = run_one(*words, **options)
        lengths.append(len(trace.events))
        return trace

    monkeypatch.setattr("faultclock.explore.shrink.run_one", counted)
    scenario = small(
        provider={"faults": [{"id": "broken", "when": {"attempts": 1}, "then": _HTTP_500}]},
        limits={"virtual_time": "20m"},
    )
    trace, fingerprint = _failing(scenario, _never_content)
    found = shrink(scenario, _never_content, 0, trace.header.tape, fingerprint, _judge())
    assert found.shrunk.scenario.provider.faults
    assert len(trace.events) < 40
    assert max(lengths) < 300


@provider_adapter(inline=True)
async def _polls(request: ProviderRequest) -> str:
    """Look at something a thousand times, and then end with the first error."""
    for _ in range(1_000):
        await asyncio.sleep(0.001)
    return await load_subject("mini-matches-nothing").function(request)


def test_a_subject_that_polls_is_given_more_steps_and_made_smaller_all_the_same() -> None:
    """Many steps without an event are no sign of a run without end."""
    scenario = small(
        provider={
            "faults": [
                {"id": "broken", "when": {"attempts": 1}, "then": _HTTP_500},
                {"id": "later", "when": {"attempts": 5}, "then": _HTTP_500},
            ]
        }
    )
    trace, fingerprint = _failing(scenario, _polls)
    found = shrink(scenario, _polls, 0, trace.header.tape, fingerprint, _judge())
    assert len(found.shrunk.scenario.provider.faults) == 1
    assert found.shrunk.is_minimum


def test_what_cannot_be_made_again_is_not_made_smaller(bound: Callable[[str], Binding]) -> None:
    """A failure that is not there is a mistake of ours, and no small scenario."""
    with pytest.raises(InternalError, match="does not show f-0123456789ab again"):
        shrink(small(), bound("reference"), 0, BLANK, "f-0123456789ab", _judge())


_ELSEWHERE = """
from faultclock.run.prepare import prepare
from tests.explore import test_shrink as here
subject = prepare("mini-ignores-retry-after")
found = here._shrunk(here._bloated(), subject, here._MIXED)
print(found.shrunk.model_dump_json())
"""


def test_another_process_comes_to_the_same_result(wrong_wait: Shrunk) -> None:
    """Also with other hash values of texts, and with chance as it comes."""
    there = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "17", "PYTHONPATH": os.curdir},
    )
    assert there.stdout.strip() == wrong_wait.model_dump_json()
