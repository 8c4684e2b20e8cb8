"""The hooks for pre-commit: valid, and their commands are ones that there are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from jsonschema.validators import validator_for

from tests.cli.command_line import faultclock
from tests.integrations.shell_steps import ADAPTER, shipped
from tests.render.ci_formats import SCHEMAS

HOOKS = {hook["id"]: hook for hook in shipped(".pre-commit-hooks.yaml")}


def test_the_file_is_valid_by_its_schema() -> None:
    """As pre-commit reads it."""
    schema = json.loads((SCHEMAS / "pre-commit-hooks.json").read_text("utf-8"))
    validator = validator_for(schema)(schema)
    assert [error.message for error in validator.iter_errors(list(HOOKS.values()))] == []


@pytest.mark.parametrize("name", HOOKS)
def test_the_command_of_a_hook_is_one_that_there_is(name: str) -> None:
    """With the options that it names."""
    program, *words = shlex.split(HOOKS[name]["entry"])
    assert program == "faultclock"
    assert faultclock(*words, "--help").exit_code == 0


def test_scenarios_are_validated_and_nothing_else() -> None:
    """Workflows and other YAML of a project are no scenarios."""
    pattern = re.compile(HOOKS["faultclock-validate"]["files"])
    assert pattern.search("scenarios/mine.yaml")
    assert pattern.search("tests/scenarios/deep/mine.yml")
    assert pattern.search("conformance/first.scenario.yaml")
    assert not pattern.search(".github/workflows/ci.yaml")
    assert not pattern.search("scenarios/scenario.schema.json")


def test_the_validating_hook_tells_the_line_of_a_problem(tmp_path: Path) -> None:
    """pre-commit gives it the names of the files that changed."""
    file = tmp_path / "scenarios" / "my" / "limit.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("id: my/limit\ntitle: A title\nwhy: A reason\ntaks: []\n")
    done = faultclock(*shlex.split(HOOKS["faultclock-validate"]["entry"])[1:], str(file))
    assert done.exit_code == 2
    assert f"{file}:4:1" in done.stderr


def test_the_gating_hook_runs_what_the_project_configures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets no files: the subject and the scenarios stand in pyproject.toml."""
    (tmp_path / "my_adapter.py").write_text(ADAPTER)
    (tmp_path / "pyproject.toml").write_text(
        "[tool.faultclock]\n"
        'subject = "my_adapter.py:subject"\n'
        'scenarios = ["rate-limits/retry-after-integer"]\n'
        "seeds = 1\n"
    )
    monkeypatch.chdir(tmp_path)
    hook = HOOKS["faultclock-run"]
    assert hook["pass_filenames"] is False
    assert faultclock(*shlex.split(hook["entry"])[1:]).exit_code == 1
