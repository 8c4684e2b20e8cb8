"""Parts of a run come to the whole, and what is no whole is refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultclock.errors import InputError
from faultclock.history.gate.merge import merged
from faultclock.model.report.finding import (
    CrossingReport,
    PassedOver,
    Report,
    Shard,
    SourcePlace,
    Verdict,
)
from faultclock.model.trace.trace import SubjectInfo
from faultclock.render.json_text import json_report
from faultclock.run.process.shards import dealt
from tests.history.drawn import SCENARIOS, finding, report_of, reports, run

ONE, TWO, THREE = SCENARIOS


def parts_of(whole: Report, count: int, selection: str = "d") -> dict[str, Report]:
    """Return the reports that a run in parts would have made."""
    costs = dict.fromkeys(SCENARIOS, 1)
    parts = {}
    for number in range(1, count + 1):
        mine = dealt(costs, number, count)
        part = report_of(
            [item for item in whole.runs if item.scenario in mine],
            [item for item in whole.seeds_findings if item.scenario in mine],
            shard=Shard(number=number, count=count, selection=selection),
            passed_over=whole.passed_over,
            crossings=tuple(item for item in whole.crossings if item.scenario in mine),
        )
        parts[f"part-{number}.json"] = part
    return parts


@settings(max_examples=50)
@given(reports(), st.integers(1, 5), st.randoms())
def test_all_parts_in_any_order_are_the_whole(whole: Report, count: int, random: object) -> None:
    """Byte for byte, empty parts included."""
    extra = {
        "passed_over": (PassedOver(scenario="f/zero", because="another dialect"),),
        "crossings": tuple(CrossingReport(scenario=name, cells=2, run=1) for name in SCENARIOS),
    }
    whole = whole.model_copy(update=extra)
    parts = list(parts_of(whole, count).items())
    random.shuffle(parts)  # type: ignore[attr-defined]
    assert json_report(merged(dict(parts))) == json_report(whole)


@settings(max_examples=50)
@given(reports((ONE,)), reports((TWO, THREE)))
def test_whole_runs_of_different_scenarios_are_joined(one: Report, other: Report) -> None:
    """In either order; the coverage is that of both."""
    both = merged({"a": one, "b": other})
    assert both == merged({"b": other, "a": one})
    assert both == report_of([*one.runs, *other.runs], [*one.seeds_findings, *other.seeds_findings])


WHOLE = report_of([run(name, finding(Verdict.PASS, requirement="R-1")) for name in SCENARIOS])


def changed(part: Report, **changes: object) -> Report:
    """Return a part that is not like the others."""
    return part.model_copy(update=changes)


def test_a_missing_part_is_named() -> None:
    """Less than the whole must not look like it."""
    parts = parts_of(WHOLE, 3)
    del parts["part-2.json"]
    with pytest.raises(InputError, match="part 2 of 3 is missing"):
        merged(parts)


def test_a_part_that_is_there_twice_is_named() -> None:
    """With both files; one of them may be of another run."""
    parts = parts_of(WHOLE, 3)
    parts["again.json"] = parts["part-2.json"]
    with pytest.raises(
        InputError, match=r"part 2 of 3 is there twice: in part-2.json and in again"
    ):
        merged(parts)


def test_a_run_with_two_traces_is_told_before_all_else() -> None:
    """Two parts that ran one scenario, and not alike, prove nothing."""
    parts = parts_of(WHOLE, 3)
    again = run(ONE, finding(Verdict.PASS), trace_digest="f" * 64)
    shard = Shard(number=2, count=3, selection="d")
    parts["part-2.json"] = report_of([again], shard=shard)
    with pytest.raises(InputError, match=r"f/one with seed 0 has one trace in .* and another in"):
        merged(parts)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "afk"}, "the same error model: stud-cli and afk"),
        ({"model_revision": "2"}, "the same revision of the error model: 1 and 2"),
        ({"readings": {"a": "b"}}, "readings of the error model: the default ones and a=b"),
        ({"faultclock": "2"}, "the same version of Faultclock: 1 and 2"),
        ({"source": SourcePlace(file="a.py", line=1)}, "the same place of the subject's source"),
        ({"checks": ()}, "the same checks"),
        ({"coverage": ()}, "the same sentences of the error model"),
        (
            {"subject": SubjectInfo(id="s", role="r", style="async", distributions={"lib": "2"})},
            r"the same subject: s and s \(lib 2\)",
        ),
        ({"shard": None}, "part-3.json is the report of a whole run"),
        ({"shard": Shard(number=3, count=4, selection="d")}, "in 3 parts, and .* of one in 4"),
        ({"shard": Shard(number=3, count=3, selection="e")}, "are not parts of one run"),
        (
            {"passed_over": (PassedOver(scenario="x", because="y"),)},
            "skipped different scenarios",
        ),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(
    changes: dict[str, object], message: str
) -> None:
    """With what is not the same."""
    parts = parts_of(WHOLE, 3)
    parts["part-3.json"] = changed(parts["part-3.json"], **changes)
    with pytest.raises(InputError, match=message):
        merged(parts)


def test_whole_runs_with_a_scenario_in_common_are_refused() -> None:
    """Even where they are alike: it would be counted twice."""
    with pytest.raises(InputError, match="f/one was run in a and in b"):
        merged({"a": WHOLE, "b": WHOLE})


def test_nothing_is_no_whole() -> None:
    """There is no report of it."""
    with pytest.raises(InputError, match="no report"):
        merged({})


def test_a_part_that_stopped_at_a_failure_is_named() -> None:
    """The hint says which option did it."""
    parts = parts_of(WHOLE, 2)
    name, first = next(iter(parts.items()))
    left = PassedOver(scenario="a/2", because="stopped", stopped=True)
    parts[name] = changed(first, passed_over=(left,))
    with pytest.raises(InputError, match="its runs stopped before a/2") as error:
        merged(parts)
    assert "--fail-fast" in str(error.value)
