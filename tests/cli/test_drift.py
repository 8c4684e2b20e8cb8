"""`drift` as a person meets it: two files, one screen, and an exit code for a gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultclock.model.report.census import Census
from faultclock.profile.census_merge import merged, taken_in
from faultclock.render.json_text import canonical_json
from tests.cli.command_line import faultclock
from tests.render.sample_census import LIMITED, call, census, client, run

GOOD = census(client("mine", run(LIMITED, call("ok"))))
BAD = census(client("mine", run(LIMITED, call("ok"), verdict="FAIL", failed=("retries.floor",))))


def stored(folder: Path, name: str, taken: Census) -> str:
    """Write a census, and return its file."""
    (folder / name).write_text(canonical_json(taken))
    return str(folder / name)


def test_only_a_change_for_the_worse_exits_with_1(tmp_path: Path) -> None:
    """Better is 0, the same is 0, and what cannot be compared is 3."""
    good, bad = stored(tmp_path, "good.json", GOOD), stored(tmp_path, "bad.json", BAD)
    other = stored(tmp_path, "other.json", census(client("other")))
    worse = faultclock("drift", good, bad)
    assert worse.exit_code == 1
    assert "newly fails retries.floor" in worse.output
    assert faultclock("drift", bad, good).exit_code == 0
    assert "0 cells of 1 changed" in faultclock("drift", good, good).output
    assert faultclock("drift", good, other).exit_code == 3
    assert faultclock("drift", good, bad, "-q").output.count("\n") == 1


def test_the_drift_is_written_as_json_and_as_a_page(tmp_path: Path) -> None:
    """JSON to standard output leaves the words for people elsewhere."""
    good, bad = stored(tmp_path, "good.json", GOOD), stored(tmp_path, "bad.json", BAD)
    page = tmp_path / "drift.html"
    done = faultclock("drift", good, bad, "--json", "-", "--html", str(page))
    change = json.loads(done.stdout)["clients"][0]["changes"][0]
    assert (change["kind"], change["newly_failed"]) == ("worse", ["retries.floor"])
    assert "1 cell got worse" in done.stderr
    assert "1 cell got worse" in page.read_text()


def test_two_environments_of_one_file_are_compared(tmp_path: Path) -> None:
    """By the name after an @."""
    both = stored(tmp_path, "both.json", merged(taken_in(GOOD, "old"), taken_in(BAD, "new")))
    assert faultclock("drift", f"{both}@old", f"{both}@new").exit_code == 1
    assert faultclock("drift", f"{both}@new", f"{both}@old").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("good.json", "none.json"), "none.json: there is no such file"),
        (("good.json", "good.json@new"), "this census has no environment 'new'"),
        (("good.json", "report.json"), "report.json: this is not a census"),
        (("good.json", "words.json"), "words.json: this is not JSON"),
        (("good.json", "model.json"), "the censuses differ in their model"),
        (("good.json", "good.json", "--json", "x", "--html", "x"), "written to one place"),
    ],
)
def test_wrong_usage_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    """With the file that is wrong."""
    monkeypatch.chdir(tmp_path)
    stored(tmp_path, "good.json", GOOD)
    stored(tmp_path, "model.json", GOOD.model_copy(update={"model": "another"}))
    (tmp_path / "report.json").write_text('{"format": 1}')
    (tmp_path / "words.json").write_text("no census")
    done = faultclock("drift", *words)
    assert done.exit_code == 2
    assert said in done.stderr
