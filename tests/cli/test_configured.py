"""Commands with defaults from `[tool.faultclock]`: what is taken, what beats it, what is told."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from faultclock.cli.configured import configured
from faultclock.cli.options import model_option, readings_option, wall_limit_option
from tests.cli.command_line import faultclock

_TABLE = """\
[tool.faultclock]
subject = "adapter.py:subject"
scenarios = ["rate-limits"]
readings = { cut-answers = "unmapped" }
reads = ["divide", "roll_dice"]
wall-limit = "30s"
baseline = "known.yaml"
"""


@click.command(name="show", epilog="An end.")
@click.argument("scenarios", nargs=-1)
@click.option("--subject")
@click.option("--reads", multiple=True)
@model_option
@readings_option
@wall_limit_option
@click.option("--baseline")
@click.option("-q", "--quiet", is_flag=True)
def _show(quiet: bool, **values: object) -> None:
    """Show."""
    click.echo(repr(dict(sorted(values.items()))))


def _shown(*words: str) -> Result:
    return CliRunner().invoke(configured(_show), words)


@pytest.fixture
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text(_TABLE)
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)


@pytest.mark.usefixtures("_project")
def test_what_is_not_given_is_configured_and_told_in_one_line() -> None:
    """Paths are as the working folder sees them, and a line on standard error says all."""
    result = _shown()
    assert eval(result.stdout) == {
        "baseline": "../known.yaml",
        "model": "common",
        "readings": ("cut-answers=unmapped",),
        "reads": ("divide", "roll_dice"),
        "scenarios": ("rate-limits",),
        "subject": "../adapter.py:subject",
        "wall_limit": 30.0,
    }
    assert result.stderr == (
        "faultclock: ../pyproject.toml gives rate-limits --subject ../adapter.py:subject"
        " --reading cut-answers=unmapped --reads divide --reads roll_dice"
        " --wall-limit 30s --baseline ../known.yaml\n"
    )
    assert _shown("-q").stderr == ""


@pytest.mark.usefixtures("_project")
def test_what_is_given_beats_it_with_all_that_belongs_to_it() -> None:
    """Readings belong to their model, a baseline and what its tools do to its subject."""
    values = eval(_shown("provider-transient", "--model", "afk").stdout)
    assert (values["scenarios"], values["readings"]) == (("provider-transient",), ())
    assert values["baseline"] == "../known.yaml"
    values = eval(_shown("--subject", "reference").stdout)
    assert (values["subject"], values["baseline"]) == ("reference", None)
    assert values["reads"] == ()
    assert values["readings"] == ("cut-answers=unmapped",)


def test_a_baseline_of_no_named_subject_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is known of another subject is left out: a gate must not open in silence."""
    (tmp_path / "pyproject.toml").write_text('[tool.faultclock]\nbaseline = "known.yaml"\n')
    monkeypatch.chdir(tmp_path)
    assert eval(_shown("--subject", "mine").stdout)["baseline"] == "known.yaml"


@pytest.mark.usefixtures("_project")
def test_help_needs_no_configuration() -> None:
    """A faulty table stops what reads it, and nobody's --help, which says where defaults are."""
    Path("../pyproject.toml").write_text("[tool.faultclock]\nsubjct = 1\n")
    said = _shown("--help").stdout
    assert "[tool.faultclock] of the" in said
    assert "An end." in said
    assert isinstance(_shown().exception, Exception)
    result = faultclock("run")
    assert result.exit_code == 2
    assert "../pyproject.toml:2:1: unknown key `subjct`" in result.stderr
    assert faultclock("run", "--help").exit_code == 0
    assert faultclock("list", "families").exit_code in (0, 2)
