"""Each benchmark works, at a size that takes a second; what it gives can be compared and shown."""

from __future__ import annotations

import importlib
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import __main__ as benchmarks
from benchmarks._table import Goal, as_json, as_page, as_text, rows_of


def results(name: str, **figures: float) -> dict[str, Any]:
    """Return what a run of one benchmark writes, against the first of its figures."""
    one = as_json(rows_of("a case", "ms", figures, next(iter(figures))), {"nowhere": False})
    return {"machine": "a machine", "benchmarks": {name: one}}


def test_a_goal_says_whether_it_is_met() -> None:
    """Of a figure or of a ratio; what was not measured has nothing to say."""
    rows = tuple(rows_of("runs by a client", "ms", {"ours": 30.0, "theirs": 10.0}, "theirs"))
    said = {
        Goal(case="runs", name="ours", most=30).said(rows),
        Goal(case="runs", name="ours", against="theirs", most=2.5).said(rows),
        Goal(case="runs", name="ours", against="nowhere", most=2).said(rows),
        Goal(case="other runs", name="ours", most=2).said(rows),
    }
    assert said == {
        "",
        "- runs, ours: at most 30 ms: met, 30",
        "- runs, ours: at most 2.5 times theirs: **missed**, 3",
    }
    shown = as_text(as_json(rows, {}, [Goal(case="runs", name="ours", most=29)]))
    assert shown.endswith("Goals:\n\n- runs, ours: at most 29 ms: **missed**, 30")


def test_each_goal_is_of_rows_that_there_are() -> None:
    """These need no peer that may be missing."""
    for name in ("order", "start"):
        measured = benchmarks.measured(name, True, benchmarks.ROOT)
        module = importlib.import_module(f"benchmarks.{name}")
        assert measured is not None
        assert len(measured["goals"]) == len(module.GOALS)


def prose(page: str) -> str:
    """Return what people wrote of a page."""
    return re.sub(r"(<!-- figures of \w+ -->).*?<!-- end -->", r"\1", page, flags=re.DOTALL)


@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_a_benchmark_gives_figures_and_each_ratio_names_its_peer(name: str) -> None:
    """It runs in a process of its own, since it patches time."""
    measured = benchmarks.measured(name, True, benchmarks.ROOT)
    assert measured is not None, "standard error says what went wrong"
    figures = {(row["case"], row["name"]): row["figure"] for row in measured["rows"]}
    assert len(figures) == len(measured["rows"]) > 0
    assert all(math.isfinite(figure) and figure > 0 for figure in figures.values())
    for row in measured["rows"]:
        assert row["unit"]
        if row["peer"] is None:
            assert row["ratio"] is None
        else:
            assert row["ratio"] == row["figure"] / figures[row["case"], row["peer"]]


def test_a_benchmark_runs_with_the_peers_that_are_there_and_names_the_others() -> None:
    """A peer that is not installed takes its own rows away, and no others."""
    command = (
        "import sys; sys.modules['aiotools'] = None\n"
        "from benchmarks.__main__ import main; sys.exit(main(['run', 'loop', '--tiny']))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", command], cwd=benchmarks.ROOT, stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    table, _, missing = shown.partition("\nNot installed, so not measured: ")
    assert "stock asyncio" in table
    assert "aiotools" not in table
    assert "aiotools VirtualClock" in missing


def test_two_commits_are_compared_in_turns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each turn has both, and what is shown is the ratio of the figures with its spread."""
    asked = ["git", "-C", str(benchmarks.ROOT), "rev-parse", "HEAD"]
    if shutil.which("git") is None or subprocess.run(asked, capture_output=True).returncode:
        pytest.skip("this is no checkout that git reads: no commit could be compared")
    figures = iter((10.0, 5.0, 10.0, 20.0, 10.0, 30.0))
    trees = []

    def measured(name: str, tiny: bool, tree: Path) -> dict[str, Any]:
        assert (tree / "Makefile").exists()
        trees.append(tree)
        one: dict[str, Any] = results(name, ours=next(figures))["benchmarks"][name]
        return one

    monkeypatch.setattr(benchmarks, "measured", measured)
    assert benchmarks.main(["compare", "HEAD", "loop", "--rounds", "3"]) == 0
    assert "| loop: a case, ours | 2.00 | 0.50 | 3.00 |" in capsys.readouterr().out
    assert trees == [trees[0], benchmarks.ROOT] * 3
    assert not trees[0].exists()


def test_the_page_has_a_place_for_each_benchmark() -> None:
    """Its tables are what the last measurement came to, and the words around them stay."""
    page = (benchmarks.HERE / "README.md").read_text("utf-8")
    places = re.findall(r"<!-- figures of (\w+) -->", page)
    assert sorted(places) == sorted(("machine", *benchmarks.NAMES))
    for name in benchmarks.NAMES:
        found = results(name, ours=1_234, theirs=617)
        written = as_page(page, found)
        assert as_page(written, found) == written
        assert as_text(found["benchmarks"][name]) in written
        assert prose(written) == prose(page)


def test_a_table_has_the_longer_side_down_and_the_ratio_in_brackets() -> None:
    """A case that a peer cannot run has no figure of it, and a missing peer is named."""
    table = as_text(results("loop", ours=1_234, theirs=617)["benchmarks"]["loop"])
    assert table.splitlines() == [
        "| in brackets: against ours | a case, ms   |",
        "|---------------------------|--------------|",
        "| ours                      | 1,234 (1.00) |",
        "| theirs                    | 617 (0.50)   |",
        "",
        "Not installed, so not measured: nowhere.",
    ]
