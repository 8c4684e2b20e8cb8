"""What is not the same twice is nobody's failure, and what is stays one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.checks.run.evidence import SPOILING
from faultclock.oracle.judge import judge
from faultclock.render.html_text import html_report
from faultclock.render.json_text import json_report
from faultclock.render.junit_text import junit_report
from faultclock.run.process import confirm
from faultclock.run.process.confirm import (
    REPEATABLE,
    confirmed,
    is_made_twice,
    unproved,
    unsteadiness,
)
from faultclock.run.process.isolate import run_isolated
from faultclock.run.process.second_process import rearrange
from faultclock.run.suite import SuiteRequest, run_one, run_suite
from faultclock.subjects.binding import Binding
from tests.oracle.trace_builder import TraceBuilder
from tests.run.conftest import limited, small
from tests.run.unsteady_subjects import (
    binding_of,
    of_a_file,
    of_addresses,
    of_c_entropy,
    of_process_state,
)

LIMITED = small(provider=limited(retry_after="2"))


def suite(model: ErrorModel, binding: Binding, **options: Any) -> Report:
    """Run the limited call, or what is asked for."""
    request = {"scenarios": (LIMITED,), "subject_spec": "s", "model": model} | options
    return run_suite(SuiteRequest(binding=binding, **request))


def repeatable(run: RunReport) -> tuple[str, str]:
    """Return what a run's finding about its second run says."""
    (finding,) = [item for item in run.findings if item.check == REPEATABLE]
    assert finding.verdict is Verdict.INCONCLUSIVE
    return finding.observed, finding.hint


def test_a_failure_that_comes_again_stays_a_failure(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """The second run changes nothing in the report."""
    binding = bound("mini-ignores-retry-after")
    report = suite(model, binding)
    assert report.verdict is Verdict.FAIL
    assert report == suite(model, binding, confirm=False)


def test_one_in_twenty_of_what_passes_is_made_twice() -> None:
    """Every failure is, and nothing that proves nothing anyway."""
    trace = TraceBuilder().start().build()
    digests = [f"{number:04x}{'0' * 60}" for number in range(0x10000)]
    traces = [
        replace(trace, footer=trace.footer.model_copy(update={"digest": digest}))
        for digest in digests
    ]
    drawn = [is_made_twice(item, Verdict.PASS) for item in traces]
    assert sum(drawn) == math.ceil(0x10000 / 20)
    assert [is_made_twice(item, Verdict.WARN) for item in traces] == drawn
    assert all(is_made_twice(item, Verdict.FAIL) for item in traces)
    assert not any(is_made_twice(item, Verdict.INCONCLUSIVE) for item in traces)


def test_the_digest_of_a_trace_says_whether_it_is_made_twice(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So it is the same runs each time, and the report says how many."""
    monkeypatch.setattr(confirm, "_SHARE", 0.5)
    count = tmp_path / "count"
    counting = of_a_file(count)
    binding = binding_of("steady", lambda: counting() * 0)
    report = suite(model, binding, seeds=20)
    assert report.totals == {"PASS": 20}
    expected = [int(run.trace_digest[0], 16) < 8 for run in report.runs]
    assert [run.made_twice for run in report.runs] == expected
    assert count.read_text("utf-8") == str(20 + sum(expected))
    without_file = suite(model, binding_of("steady", float), seeds=20, jobs=2)
    assert [run.made_twice for run in without_file.runs] == expected
    text = f"{sum(expected)} runs that did not fail were made a second time, with the same bytes."
    assert text in html_report(report)


def test_a_pass_that_is_not_the_same_twice_proves_nothing(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What real time or chance gave it is not earned."""
    monkeypatch.setattr(confirm, "_SHARE", 1.0)
    counting = of_a_file(tmp_path / "count")
    # A wait of up to a second beside the two that are asked for is legal.
    report = suite(model, binding_of("drifts", lambda: counting() / 1e6 - 1e-6))
    assert report.totals == {"INCONCLUSIVE": 1}
    assert "of the trace is the first that differs, event" in repeatable(report.runs[0])[0]
    assert not report.runs[0].made_twice


def test_rearranged_memory_changes_the_order_of_a_set() -> None:
    """Two children of one process would lay their objects at the same addresses."""
    here = run_isolated(of_addresses, wall_limit_s=20)

    def rearranged() -> float:
        kept = rearrange()
        found = of_addresses()
        del kept
        return found

    assert run_isolated(rearranged, wall_limit_s=20) != here


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("source", [of_c_entropy, of_addresses], ids=["entropy", "addresses"])
def test_what_no_patch_reaches_is_caught(
    model: ErrorModel, source: Callable[[], float], jobs: int
) -> None:
    """Entropy that C code takes, and a set that is ordered by addresses."""
    report = suite(model, binding_of("unsteady", source), seeds=2, jobs=jobs)
    assert report.totals == {"INCONCLUSIVE": 2}
    for run in report.runs:
        observed, _ = repeatable(run)
        assert "of the trace is the first that differs, event" in observed
        assert "at_ns: first" in observed or "delay_ns: first" in observed


def test_a_counter_on_the_real_disk_is_caught(model: ErrorModel, tmp_path: Path) -> None:
    """A file outlives every process."""
    report = suite(model, binding_of("counts", of_a_file(tmp_path / "count")))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "file on disk" in repeatable(report.runs[0])[1]


@pytest.mark.parametrize("ends_at", [2, 1_000_000])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_inline_binding_that_keeps_something_is_caught(
    model: ErrorModel, ends_at: int, jobs: int
) -> None:
    """Even where every run after the first is the same: the second run is of a fresh process."""
    state = of_process_state(ends_at=ends_at)
    report = suite(model, binding_of("keeps", state, inline=True), seeds=9, jobs=jobs)
    assert report.verdict is Verdict.INCONCLUSIVE
    # The first run of a process is as it should be, and all that follow are not. Whether both
    # workers get something to do is up to them.
    assert 1 <= report.totals["PASS"] <= jobs
    assert report.totals["PASS"] + report.totals["INCONCLUSIVE"] == 9


def test_the_same_state_in_isolated_runs_reaches_none_of_them(model: ErrorModel) -> None:
    """It is the binding that was wrong, not the code."""
    binding = binding_of("keeps", of_process_state(ends_at=1_000_000))
    assert suite(model, binding, seeds=4).totals == {"PASS": 4}


def test_no_run_passes_because_of_an_earlier_one(model: ErrorModel) -> None:
    """A client that has learned from a failure is another one than it was."""
    state = of_process_state(ends_at=2)
    learns = binding_of("learns", lambda: 1.0 - state())
    assert suite(model, learns, seeds=20).totals == {"FAIL": 20}


def test_without_isolation_the_second_run_is_made_in_this_process(model: ErrorModel) -> None:
    """State that goes on changing is caught, and nothing is forked."""
    binding = binding_of("keeps", of_process_state(ends_at=1_000_000))
    assert suite(model, binding, seeds=2, isolate=False).totals == {"PASS": 1, "INCONCLUSIVE": 1}


def test_a_verdict_over_seeds_is_confirmed_as_well(
    model: ErrorModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Runs that pass one by one may fail together; they must be the same a second time, too."""
    monkeypatch.setattr(confirm, "_SHARE", 0.0)
    provider = limited()
    scenario = small(provider=provider)
    binding = binding_of("same-wait", lambda: 3.0)
    steady = suite(model, binding, scenarios=(scenario,), seeds=8)
    assert {item.verdict for item in steady.seeds_findings} == {Verdict.FAIL}
    counting = of_a_file(tmp_path / "count")
    binding = binding_of("almost-same-wait", lambda: 3.0 + (counting() > 8) / 1e6)
    unsteady = suite(model, binding, scenarios=(scenario,), seeds=8)
    assert {item.verdict for item in unsteady.seeds_findings} == {Verdict.INCONCLUSIVE}
    assert "8 of 8 runs were not the same a second time" in unsteady.seeds_findings[0].reason


def test_every_report_shows_it_and_calls_no_failure_the_subjects(model: ErrorModel) -> None:
    """Page, JSON and JUnit."""
    report = suite(model, binding_of("unsteady", of_c_entropy))
    page, data, junit = html_report(report), json_report(report), junit_report(report)
    for text in (page, data, junit):
        assert REPEATABLE in text
        assert "is nobody" not in text
    assert "<failure" not in junit
    assert "<error" in junit
    assert '"FAIL"' not in data


# ---------------------------------------------------------------------- by itself


def small_trace(*draws: str, **counts: object) -> Trace:
    """Return a trace in which entropy was drawn from `draws`, and what was counted at its end."""
    built = TraceBuilder().start()
    for source in draws:
        built.event("subject", "entropy", source=source, bytes_count=16, call="ask/1")
    built.event("harness", "world.touched", **counts)
    return built.build()


def test_equal_traces_are_confirmed() -> None:
    """Every byte is the same."""
    trace = small_trace("os.urandom", monotonic=4)
    assert confirmed(trace, lambda: small_trace("os.urandom", monotonic=4)) is None


def test_a_draw_that_only_one_run_made_is_named() -> None:
    """With its source, its call, its event and its time."""
    found = unsteadiness(small_trace(), small_trace("os.urandom", entropy_bytes=16))
    assert found is not None
    assert found.leaks == (
        "the first run drew no more",
        "the second run drew 16 bytes from os.urandom in call ask/1, event 3 at 0 s",
        "bytes of entropy drawn: 0 in the first run, 16 in the second",
    )


def test_counters_and_the_state_of_random_are_named() -> None:
    """Reads of a clock, and what came out of `random`."""
    found = unsteadiness(
        small_trace(monotonic=4, random_state="a"), small_trace(monotonic=5, random_state="b")
    )
    assert found is not None
    assert found.leaks == (
        "uses of monotonic: 4 in the first run, 5 in the second",
        "`random` was left in another state, so it was asked otherwise",
    )


def test_a_leak_is_named_with_its_place() -> None:
    """And with the run that had it, where it was only one."""
    built = TraceBuilder().start()
    built.event("harness", "leak", what="os.fork", site="adapter:3")
    found = unsteadiness(TraceBuilder().start().build(), built.build())
    assert found is not None
    assert found.leaks == ("os.fork at adapter:3, only in the second run",)


def test_a_second_run_that_does_not_end_has_no_line_to_name() -> None:
    """It has no events, so every line would differ."""
    first = small_trace()
    footer = first.footer.model_copy(update={"ending": "watchdog", "detail": ("no end after 1 s",)})
    found = unsteadiness(first, replace(first, events=(), footer=footer))
    assert found is not None
    assert found.differs_at is None
    assert found.difference == (
        "the first run ended by completed",
        "the second run ended by watchdog: no end after 1 s",
    )


def test_all_that_was_found_in_an_unsteady_run_is_inconclusive(
    model: ErrorModel, bound: Callable[[str], Binding]
) -> None:
    """The finding about it comes first, and cites the event that differs."""
    binding = bound("mini-ignores-retry-after")
    first, second = (run_one(LIMITED, binding, seed, isolate=False) for seed in (1, 2))
    unsteady = unsteadiness(first, second)
    assert unsteady is not None
    assert unsteady.coordinates.seed == 1
    told, *others = unproved(judge(model, first), unsteady).findings
    assert told.check == REPEATABLE
    assert told.events == (unsteady.differs_at - 1,) if unsteady.differs_at else False
    assert not {item.verdict for item in others} & {Verdict.FAIL, Verdict.WARN}
    assert {item.check for item in others if item.verdict is Verdict.PASS} == set(SPOILING)


def test_what_real_time_ended_is_not_made_twice() -> None:
    """No second run stops at the same event, and that is no fault of the subject's."""
    built = TraceBuilder().start().fails(503)
    assert is_made_twice(built.build(), Verdict.FAIL)
    assert not is_made_twice(built.build("watchdog"), Verdict.FAIL)
