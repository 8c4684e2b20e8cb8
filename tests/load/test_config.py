"""`[tool.faultclock]`: where it is found, what it may say, and how a fault in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import SourceError
from faultclock.load.config import as_seen_from, find_config

_ALL = """\
[project]
name = "x"
[tool.faultclock]
subject = "src/adapter.py:subject"
model = "models/own.yaml"
readings = { cut-answers = "unmapped" }
scenarios = ["rate-limits", "checks", "checks/one.scenario.yaml", "rate-limits/retry-*"]
seeds = 3
wall-limit = "1m30s"
baseline = "known.yaml"
history = "verdicts.sqlite"
"""


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    """A pyproject.toml without the table is passed over, however far below it lies."""
    inner = tmp_path / "package" / "deep"
    inner.mkdir(parents=True)
    assert find_config(inner) is None
    (tmp_path / "pyproject.toml").write_text(_ALL)
    (tmp_path / "package" / "pyproject.toml").write_text("[project]\nname = 'faultclock-x'\n")
    found = find_config(inner)
    assert found is not None
    config, path = found
    assert path == tmp_path / "pyproject.toml"
    assert (config.seeds, config.wall_limit) == (3, 90 * 10**9)
    assert dict(config.readings) == {"cut-answers": "unmapped"}
    (inner / "pyproject.toml").write_text("[tool.faultclock]\n")
    found = find_config(inner)
    assert found is not None
    assert found[0].subject is None


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    """What is shipped keeps its name in every folder, and what is a file is found from any."""
    (tmp_path / "checks").mkdir()
    # A folder that is named like a family does not hide it.
    (tmp_path / "rate-limits").mkdir()
    path = tmp_path / "pyproject.toml"
    path.write_text(_ALL)
    found = find_config(tmp_path)
    assert found is not None
    below = tmp_path / "below"
    seen = as_seen_from(below, found[0], path)
    assert seen.subject == "../src/adapter.py:subject"
    assert seen.model == "../models/own.yaml"
    assert seen.scenarios == (
        "rate-limits",
        "../checks",
        "../checks/one.scenario.yaml",
        "rate-limits/retry-*",
    )
    assert (seen.baseline, seen.history) == ("../known.yaml", "../verdicts.sqlite")
    path.write_text('[tool.faultclock]\nsubject = "package.module:it"\nmodel = "afk"\n')
    found = find_config(tmp_path)
    assert found is not None
    assert as_seen_from(below, found[0], path) == found[0]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('subjct = "x"', "2:1: unknown key `subjct`\n  did you mean `subject`?"),
        ("seeds = 0", "2:9: `seeds` should be at least 1, not 0"),
        ('seeds = "3"', "2:9: `seeds` should be a whole number, not '3'"),
        ("wall-limit = 30", "2:14: 30 is not a duration"),
        ('wall-limit = "0s"', "2:14: `wall-limit` is not a duration\n  write it as in 30s"),
        ('scenarios = "rate-limits"', "2:13: `scenarios` should be a list, not 'rate-limits'"),
        ('scenarios = ["a",\n  3]', "3:3: entry 2 of `scenarios` should be a text, not 3"),
        ("readings = {a = 1}", "2:17: `a` should be a text, not 1"),
        ("subject = nan", "2:11: `subject` should be a text"),
        ("subject = ", "2:11: this is not TOML: invalid value"),
    ],
)
def test_a_fault_is_told_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, told: str
) -> None:
    """Line and column lead to the key or the value, as in every other file."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.faultclock]\n{lines}\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError) as error:
        find_config(".")
    assert str(error.value).startswith(f"pyproject.toml:{told}")


def test_what_has_no_table_is_nobodys_fault(tmp_path: Path) -> None:
    """A broken file that does not speak of us says nothing; a table that is none is told."""
    path = tmp_path / "pyproject.toml"
    path.write_text("[broken")
    assert find_config(tmp_path) is None
    path.write_text("tool.faultclock = 3\n")
    with pytest.raises(SourceError, match=r"1:19: `tool\.faultclock` should be a table"):
        find_config(tmp_path)
    path.write_bytes(b"[tool.faultclock]\nsubject = '\xff'\n")
    with pytest.raises(SourceError, match=r":2:1: this line is not UTF-8"):
        find_config(tmp_path)
