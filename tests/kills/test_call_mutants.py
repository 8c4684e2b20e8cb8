"""Each defect of calls and waits makes the difference that its sentence says, in both styles."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

import pytest

from faultclock.agents.adapter import reference, reference_sync
from faultclock.kills.call_mutants import call_mutants
from faultclock.kills.mutant import Mutant
from faultclock.kills.trial import play, run_mutant, try_mutant
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.scenario import Scenario, scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.subjects.binding import Binding, provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import ready


@provider_adapter(id="waits-async", inline=True)
async def waits(request: ProviderRequest) -> object:
    """Wait ten seconds, and ask."""
    await asyncio.sleep(10)
    return await reference.function(request)


@provider_adapter(id="waits-sync", inline=True)
def waits_sync(request: ProviderRequest) -> object:
    """Wait ten seconds, and ask."""
    time.sleep(10)
    return reference_sync.function(request)


SUBJECTS = {"async": waits, "sync": waits_sync}
BOTH = pytest.mark.parametrize("style", SUBJECTS)


#: One call in a world in which nothing goes wrong.
HEALTHY = scenario_of({"id": "kills/healthy", "title": "t", "why": "w"})


def scenario(id_: str) -> Scenario:
    """Return a shipped scenario."""
    (found,) = find_scenarios((id_,))
    return found.scenario


def mutant(binding: Binding, id_: str) -> Mutant:
    """Return a mutant of a subject, by its id."""
    (found,) = (item for item in call_mutants(binding.role, binding.style) if item.id == id_)
    return found


def played(style: str, id_: str | None, of: Scenario | None = None) -> Trace:
    """Return what a subject does with a defect; None: without one."""
    binding = SUBJECTS[style]
    chosen = None if id_ is None else mutant(binding, id_)
    return run_mutant(of or HEALTHY, binding, 0, chosen, wall_limit_s=10.0)


def count(trace: Trace, kind: str) -> int:
    """Return how many events of a kind there are."""
    return sum(1 for _ in trace.of_kind(kind))


def end_s(trace: Trace) -> float:
    """Return when the call ended, in seconds."""
    (event,) = trace.of_kind("call.returned", "call.raised")
    return event.at_ns / SECOND_NS


def ends_last(trace: Trace) -> bool:
    """Return whether nothing goes over the network behind the end of the call."""
    (end,) = trace.of_kind("call.returned", "call.raised")
    return all(event.seq < end.seq for event in trace.of_kind("net.resolve", "net.connect"))


@BOTH
@pytest.mark.parametrize(
    ("id_", "differs"),
    [
        ("call: skip", lambda trace: count(trace, "http.request") == 0),
        ("call: again", lambda trace: count(trace, "http.request") == 2),
        ("call: go on", lambda trace: count(trace, "http.request") == 2),
        ("call: crash", lambda trace: count(trace, "call.raised") == 1),
        ("call: garble", lambda trace: count(trace, "call.raised") == 1),
        ("call: fail", lambda trace: count(trace, "call.raised") == 1),
        ("call: late", lambda trace: end_s(trace) > 3_600),
        ("call: never end", lambda trace: count(trace, "call.returned") == 0),
        ("call: call home", lambda trace: not ends_last(trace)),
        ("wait: x0", lambda trace: end_s(trace) < 5),
        ("wait: x0.5", lambda trace: 5 < end_s(trace) < 10),
        ("wait: x2", lambda trace: 20 < end_s(trace) < 25),
        ("wait: +5s", lambda trace: 15 < end_s(trace) < 20),
        ("wait: +1h", lambda trace: end_s(trace) > 3_600),
        ("wait: gives up", lambda trace: count(trace, "call.raised") == 1),
    ],
)
def test_a_defect_does_what_it_says(style: str, id_: str, differs: Callable[[Trace], bool]) -> None:
    """And the subject without it does not."""
    assert differs(played(style, id_))
    assert not differs(played(style, None))


@BOTH
def test_what_fails_is_swallowed_or_done_once_more(style: str) -> None:
    """A subject whose provider knows no such key raises, and asks once."""
    refused = scenario("provider-transient/bad-key")
    right = played(style, None, refused)
    assert (count(right, "http.request"), count(right, "call.raised")) == (1, 1)
    for defect in ("swallow", "apologise"):
        assert count(played(style, f"call: {defect}", refused), "call.returned") == 1
    assert count(played(style, "call: never give up", refused), "http.request") > 100
    assert count(played(style, "call: insist", refused), "http.request") == 2


@pytest.mark.parametrize("spec", ["common", "store", "tool", "extension", "runtime"])
def test_a_crash_is_an_accident_in_every_role(spec: str) -> None:
    """It kills the rule that the code which handles a failure does not fail itself."""
    of, method = {
        "common": ("provider-transient/bad-key", ""),
        "store": ("session-store-contract/disk-full-in-save", " of write"),
        "tool": ("tool-contract/not-found", ""),
        "extension": ("extension-contract/out-of-order", " of activate"),
        "runtime": ("session-store/unavailable-for-good", " of run_turn"),
    }[spec]
    judge = Judge(load_error_model("common"))
    binding = ready(f"reference-{spec}")
    right = play(judge, binding, scenario(of))
    wrong = mutant(binding, f"call{method}: crash")
    trial = try_mutant(judge, binding, wrong, right, all_seeds=False)
    assert ("handler.crash", "COMMON-CRASH-01") in right.kept & trial.kills


def test_the_error_of_a_decoder_is_one_where_an_answer_cannot_be_read() -> None:
    """The reference of tools reports such an answer itself, so nothing else judges the rule."""
    judge = Judge(load_error_model("common"))
    binding = ready("reference-tool")
    right = play(judge, binding, scenario("tool-contract/garbled-answer"))
    trial = try_mutant(judge, binding, mutant(binding, "call: garble"), right, all_seeds=False)
    assert ("handler.unreadable", "COMMON-CRASH-02") in trial.kills


def test_a_cancel_is_ignored() -> None:
    """The call goes on, and ends later."""
    cancelled = scenario("common/cancelled-while-connecting")
    right = played("async", None, cancelled)
    assert end_s(played("async", "call: ignore cancel", cancelled)) > end_s(right)
    ids = [item.id for item in call_mutants("provider_adapter", "sync")]
    assert "call: ignore cancel" not in ids


def test_the_waits_of_the_harness_are_left_alone() -> None:
    """A call begins when its scenario says, also where the subject does not wait."""
    later = scenario("rate-limits/two-limits-overlap")
    begins = [
        [event.at_ns for event in played("async", id_, later).of_kind("call.started")]
        for id_ in (None, "wait: x0")
    ]
    assert begins[0] == begins[1]


def test_the_methods_of_an_object_have_defects_of_their_own() -> None:
    """A runtime, a store and an extension are asked by their methods."""
    groups: Mapping[str, set[str]] = {
        role: {item.group for item in call_mutants(role, "async") if item.family == "call"}
        for role in ("runtime", "session_store", "extension", "tool")
    }
    assert groups["runtime"] == {"run_turn", "ask", "start", "close"}
    assert "write" in groups["session_store"]
    assert "dispose" in groups["extension"]
    assert groups["tool"] == {"call"}


@pytest.mark.parametrize(
    ("spec", "id_", "of", "rule"),
    [
        ("runtime", "call of start: fail", "audit/nothing-to-report", ("turns.go-on", "SESS-07")),
        ("runtime", "call of close: fail", "audit/nothing-to-report", ("turns.go-on", "SESS-08")),
        (
            "runtime",
            "call of start: fail",
            "resume-drift/slot-is-migrated",
            ("resume.decision", "RESUME-09"),
        ),
        (
            "runtime",
            "call of start: fail",
            "resume-drift/nothing-changed",
            ("resume.decision", "RESUME-11"),
        ),
        (
            "store",
            "call of write: call home",
            "session-store-contract/never-written",
            ("ordering.nothing-after-the-end", "DEF-03"),
        ),
    ],
)
def test_a_defect_of_an_object_kills_the_rule_about_its_method(
    spec: str, id_: str, of: str, rule: tuple[str, str]
) -> None:
    """No step of a reference and no shipped wrong subject breaks these rules of stud-cli."""
    judge = Judge(load_error_model("stud-cli"))
    binding = ready(f"reference-{spec}")
    right = play(judge, binding, scenario(of))
    trial = try_mutant(judge, binding, mutant(binding, id_), right, all_seeds=False)
    assert (rule[0], f"STUD-{rule[1]}") in right.kept & trial.kills
