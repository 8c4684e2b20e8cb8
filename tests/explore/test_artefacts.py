"""What is handed over shows the failure, can be read, and lets nobody's text out of its quotes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from faultclock.explore.artefacts import Artefacts, Origin, artefacts
from faultclock.explore.fingerprint import marks_of
from faultclock.explore.shrink import Smallest, own_scenario, shrink
from faultclock.load.scenario import (
    checked_scenario,
    find_scenarios,
    load_scenario,
    shipped_scenarios,
)
from faultclock.load.yaml_file import parse_document
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.exploration import FailureMark, Shrunk, Size
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import Tape
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario, small

ROOT = Path(__file__).parents[2]

_SUBJECT = "mini-ignores-retry-after"
_SIZE = Size(faults=1, tasks=1, tools=0, actors=1, choices=0, events=9, virtual_ns=0)
_FINGERPRINT = "f-0123456789ab"
_TAPE = Tape.of({"schedule/1/timer/1/Task-3~2": {3: 1, 9: 2}, "schedule/1/timer/1/a: b #": {0: 1}})
_ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def _origin(**changes: Any) -> Origin:
    values: dict[str, Any] = {
        "subject": _SUBJECT,
        "model": "stud-cli",
        "scenario": "tests/small",
        "run": 17,
        "runs": 3,
    }
    return Origin(**(values | changes))


def _made(scenario: Scenario, finding: Finding | None = None, **changes: Any) -> Artefacts:
    finding = finding or Finding(check="backoff.wait", verdict=Verdict.FAIL, requirement="R-1")
    values = {"before": _SIZE, "after": _SIZE, "runs": 40, "is_minimum": True} | changes
    own = own_scenario(scenario, 7, _TAPE, _FINGERPRINT)
    mark = FailureMark(fingerprint=_FINGERPRINT, finding=finding)
    return artefacts(Shrunk(scenario=own, **values), mark, _origin())


def _texts(made: Artefacts) -> tuple[str, str]:
    scenario, test = made.files.values()
    return scenario, test


def _read(text: str) -> Scenario:
    return checked_scenario(parse_document(text.encode(), "found.yaml"))


@cache
def _scenarios() -> tuple[Scenario, ...]:
    chosen = tuple(list(shipped_scenarios().values())[::8])
    return tuple(item.runnable[0] for item in find_scenarios(chosen))


@given(st.deferred(lambda: st.sampled_from(_scenarios())))
@settings(max_examples=25)
def test_the_file_is_read_back_as_the_scenario_that_was_run(scenario: Scenario) -> None:
    """Of every family, with its tape and its seed."""
    assert _read(_texts(_made(scenario))[0]) == own_scenario(scenario, 7, _TAPE, _FINGERPRINT)


@given(_ANY_TEXT, _ANY_TEXT, _ANY_TEXT)
@settings(max_examples=30)
def test_what_a_subject_said_stays_in_its_quotes(expected: str, observed: str, sent: str) -> None:
    """Neither a comment nor a line of Python ends where a message wants it to."""
    finding = Finding(
        check="backoff.wait",
        verdict=Verdict.FAIL,
        requirement="R-1",
        expected=expected,
        observed=observed,
    )
    scenario, test = _texts(_made(small(tasks=[{"id": "ask", "prompt": sent}]), finding))
    assert _read(scenario).tasks[0].prompt == sent
    names = [node.name for node in ast.parse(test).body if isinstance(node, ast.FunctionDef)]
    assert names == ["test_backoff_wait_holds"]


@pytest.mark.parametrize("name", ["'''\"\"\"", "a b; rm -rf", "x\n\ny", "{braces}", "\\"])
def test_a_strange_subject_is_one_word_everywhere(name: str) -> None:
    """On the command line as in Python."""
    own = own_scenario(small(), 0, Tape(), _FINGERPRINT)
    shrunk = Shrunk(scenario=own, before=_SIZE, after=_SIZE, runs=1, is_minimum=True)
    mark = FailureMark(fingerprint=_FINGERPRINT, finding=Finding(check="a.b", verdict=Verdict.FAIL))
    made = artefacts(shrunk, mark, _origin(subject=name, readings={"switch": name}))
    tree = ast.parse(_texts(made)[1])
    options = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "OPTIONS"
    )
    assert options == ["--subject", name, "--model", "stud-cli", "--reading", f"switch={name}"]
    assert _read(_texts(made)[0]) == own


def test_the_file_says_what_fails_how_it_was_found_and_what_its_choices_are() -> None:
    """A person who was not there understands it."""
    finding = Finding(
        check="backoff.wait",
        verdict=Verdict.FAIL,
        requirement="R-1",
        level="MUST",
        place="Backoff",
        sentence="Wait a second.",
        expected="a wait of 1s",
        observed="a wait of 2s",
    )
    text, _ = _texts(_made(small(), finding, after=_SIZE.model_copy(update={"events": 5})))
    told = re.sub(r"\n# +", " ", text)
    for part in (
        "f-0123456789ab: backoff.wait fails.",
        "MUST R-1 (Backoff): Wait a second.",
        "Expected: a wait of 1s",
        "Observed: a wait of 2s",
        "run 17 was the first of 3 that failed so",
        "took 40 runs: 9 events became 5",
        "It is a local minimum",
        f"faultclock run small-f-0123456789ab.yaml --subject {_SUBJECT} --model stud-cli",
    ):
        assert part in told
    words = (
        "# step 9 of the timers of task Task-3 (number 2 of them)"
        " lets 2 others go first that came after"
    )
    assert re.search(rf"{re.escape(words)} it\n +- \[9, 2\]", text)


def test_the_run_that_was_found_first_is_one_command_on_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what a token does not hold, as long as it is needed."""
    monkeypatch.chdir(tmp_path)
    own = own_scenario(small(), 0, Tape(), _FINGERPRINT)
    shrunk = Shrunk(scenario=own, before=_SIZE, after=_SIZE, runs=1, is_minimum=True)
    mark = FailureMark(fingerprint=_FINGERPRINT, finding=Finding(check="a.b", verdict=Verdict.FAIL))
    known = _origin(token="fc2.abc")
    mine = _origin(token="fc2.abc", subject="my.py:subject", file=f"{tmp_path}/s.yaml")
    for origin, options in ((known, ""), (mine, "--subject my.py:subject --scenario s.yaml ")):
        text, _ = _texts(artefacts(shrunk, mark, origin))
        told = (
            f"# The run that was found first: faultclock replay fc2.abc {options}--model stud-cli"
        )
        assert told in text.split("\n")


def test_what_was_not_searched_to_its_end_is_not_called_a_minimum() -> None:
    """The reason stands in its place."""
    text, _ = _texts(_made(small(), is_minimum=False, stopped="6 runs were made"))
    assert "local minimum" not in text
    assert "It may not be the smallest near here: 6 runs were made." in text


def test_nothing_says_where_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder of this machine nor a user's name."""
    monkeypatch.chdir(tmp_path)
    finding = Finding(
        check="a.b", verdict=Verdict.FAIL, observed=f"no {tmp_path}/x in {Path.home()}/y"
    )
    own = own_scenario(small(), 0, Tape(), _FINGERPRINT)
    shrunk = Shrunk(scenario=own, before=_SIZE, after=_SIZE, runs=1, is_minimum=True)
    mark = FailureMark(fingerprint=_FINGERPRINT, finding=finding)
    origin = _origin(subject=f"{tmp_path}/my_adapter.py:subject", model=f"{tmp_path}/m.yaml")
    made = artefacts(shrunk, mark, origin)
    for text in (*made.files.values(), made.command):
        assert str(tmp_path) not in text
        assert str(Path.home()) not in text
    assert made.command.endswith("--subject my_adapter.py:subject --model m.yaml")
    kept = artefacts(shrunk, mark, replace(origin, folder="found/a b"))
    assert kept.command.startswith("faultclock run 'found/a b/")
    assert f"Run it: {kept.command}" in "".join(kept.files.values())


def test_the_pytest_file_finds_a_subject_in_a_file_wherever_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder where it was found, and from any other."""
    found, away = tmp_path / "found", tmp_path / "away"
    found.mkdir()
    away.mkdir()
    (tmp_path / "my.py").touch()
    own = own_scenario(small(), 0, Tape(), _FINGERPRINT)
    shrunk = Shrunk(scenario=own, before=_SIZE, after=_SIZE, runs=1, is_minimum=True)
    mark = FailureMark(fingerprint=_FINGERPRINT, finding=Finding(check="a.b", verdict=Verdict.FAIL))
    _, text = _texts(artefacts(shrunk, mark, _origin(subject="my.py:subject")))
    for start in (tmp_path, away):
        monkeypatch.chdir(start)
        names: dict[str, Any] = {"__file__": str(found / "test_x.py")}
        exec(compile(text, "test_x.py", "exec"), names)
        assert names["FILES"] == ["my.py"]
        assert names["START"] == tmp_path


# ------------------------------------------------------------------ a real one


@pytest.fixture(scope="module")
def found(bound: Callable[[str], Binding], model: ErrorModel) -> Smallest:
    """The smallest run of a Retry-After that is not kept to."""
    scenario = shipped_scenario("rate-limits/crowd-with-retry-after")
    binding, judge = bound(_SUBJECT), Judge(model)
    trace = run_one(scenario, binding, scenario.seed, isolate=False)
    fingerprint = marks_of(trace, judge.judge(trace))[0].fingerprint
    return shrink(scenario, binding, scenario.seed, Tape(), fingerprint, judge)


def test_whoever_runs_the_file_sees_the_same_failure(
    found: Smallest, bound: Callable[[str], Binding], model: ErrorModel, tmp_path: Path
) -> None:
    """It has its own seed, its own tape and nothing that varies."""
    made = artefacts(found.shrunk, found.mark, _origin())
    path = tmp_path / next(iter(made.files))
    path.write_text(_texts(made)[0], "utf-8")
    scenario = load_scenario(path)
    trace = run_one(scenario, bound(_SUBJECT), scenario.seed, isolate=True)
    marks = marks_of(trace, Judge(model).judge(trace))
    assert found.mark.fingerprint in {mark.fingerprint for mark in marks}


@pytest.mark.parametrize(("subject", "is_there"), [(_SUBJECT, True), ("reference", False)])
def test_the_pytest_file_is_red_as_long_as_the_failure_is_there(
    found: Smallest, tmp_path: Path, subject: str, is_there: bool
) -> None:
    """And says what it is; it is green for a subject that does it right."""
    made = artefacts(found.shrunk, found.mark, _origin(subject=subject))
    for name, text in made.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    name = next(name for name in made.files if name.endswith(".py"))
    names: dict[str, Any] = {"__file__": str(tmp_path / name)}
    exec(compile(made.files[name], name, "exec"), names)
    test = names["test_backoff_retry_after_holds"]
    if not is_there:
        test()
        return
    with pytest.raises(AssertionError) as failure:
        test()
    assert found.mark.finding.observed in str(failure.value)
    assert "faultclock run" in str(failure.value)


def test_the_pytest_file_says_why_the_command_did_not_run(
    found: Smallest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python exits with 1 where Faultclock is not installed, and prints no report."""
    (tmp_path / "faultclock.py").write_text("raise SystemExit('No module named faultclock')")
    monkeypatch.chdir(tmp_path)
    made = artefacts(found.shrunk, found.mark, _origin())
    name = next(name for name in made.files if name.endswith(".py"))
    names: dict[str, Any] = {"__file__": str(tmp_path / name)}
    exec(compile(made.files[name], name, "exec"), names)
    with pytest.raises(AssertionError, match="No module named faultclock"):
        names["test_backoff_retry_after_holds"]()


def test_the_pytest_file_is_red_for_a_subject_that_does_nothing(
    found: Smallest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks nobody shows no failure, and nothing else."""
    monkeypatch.chdir(tmp_path)
    # In a checkout that is not installed, the command is found from its folder only.
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "idle.py").write_text("def subject(request):\n    return 'hello'\n", "utf-8")
    made = artefacts(found.shrunk, found.mark, _origin(subject="idle.py:subject"))
    for name, text in made.files.items():
        (tmp_path / name).write_text(text, "utf-8")
    name = next(name for name in made.files if name.endswith(".py"))
    names: dict[str, Any] = {"__file__": str(tmp_path / name)}
    exec(compile(made.files[name], name, "exec"), names)
    with pytest.raises(AssertionError, match="without a single attempt, so nothing was shown"):
        names["test_backoff_retry_after_holds"]()
