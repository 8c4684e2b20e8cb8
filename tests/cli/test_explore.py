"""`explore` as a person meets it: it finds, it writes, it can be stopped, and it goes on."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from faultclock.cli.replay_at import of_finding, of_token
from faultclock.errors import InputError
from tests.cli.command_line import faultclock
from tests.cli.process import process

SCENARIO = "exploration/token-is-renewed-twice"
#: Real seconds in which something happens at the latest, on a loaded machine.
PATIENT_S = 60


def begun(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Begin `faultclock explore` in a process of its own: it patches the process that it is in."""
    return subprocess.Popen(
        [sys.executable, "-m", "faultclock.cli", "explore", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A build server may have started these tests with the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def explored(folder: Path, *words: str) -> tuple[int, str, str]:
    """Explore, and return the exit code, what was told, and what was complained of."""
    done = process(folder, "explore", *words)
    return done.returncode, done.stdout, done.stderr


def kept_runs(path: Path) -> int:
    """Return how many runs a history has; 0 while there is none."""
    if not path.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as history:
            (number,) = history.execute("SELECT count(*) FROM run").fetchone()
    except sqlite3.Error:
        return 0
    return int(number)


def stopped(folder: Path, history: Path, sign: signal.Signals, *words: str) -> int:
    """Explore until some more runs are kept, stop it by `sign`, and return the exit code."""
    before = kept_runs(history)
    with begun(folder, *words) as exploring:
        ends_s = time.monotonic() + PATIENT_S
        while kept_runs(history) <= before and time.monotonic() < ends_s:
            assert exploring.poll() is None, exploring.communicate()
            time.sleep(0.01)
        if sign == signal.SIGINT:
            # As a terminal does it: to every process in its foreground.
            os.killpg(exploring.pid, sign)
        else:
            exploring.send_signal(sign)
        exploring.communicate(timeout=PATIENT_S)
    return exploring.returncode


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, dict[str, Any]]:
    """Explore a subject that fails in every run, once for all tests."""
    folder = tmp_path_factory.mktemp("found")
    code, out, err = explored(
        folder,
        SCENARIO,
        *("--subject", "mini-ignores-retry-after", "--runs", "6", "-o", "all", "--workers", "2"),
        *("--wall-limit", "45s"),
    )
    assert code == 1, out + err
    return folder, out, json.loads(Path(folder, "all/exploration.json").read_text("utf-8"))


def test_a_failure_is_told_once_with_what_leads_back_to_it(
    found: tuple[Path, str, dict[str, Any]],
) -> None:
    """The check, how many runs, the token, the smallest scenario, and the rate."""
    folder, out, exploration = found
    (group,) = exploration["groups"]
    assert f"FAIL  retries.floor, in {SCENARIO}" in out
    assert "6 of 6 runs, first in run 1" in out
    assert f"faultclock replay {group['token']}" in out
    assert group["again"].endswith(" --wall-limit 45s"), "a run that hangs is cut off as it was"
    assert group["command"] in out
    assert "a second with 2 workers" in out
    assert "1 failure found in 6 runs" in out
    assert str(folder) not in out


def test_the_folder_has_both_reports_and_the_files_of_each_failure(
    found: tuple[Path, str, dict[str, Any]],
) -> None:
    """Each by a name that the report leads to; nothing is left half written."""
    folder, _, exploration = found
    (group,) = exploration["groups"]
    names = {path.name for path in Path(folder, "all").iterdir()}
    assert names == {"exploration.html", "exploration.json", *group["files"]}
    suffixes = {"".join(Path(name).suffixes) for name in group["files"]}
    assert suffixes == {".yaml", ".py", ".jsonl", ".notes.json"}
    page = Path(folder, "all/exploration.html").read_text("utf-8")
    assert all(f'href="{name}"' in page for name in group["files"])
    assert group["shrunk"]["after"]["tasks"] == 1
    assert group["divergence"]["rows"]


def test_a_report_knows_where_the_subject_and_the_scenario_of_a_failure_are(
    found: tuple[Path, str, dict[str, Any]], tmp_path: Path
) -> None:
    """A token does not, so the command of the failure is asked."""
    _, _, exploration = found
    (group,) = exploration["groups"]
    assert of_token(group["token"]).scenario is None
    again = f"{group['again']} --subject 'my own.py:subject' --scenario own.yaml"
    own = exploration | {"groups": [group | {"again": again}]}
    report = tmp_path / "own.json"
    report.write_text(json.dumps(own), "utf-8")
    wanted = of_finding(group["fingerprint"], str(report))
    assert (wanted.subject, wanted.scenario) == ("my own.py:subject", "own.yaml")


def test_a_command_in_a_report_that_is_none_is_told(
    found: tuple[Path, str, dict[str, Any]], tmp_path: Path
) -> None:
    """Somebody may have edited the report."""
    _, _, exploration = found
    (group,) = exploration["groups"]
    report = tmp_path / "edited.json"
    edited = exploration | {"groups": [group | {"again": "faultclock replay 'fc1"}]}
    report.write_text(json.dumps(edited), "utf-8")
    with pytest.raises(InputError, match="is no command line"):
        of_finding(group["fingerprint"], str(report))


def test_what_cannot_be_written_is_told_after_what_was_found(tmp_path: Path) -> None:
    """Hours of runs are not lost because a disk is full; and no path of this machine gets out."""
    words = (SCENARIO, "--subject", "mini-ignores-retry-after", "--runs", "2", "--shrink-runs", "9")
    words = (*words, "-o", str(tmp_path / "found"), "--json", "/dev/full")
    code, out, err = explored(tmp_path, *words)
    assert code == 2
    assert "/dev/full: cannot be written" in err
    assert "faultclock replay fc2." in out
    assert "1 failure found in 2 runs" in out
    reports = Path(tmp_path, "found").iterdir()
    assert all(str(tmp_path) not in path.read_text("utf-8") for path in reports)


def test_a_subject_that_conforms_exits_with_0_and_json_has_standard_output_to_itself(
    tmp_path: Path,
) -> None:
    """Words for people go to the other stream."""
    words = (SCENARIO, "--subject", "reference", "--runs", "5", "--seed", "3", "--json", "-")
    code, out, err = explored(tmp_path, *words, "--schedule", "pct", "--schedule", "fifo")
    assert code == 0, err
    exploration = json.loads(out)
    assert exploration["seed"] == 3
    assert set(exploration["scenarios"][0]["schedules"]) <= {"pct", "fifo"}
    assert "no failure in 5 runs" in err
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_played_for_a_subject_is_told_in_every_output(tmp_path: Path) -> None:
    """A scenario that is left out in silence would look like one that was explored."""
    plain = """\
id: own/{name}
title: A scenario of one's own, {name}
why: >-
  Somebody's own folder may have scenarios in the dialect of another provider than the one that the
  subject under test speaks; nobody is to take those for explored.
provider:
  dialect: {dialect}
tasks:
  - {{id: ask, prompt: Say hello}}
"""
    mine = tmp_path / "mine"
    mine.mkdir()
    for name, dialect in (("plain", "openai-chat"), ("foreign", "anthropic-messages")):
        written = plain.format(name=name, dialect=dialect)
        Path(mine, f"{name}.yaml").write_text(written, "utf-8")
    words = ("mine", "--subject", "reference", "--runs", "2", "-o", "found", "--workers", "1")
    code, out, err = explored(tmp_path, *words, "extension-contract")
    assert code == 0, out + err
    exploration = json.loads(Path(tmp_path, "found/exploration.json").read_text("utf-8"))
    left_out = {item["scenario"]: item["because"] for item in exploration["passed_over"]}
    assert f"passed over, not run: {len(left_out)} scenarios" in out
    assert left_out["extension-contract/dispose-unused"] == "for role extension"
    page = Path(tmp_path, "found/exploration.html").read_text("utf-8")
    assert all(left_out["own/foreign"] in text for text in (out, page))


def test_stopped_and_killed_it_goes_on_and_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    """First a Ctrl-C, then a kill -9: no run is lost, none is there twice."""
    words = (SCENARIO, "--subject", "mini-race-token-is-renewed-twice", "--runs", "120")
    words = (*words, "--workers", "2", "--quiet", "--no-shrink")
    history = tmp_path / "h.sqlite"
    kept = (*words, "--history", "h.sqlite")
    assert stopped(tmp_path, history, signal.SIGINT, *kept) == 130
    after_ctrl_c = kept_runs(history)
    assert stopped(tmp_path, history, signal.SIGKILL, *kept, "--resume") == -signal.SIGKILL
    assert 0 < after_ctrl_c < kept_runs(history) < 120
    code, out, err = explored(tmp_path, *kept, "--resume", "--json", "late.json")
    assert "runs of it from before" in out, out + err
    assert kept_runs(history) == 120
    assert explored(tmp_path, *words, "--json", "once.json")[0] == code
    assert Path(tmp_path, "late.json").read_text() == Path(tmp_path, "once.json").read_text()


def test_what_makes_no_sense_is_said_before_anything_runs(tmp_path: Path) -> None:
    """Nobody waits for runs whose result is lost."""
    resume = faultclock("explore", SCENARIO, "--subject", "reference", "--resume")
    assert resume.exit_code == 2
    assert "--history" in resume.stderr
    nothing = faultclock("explore", "--subject", "reference")
    assert nothing.exit_code == 2
    assert "SCENARIO" in nothing.stderr
    blocked = tmp_path / "file"
    blocked.write_text("here")
    folder = faultclock("explore", SCENARIO, "--subject", "reference", "-o", str(blocked))
    assert folder.exit_code == 2
    assert "a file is where the folder should be" in folder.stderr
    unnamed = faultclock("explore", SCENARIO)
    assert "no subject" in unnamed.stderr


def test_help_teaches() -> None:
    """What a scenario lets vary, examples, and the exit codes."""
    told = faultclock("explore", "--help").output
    for words in ("vary:", "--resume", "faultclock replay", "Exit codes", "-o found"):
        assert words in told


def test_everything_varies_on_demand_and_the_token_leads_back(tmp_path: Path) -> None:
    """A reference that passes as written fails in none of it; a wrong subject's run is replayed."""
    scenario = "rate-limits/retry-after-integer"
    words = (scenario, "--runs", "12", "--workers", "2", "--json", "-", "--vary-everything")
    code, out, err = explored(tmp_path, *words, "--subject", "reference-common")
    assert code == 0, err
    code, out, err = explored(
        tmp_path, *words, "--subject", "mini-common-ignores-retry-after", "--no-shrink"
    )
    assert code == 1, err
    groups = json.loads(out)["groups"]
    plain = explored(
        tmp_path,
        *(scenario, "--runs", "12", "--json", "-", "--no-shrink"),
        *("--subject", "mini-common-ignores-retry-after"),
    )
    assert {group["token"] for group in json.loads(plain[1])["groups"]} != {
        group["token"] for group in groups
    }
    done = process(tmp_path, "replay", groups[0]["token"])
    assert done.returncode == 1, done.stderr
    assert "identical: both runs are the same" in done.stdout
