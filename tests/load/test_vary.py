"""Mistakes in what a scenario says of being explored, each at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError
from faultclock.load.scenario import find_scenarios, load_scenario

HEAD = """\
id: tests/vary
title: T
why: W
tasks: [{id: ask}]
provider:
  faults:
    - id: limited
      when: {attempts: 1}
      then: {kind: http_error, status: 429, error: rate_limit_exceeded}
"""
#: Line on which what is added begins.
LINE = HEAD.count("\n") + 1


def problems(tmp_path: Path, added: str, head: str = HEAD) -> list[str]:
    """Return the problems of a file, as `line:column: message`, and their hints."""
    file = tmp_path / "a.yaml"
    file.write_text(head + added, "utf-8")
    try:
        find_scenarios((str(file),))
    except SourceError as error:
        return [
            f"{problem.line - LINE}:{problem.column}: {problem.message} / {problem.hint}"
            for problem in error.problems
        ]
    return []


def of_values(tmp_path: Path, *values: str) -> list[str]:
    """Return the problems of what may vary; the first value is on line 2."""
    return problems(tmp_path, "vary:\n  values:\n" + "".join(f"    {value}\n" for value in values))


def test_what_is_right_has_no_problem(tmp_path: Path) -> None:
    """Everything that may be said, at once."""
    added = """\
vary:
  values:
    provider.latency: {from: 5ms, to: 250ms}
    provider.faults.limited.when.attempts: {from: 1, to: 6}
    provider.faults.limited.then.error: {any_of: [overloaded, server_error]}
    tasks.ask.stream: {any_of: [true]}
  may_lack: [limited]
settle: {faults_end: 1m, within: 10m}
tape:
  choices:
    schedule/1/task ask/1: [[0, 1], [3, 2]]
    latency/c1/client: [[0, 18446744073709551615]]
    overload/first: [[0, 0]]
"""
    assert problems(tmp_path, added) == []


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (
            "provider.latenci: {from: 5ms, to: 9ms}",
            "2:5: `provider.latenci` leads nowhere: there is no 'latenci' in `provider`"
            " / did you mean `latency`?",
        ),
        (
            "provider.faults.limted.when.attempts: {from: 1, to: 9}",
            "2:5: `provider.faults.limted.when.attempts` leads nowhere: there is no 'limted' in"
            " `provider.faults` / did you mean `limited`?",
        ),
        (
            "seed: {from: 1, to: 9}",
            "2:5: `seed` may not vary: it makes the scenario the one that it is / None",
        ),
        (
            "tasks.ask.copies: {any_of: [1, 5ms]}",
            "2:36: with tasks.ask.copies = 5ms: `copies` should be a whole number, not '5ms'"
            " / None",
        ),
        (
            "provider.faults.limited.when.attempts: {from: 0, to: 9}",
            "2:51: with provider.faults.limited.when.attempts = 0: `attempts` should be at least 1,"
            " not 0 / None",
        ),
        (
            "provider.faults.limited.then.error: {any_of: [overloaded, overladed]}",
            "2:63: with provider.faults.limited.then.error = overladed: openai-chat has no error"
            " payload 'overladed' / did you mean `overloaded`?",
        ),
        (
            "provider.latency: {from: 9ms, to: 5ms}",
            "2:24: from 9ms to 5ms is an empty range / None",
        ),
        (
            "provider.latency: 5ms",
            "2:23: `provider.latency`: give a range, as {from: …, to: …}, or a list, as"
            " {any_of: […]} / None",
        ),
    ],
)
def test_a_value_that_may_not_stand_there(tmp_path: Path, value: str, told: str) -> None:
    """It is told at the path, at the end of the range or in the list, and never at the scenario."""
    assert of_values(tmp_path, value) == [told]


def test_a_rule_that_there_is_not(tmp_path: Path) -> None:
    """With the one that was meant."""
    told = problems(tmp_path, "vary: {may_lack: [limted]}\n")
    assert told == ["0:19: there is no rule 'limted' to go without / did you mean `limited`?"]
    told = problems(tmp_path, "vary: {may_lack: [limited, limited]}\n")
    assert told == ["0:28: the rule 'limited' is named twice / None"]


def test_a_fault_that_begins_after_the_end_of_all(tmp_path: Path) -> None:
    """It could never fire; the same holds for one that may be moved there."""
    late = HEAD.replace("attempts: 1", "from_time: 10s")
    (told,) = problems(tmp_path, "settle: {faults_end: 10s}\n", late)
    assert "the fault 'limited' begins at 10s, and faults end at 10s" in told
    assert told.startswith(f"{8 - LINE}:25: ")
    added = """\
settle: {faults_end: 10s}
vary: {values: {provider.faults.limited.when.from_time: {from: 0s, to: 10s}}}
"""
    (told,) = problems(tmp_path, added)
    assert told.startswith("1:72: with provider.faults.limited.when.from_time = 10s: the fault")


def test_what_has_no_time_to_settle(tmp_path: Path) -> None:
    """The run would be over before anything could be judged."""
    added = "settle: {faults_end: 1m, within: 10m}\nlimits: {virtual_time: 5m}\n"
    (told,) = problems(tmp_path, added)
    assert told.startswith("0:34: all has to settle by 11m, and the run ends at 5m")


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        ("vary/provider.latency: [[0, 1]]", "shapes the scenario, and this is one"),
        ("lacks/limited: [[0, 1]]", "shapes the scenario, and this is one"),
        ("schedul/1/timers: [[0, 1]]", "no stream is called 'schedul/1/timers'"),
        ("schedule/0/timers: [[0, 1]]", "no stream is called 'schedule/0/timers'"),
        ("overload/first: [[0, 18446744073709551616]]", "a draw has 64 bits"),
        ("overload/first: [[1, 1], [0, 1]]", "are not numbered upwards from 0"),
        ("overload/first: [[0, -1]]", "a choice of 'overload/first' is below 0"),
        ("overload/first: [0, 1]", "should be a list"),
    ],
)
def test_a_tape_that_plays_nothing(tmp_path: Path, stream: str, told: str) -> None:
    """A stream that nobody reads is a slip."""
    found = problems(tmp_path, f"tape:\n  choices:\n    {stream}\n")
    assert found
    assert all(told in problem for problem in found)


def test_each_variant_of_a_matrix_is_looked_at(tmp_path: Path) -> None:
    """A path may lead somewhere in one and nowhere in another; it is told once."""
    added = """\
vary: {values: {provider.overload.percent: {from: 1, to: 9}}}
matrix:
  axes:
    load:
      high: {merge: {provider: {overload: {percent: 5}}}}
      low: {merge: {}}
    asked:
      once: {merge: {}}
      twice: {merge: {tasks: [{id: again}]}}
"""
    (told,) = problems(tmp_path, added)
    assert "there is no 'percent' in `provider.overload`" in told
    low = "low: {merge: {provider: {overload: {percent: 6}}}}"
    assert problems(tmp_path, added.replace("low: {merge: {}}", low)) == []


def test_roles_of_all_kinds_may_be_explored(tmp_path: Path) -> None:
    """The three sections mean something to all of them."""
    added = "role: runtime\nvary: {may_lack: [limited]}\nsettle: {faults_end: 1m}\n"
    assert problems(tmp_path, added) == []
    file = tmp_path / "a.yaml"
    assert load_scenario(file).vary is not None
