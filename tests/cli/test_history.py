"""`faultclock history`, and `run --history`: what a person and a program are told."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from faultclock.cli.history_text import lines_of
from faultclock.history.reading import read_history
from faultclock.history.store import HistoryStore
from faultclock.model.report.exploration import Reached
from faultclock.model.report.finding import Verdict
from faultclock.model.report.token import coordinates_of
from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.cli.test_run import ADAPTER, ONE
from tests.history.made_up import DIGEST, ID, made_up, settings, subject, unsteady

#: Waits too long by a time that nobody can have again: C code asks the system for it.
UNSTEADY = (
    ADAPTER.replace("import json", "import ctypes\nimport json\nimport time", 1)
    .replace("@provider_adapter", "getrandom = ctypes.CDLL(None).getrandom\n\n\n@provider_adapter")
    .replace(
        "    answer = json",
        "    buffer = ctypes.create_string_buffer(3)\n"
        "    getrandom(buffer, 3, 0)\n"
        "    time.sleep(int.from_bytes(buffer.raw, 'big') / 1e6)\n"
        "    answer = json",
    )
)
_BEGAN = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def kept(path: Path, *sessions: tuple[object, list[object]]) -> None:
    """Write a history of these sessions."""
    with HistoryStore(path) as store:
        for each, runs in sessions:
            rows = [(tried, Reached(), DIGEST) for tried in runs]
            store.append(each, rows, started_at=_BEGAN)  # type: ignore[arg-type]


@pytest.fixture
def flaky(tmp_path: Path) -> Path:
    """Return a history of a subject that fails in one run of three, and was mended."""
    path = tmp_path / "h.sqlite"
    mended = settings(subject=subject(source_digest="7" * 64))
    failing = [made_up(number)[0] for number in (1, 2, 3)]
    passing = [made_up(number, trace_digest=f"{number}" * 64)[0] for number in (1, 2, 4)]
    kept(path, (settings(), failing), (mended, passing), (settings(), failing))
    return path


@pytest.fixture
def leaking(tmp_path: Path) -> Path:
    """Return a history in which one run is not what it was before."""
    path = tmp_path / "leaking.sqlite"
    odd = made_up(2, verdict=Verdict.INCONCLUSIVE, unsteady=unsteady())[0]
    kept(
        path,
        (settings(), [made_up(1)[0]]),
        (settings(), [made_up(1, trace_digest="a" * 64)[0], odd]),
    )
    return path


def test_a_history_lists_its_sessions_and_tells_flaky_from_changed(flaky: Path) -> None:
    """Code 0: a flaky subject is a finding, not a fault of the harness."""
    result = faultclock("history", str(flaky))
    assert result.exit_code == 0, result.stderr
    text = result.stdout
    assert "3 sessions, 9 runs" in text
    assert "2026-01-31 09:30  explore  mine     stud-cli 1     3  1 fail, 2 pass  complete" in text
    assert "Determinism bugs: none." in text
    assert "fails in 1 of 3 different runs (2 pass), by stud-cli" in text
    assert f"{ID}, mine: fail in session 1, pass in session 2" in text
    assert "changed: the source of mine (555555555555 -> 777777777777)" in text
    assert "\x1b" not in text


def test_the_token_of_the_first_failure_leads_to_its_coordinates(flaky: Path) -> None:
    """It can be given to `replay`, here or elsewhere."""
    text = faultclock("history", str(flaky)).stdout
    (line,) = [line for line in text.splitlines() if "faultclock replay fc2." in line]
    assert "(with --subject and the file of mine)" in text
    words = line.split()
    assert words[-2:] == ["--model", "stud-cli"]
    where = coordinates_of(words[-3])
    assert (where.scenario, where.scenario_digest, where.subject) == (ID, DIGEST, "mine")
    assert (where.seed, where.tape) == (21, made_up(3)[0].tape)


def test_a_determinism_bug_exits_with_3_and_names_both_runs(leaking: Path) -> None:
    """What such runs say of the subject proves nothing."""
    result = faultclock("history", str(leaking))
    assert result.exit_code == 3
    text = result.stdout
    assert "Determinism bugs (2): faults of Faultclock, or something real" in text
    assert "1 of 1 run made again had another trace" in text
    for place in ("session 1, run 1, seed 7", "session 2, run 1, seed 7"):
        assert place in text
    assert "trace aaaaaaaaaaaa" in text
    assert "payload.a is 1 in the first and 2 in the second" in text
    assert "open at x.py:3" in text
    assert "Flaky subjects: none." in text


def test_json_has_all_that_the_text_has(flaky: Path, leaking: Path) -> None:
    """The same facts, for programs."""
    found = json.loads(faultclock("history", str(flaky), "--json").stdout)
    assert set(found) == {"format", "sessions", "determinism_bugs", "flaky", "flips"}
    assert found["sessions"][0]["verdicts"] == {"FAIL": 1, "PASS": 2}
    assert [flip["cause"] for flip in found["flips"]] == ["changed", "changed"]
    found = json.loads(faultclock("history", str(leaking), "--json").stdout)
    assert all(item["token"].startswith("fc2.") for item in found["flaky"])
    assert found["determinism_bugs"][0]["other"]["trace_digest"] == "a" * 64


def test_an_empty_history_says_so(tmp_path: Path) -> None:
    """And so does a part of one in which nothing is."""
    path = tmp_path / "h.sqlite"
    HistoryStore(path).close()
    result = faultclock("history", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}: no session is in it yet\n")
    assert json.loads(faultclock("history", str(path), "--json").stdout)["sessions"] == []
    kept(path, (settings(), [made_up(1)[0]]))
    result = faultclock("history", str(path), "--subject", "other")
    assert (result.exit_code, result.stdout) == (0, f"{path}: no session of that is in it\n")


def test_a_file_that_is_no_history_is_wrong_usage(tmp_path: Path) -> None:
    """Code 2 and one sentence, for whoever reads and for whoever runs, before anything is run."""
    path = tmp_path / "h.sqlite"
    result = faultclock("history", str(path))
    assert result.exit_code == 2
    assert f"faultclock: {path}: there is no such file" in result.stderr
    path.write_text("no database" * 100, "utf-8")
    for words in (
        ("history", str(path)),
        ("run", ONE, "--subject", "none", "--history", str(path)),
    ):
        result = faultclock(*words)
        assert result.exit_code == 2
        assert "this is not a history of Faultclock" in result.stderr


def test_help_teaches_with_examples() -> None:
    """And says what is told apart, and the exit codes."""
    text = faultclock("history", "--help").stdout
    for word in ("determinism bug", "flaky subject", "verdict flip", "Examples:", "Exit codes: 0"):
        assert word in text


def test_a_run_is_kept_where_it_is_asked_for(tmp_path: Path) -> None:
    """Its verdicts, and with a changed subject the flip; no path is in the file."""
    (tmp_path / "mine.py").write_text(ADAPTER, "utf-8")
    words = ("run", ONE, "--subject", "mine.py:subject", "--history", "h.sqlite", "-q")
    done = process(tmp_path, *words)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "  kept: session 1 of h.sqlite" in done.stdout
    process(tmp_path, *words)
    (tmp_path / "mine.py").write_text(ADAPTER + "\n\n# Edited.\n", "utf-8")
    report = process(tmp_path, *words, "--json", "-")
    assert "  kept: session 3 of h.sqlite" in report.stderr
    history = read_history(tmp_path / "h.sqlite")
    assert [session.verdicts for session in history.sessions] == [{"FAIL": 1}] * 3
    assert (history.bugs, history.flaky, history.flips) == ((), (), ())
    connection = sqlite3.connect(tmp_path / "h.sqlite")
    digests = [row[0].hex() for row in connection.execute("SELECT trace_digest FROM run")]
    fingerprints = {row[0] for row in connection.execute("SELECT fingerprints FROM run")}
    connection.close()
    assert digests[0] == digests[1]
    assert digests[2] == json.loads(report.stdout)["runs"][0]["trace_digest"]
    (fingerprint,) = fingerprints
    assert json.loads(fingerprint)[0].startswith("f-")
    assert str(tmp_path).encode() not in (tmp_path / "h.sqlite").read_bytes()


def test_a_run_that_was_not_the_same_twice_is_kept_as_that(tmp_path: Path) -> None:
    """As no failure of the subject, with what differed."""
    (tmp_path / "odd.py").write_text(UNSTEADY, "utf-8")
    words = ("run", ONE, "--subject", "odd.py:subject", "--history", "h.sqlite", "-q")
    done = process(tmp_path, *words)
    assert done.returncode == 3, done.stdout + done.stderr
    history = read_history(tmp_path / "h.sqlite")
    assert history.sessions[0].verdicts == {"UNSTEADY": 1}
    (bug,) = history.bugs
    assert (bug.kind, bug.scenario, bug.first.fingerprints) == ("unsteady", ONE, ())
    assert "line " in bug.difference[0]


def test_a_sweep_over_a_matrix_is_kept_run_by_run(tmp_path: Path) -> None:
    """What a sweep makes of a cell has the digest of the cell and a variant of its own."""
    scenario = "session-store-contract/crash-everywhere"
    done = process(
        tmp_path,
        *("run", scenario, "--variant", "disk=ext4, cache=lost", "--subject", "reference-store"),
        *("--history", "h.sqlite", "--json", "r.json", "-q"),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    (session,) = read_history(tmp_path / "h.sqlite").sessions
    assert session.runs == len(report["runs"]) > 10
    connection = sqlite3.connect(tmp_path / "h.sqlite")
    rows = connection.execute("SELECT variant, digest FROM scenario").fetchall()
    connection.close()
    assert {variant for variant, _ in rows} == {run["variant"] for run in report["runs"]}
    assert len({digest for _, digest in rows}) == 1


def test_many_flips_do_not_hide_the_rest(tmp_path: Path) -> None:
    """A changed model flips hundreds of scenarios at once."""
    path = tmp_path / "h.sqlite"
    runs = [made_up(1, scenario=f"family/{n}", variant="x=1")[0] for n in range(100)]
    bad = [run.model_copy(update={"verdict": Verdict.WARN}) for run in runs]
    kept(path, (settings(), runs), (settings(model_revision="2"), bad))
    lines = [line.text for line in lines_of(read_history(path), "h.sqlite")]
    assert "Verdict flips (100): verdicts that changed from one session to the next." in lines
    assert "  60 earlier ones; --json has them" in lines
    assert sum("changed: revision of stud-cli 1 -> 2" in line for line in lines) == 40
