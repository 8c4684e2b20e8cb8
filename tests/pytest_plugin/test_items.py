"""Scenarios as test items: which there are, what they are called, and how they come out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import faultclock
from tests.cli.process import process
from tests.pytest_plugin.sessions import (  # noqa: F401 - a fixture
    PLUGIN,
    forked_benches,
    inner,
    outcomes,
    project,
)

pytest_plugins = ("pytester",)
pytestmark = pytest.mark.usefixtures("forked_benches")

ROOT = str(Path(faultclock.__file__).parents[1])
IGNORES = "mini-ignores-retry-after"
OWN = """\
id: my/hint
title: The provider says how long to wait
why: An adapter that comes back too early is refused again.
provider:
  faults:
    - id: limited
      when: {attempts: 1}
      then:
        kind: http_error
        status: 429
        error: rate_limit_exceeded
        headers: {retry-after: "7"}
"""
UNMET = OWN.replace("attempts: 1", "attempts: 9").replace("my/hint", "my/never")
TOOL = """\
id: my/tool
title: A tool
why: It is for another role.
role: tool
provider: {dialect: http-json}
"""


def _write(pytester: pytest.Pytester, name: str, text: str) -> None:
    path = pytester.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_every_outcome_has_its_own_place(pytester: pytest.Pytester) -> None:
    """A card and a replay line for what fails, no green for what proves nothing, no stack."""
    project(
        pytester,
        f'subject = "{IGNORES}"',
        'scenarios = ["rate-limits/retry-after-integer", "tests"]',
        also=['testpaths = ["tests"]'],
    )
    _write(pytester, "tests/hint.scenario.yaml", OWN)
    _write(pytester, "tests/never.scenario.yaml", UNMET)
    _write(pytester, "tests/tool.scenario.yaml", TOOL)
    _write(pytester, "tests/test_own.py", "def test_own(): pass\n")
    result = inner(pytester, "-v", "-rs", "--junitxml=out.xml")
    # What the folder and the files both select is there once.
    assert outcomes(result) == {"passed": 1, "failed": 3, "skipped": 1}
    text = result.stdout.str()
    for line in (
        "tests/hint.scenario.yaml::my/hint FAILED",
        "tests/never.scenario.yaml::my/never FAILED",
        "tests/tool.scenario.yaml::my/tool SKIPPED",
        "pyproject.toml::rate-limits/retry-after-integer FAILED",
        "FAIL  retries.floor, in my/hint, call ask/1",
        "INCONCLUSIVE: this proves nothing",
        "reproduce: faultclock run tests/hint.scenario.yaml --subject mini-ignores-retry-after",
        "reproduce: faultclock run rate-limits/retry-after-integer --subject mini-ignores",
        "it is for role tool, and mini-ignores-retry-after is a provider_adapter",
        "faultclock: subject mini-ignores-retry-after (pyproject.toml)",
    ):
        assert line in text, line
    assert "Traceback" not in text
    assert "harness/" not in text
    suite = ElementTree.parse(pytester.path / "out.xml")
    case = suite.find(".//testcase[@name='rate-limits/retry-after-integer']")
    assert case is not None
    told = {item.get("name"): item.get("value") for item in case.iter("property")}
    assert told["faultclock_verdict"] == "FAIL"
    assert told["faultclock_finding"] == "FAIL:retries.floor"
    # Only what failed, and of that what is chosen by its id.
    chosen = ("pyproject.toml::rate-limits/retry-after-integer", "tests/test_own.py")
    assert outcomes(inner(pytester, "--lf", *chosen)) == {"failed": 1}


def test_a_session_in_which_no_scenario_fits_is_not_green(pytester: pytest.Pytester) -> None:
    """A scenario for another role is skipped beside one that runs, and fails where it is alone."""
    project(pytester, f'subject = "{IGNORES}"')
    _write(pytester, "tool.scenario.yaml", TOOL)
    result = inner(pytester, "tool.scenario.yaml")
    assert outcomes(result) == {"failed": 1}
    result.stdout.fnmatch_lines(["*No scenario that was selected fits it.*"])


def test_a_project_may_have_a_folder_named_harness(pytester: pytest.Pytester) -> None:
    """Its tests import its own package of that name, and scenarios run beside it."""
    project(pytester, 'subject = "reference"')
    _write(pytester, "harness/__init__.py", "")
    _write(pytester, "harness/thing.py", "VALUE = 7\n")
    own = "from harness.thing import VALUE\n\ndef test_own():\n    assert VALUE == 7\n"
    _write(pytester, "test_own.py", own)
    _write(pytester, "hint.scenario.yaml", OWN)
    pytester.syspathinsert()
    assert outcomes(inner(pytester)) == {"passed": 2}


def test_ids_can_be_chosen_from(pytester: pytest.Pytester) -> None:
    """-m, -k and --deselect see the items, and naming a file leaves the configured ones out."""
    project(pytester, 'subject = "reference"', 'scenarios = ["rate-limits/retry-after-integer"]')
    _write(pytester, "hint.scenario.yml", OWN)
    _write(pytester, "test_own.py", "def test_own(): pass\n")
    words = ("--collect-only", "-q")
    chosen = inner(pytester, *words, "-m", "faultclock", "-k", "integer or hint")
    assert [line for line in chosen.outlines if "::" in line] == [
        "hint.scenario.yml::my/hint",
        "pyproject.toml::rate-limits/retry-after-integer",
    ]
    own = inner(pytester, *words, "test_own.py")
    assert [line for line in own.outlines if "::" in line] == ["test_own.py::test_own"]
    both = inner(
        pytester, "test_own.py", "--faultclock-scenario=rate-limits/retry-after-zero",
        "--deselect=test_own.py::test_own",
    )  # fmt: skip
    assert outcomes(both) == {"passed": 1, "deselected": 1}


def test_what_is_wrong_is_told_where_it_stands(pytester: pytest.Pytester) -> None:
    """A faulty table, scenario or subject is one collection error in the words of the command."""
    project(pytester, 'subjct = "reference"', 'scenarios = ["rate-limits"]')
    result = inner(pytester)
    assert outcomes(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["pyproject.toml:2:1: unknown key `subjct`*", "*`subject`?"])
    project(pytester, 'subject = "nobody.py:it"')
    _write(pytester, "hint.scenario.yaml", OWN)
    result = inner(pytester)
    result.stdout.fnmatch_lines(["nobody.py: there is no such file"])
    assert "Traceback" not in result.stdout.str()


def test_without_a_subject_a_file_is_told_and_not_run(pytester: pytest.Pytester) -> None:
    """A file of that name may be anybody's, so it fails nothing; named by itself, it does."""
    _write(pytester, "hint.scenario.yaml", OWN)
    _write(pytester, "test_own.py", "def test_own(): pass\n")
    result = inner(pytester)
    assert outcomes(result) == {"passed": 1}
    result.stdout.fnmatch_lines(["not collected, because*: hint.scenario.yaml"])
    result = inner(pytester, "hint.scenario.yaml")
    assert outcomes(result) == {"errors": 1}
    result.stdout.fnmatch_lines(["no subject: name the code whose error handling is tested"])
    assert outcomes(inner(pytester, "--faultclock-subject=reference")) == {"passed": 2}


def test_a_baseline_knows_what_may_fail(pytester: pytest.Pytester) -> None:
    """What is known is expected to fail; what passes now, is overdue or names nothing fails."""
    project(
        pytester,
        f'subject = "{IGNORES}"',
        'scenarios = ["rate-limits/retry-after-integer", "provider-transient/healthy-call"]',
        'baseline = "known.yaml"',
    )
    entry = "  - {{scenario: {}, check: {}, reason: {}, owner: us, expires: {}}}\n"
    known = entry.format("rate-limits/retry-after-integer", "retries.floor", "later", "9000-01-01")
    head = f"subject: {IGNORES}\nmodel: common\ndeviations:\n"
    _write(pytester, "known.yaml", head + known)
    result = inner(pytester, "-rx")
    assert outcomes(result) == {"passed": 2, "xfailed": 1}
    result.stdout.fnmatch_lines(["XFAIL *retry-after-integer - known until 9000-01-01 (us): later"])
    assert outcomes(inner(pytester, "--runxfail")) == {"passed": 2, "failed": 1}
    stale = (
        known.replace("9000", "2020")
        + entry.format("provider-transient/healthy-call", "evidence.whole", "gone", "9000-01-01")
        + entry.format("rate-limits/retry-after-zeroo", "retries.grow", "gone", "9000-01-01")
    )
    _write(pytester, "known.yaml", head + stale)
    result = inner(pytester)
    assert outcomes(result) == {"failed": 3}
    text = result.stdout.str()
    assert "retries.floor: its last day was 2020-01-01, and us answers for it" in text
    assert "healthy-call, evidence.whole: this passes now, so the entry has to go" in text
    assert "retry-after-zeroo, retries.grow: there is no such scenario" in text
    # Nobody else's baseline is in the project, so it counts for whom the command line names.
    project(pytester, 'baseline = "known.yaml"')
    text = inner(pytester, f"--faultclock-subject={IGNORES}", "-k", "baseline").stdout.str()
    assert "its last day was 2020-01-01" in text


def test_the_replay_line_makes_the_same_trace(pytester: pytest.Pytester) -> None:
    """Whatever hash seed pytest has, the trace is that of the command line, byte for byte.

    Two workers share the items and agree on them.
    """
    project(
        pytester, f'subject = "{IGNORES}"', 'scenarios = ["rate-limits/retry-after-*"]', "seeds = 2"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPATH": ROOT}
    pytester_run = [
        sys.executable, "-m", "pytest", *PLUGIN, "-p", "xdist.plugin", "-n2", "-q", "-W", "error",
        "--junitxml=out.xml", "-k", "integer or zero",
    ]  # fmt: skip
    subprocess.run(pytester_run, env=environment, capture_output=True, check=False)
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    told = {
        case.get("name"): [(item.get("name"), item.get("value")) for item in case.iter("property")]
        for case in cases
    }
    assert sorted(map(str, told)) == [
        "rate-limits/retry-after-integer",
        "rate-limits/retry-after-zero",
    ]
    properties = told["rate-limits/retry-after-integer"]
    replay = dict(properties)["faultclock_replay"]
    assert replay is not None
    words = replay.split()[1:]
    again = process(pytester.path, *words, "--json", "-")
    (run,) = json.loads(again.stdout)["runs"]
    assert ("faultclock_trace", f"{run['seed']}:{run['trace_digest']}") in properties


def test_it_can_be_switched_off_and_costs_nothing_then(pytester: pytest.Pytester) -> None:
    """`-p no:faultclock` works by the entry point, and a session without scenarios stays light."""
    info = pytester.mkdir("site") / "faultclock-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faultclock\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nfaultclock = faultclock.pytest_plugin\n")
    heavy = "{'pydantic', 'hypothesis', 'simpy', 'jinja2', 'yaml', 'rich', 'click', 'openai'}"
    _write(
        pytester,
        "test_light.py",
        f"""\
import os, sys

def test_light(pytestconfig):
    assert not {heavy} & set(sys.modules)
    here = 'faultclock.pytest_plugin' in sys.modules
    assert here == (os.environ["OFF"] == "0")
""",
    )
    # Other people's plugins import what they like.
    others = ["xdist", "xdist.looponfail", "hypothesispytest", "anyio", "langsmith_plugin"]
    off = [word for name in [*others, "time_machine", "syrupy"] for word in ("-p", f"no:{name}")]
    for switched_off in ("0", "1"):
        words = ["-p", "no:faultclock"] if switched_off == "1" else []
        result = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *off, *words, "test_light.py"],
            env={
                **os.environ,
                "PYTHONPATH": f"{pytester.path / 'site'}{os.pathsep}{ROOT}",
                "OFF": switched_off,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout
