"""`run` with what narrows it: -x, --last-failed, --exclude, --group-by."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.command_line import faultclock
from tests.cli.process import process

SUBJECT = ("--subject", "mini-common-ignores-retry-after")
FAILS = "rate-limits/retry-after-integer"
PASSES = ("provider-transient/healthy-call", "rate-limits/retry-after-absent")
RECORD = ".faultclock_cache/last-failed.json"
RECORDED = (
    '{"failed": [{"subject": "z", "model": "common", "scenario": "a", "file": %s, "seeds": [%s]}]}'
)


def report(folder: Path, *words: str) -> tuple[int, dict[str, object], str]:
    """Run, and return the exit code, the report, and what was said on standard error."""
    done = process(folder, "run", *words, *SUBJECT, "--json", "-")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def scenarios(found: dict[str, object]) -> list[str]:
    """Return the scenarios that a report has runs of."""
    return list(dict.fromkeys(run["scenario"] for run in found["runs"]))  # type: ignore[attr-defined]


def passed_over(found: dict[str, object]) -> dict[str, str]:
    """Return what a report names as not run."""
    return {item["scenario"]: item["because"] for item in found["passed_over"]}  # type: ignore[attr-defined]


def test_a_subject_without_a_file_is_refused_in_words() -> None:
    """An empty name is no folder."""
    done = faultclock("run", "rate-limits/quota-as-429", "--subject", ":agent")
    assert done.exit_code == 2
    assert "':agent' is no place of a subject" in done.stderr


def test_fail_fast_stops_and_names_what_was_not_run(tmp_path: Path) -> None:
    """It is a failure, and what was left is in the report with the reason."""
    words = (FAILS, "rate-limits/retry-after-then-none", *PASSES, "-x")
    for jobs in ("1", "2"):
        code, found, told = report(tmp_path, *words, "--jobs", jobs)
        assert code == 1
        assert scenarios(found) == [PASSES[0], PASSES[1], FAILS]
        assert list(passed_over(found)) == ["rate-limits/retry-after-then-none"]
        assert f"nothing was run after the failure, {FAILS} with seed 0" in told


def test_fail_fast_says_how_many_seeds_were_not_run(tmp_path: Path) -> None:
    """A scenario of which some runs were made is not taken for a whole one."""
    code, found, _ = report(tmp_path, FAILS, "--seeds", "5", "--fail-fast")
    assert code == 1
    assert len(found["runs"]) == 1  # type: ignore[arg-type]
    assert "4 of its 5 runs were not made" in passed_over(found)[FAILS]


def test_fail_fast_goes_on_where_all_pass(tmp_path: Path) -> None:
    """Nothing is left out then."""
    code, found, _ = report(tmp_path, *PASSES, "-x")
    assert code == 0
    assert (scenarios(found), passed_over(found)) == ([*PASSES], {})


def test_fail_fast_does_not_stop_at_a_known_deviation(tmp_path: Path) -> None:
    """With a baseline it stops at what is new, as the exit code does."""
    process(tmp_path, "run", FAILS, *SUBJECT, "--json", "r.json")
    words = ("--reason", "known", "--owner", "me", "--expires", "2999-01-01")
    done = process(tmp_path, "baseline", "update", "known.yaml", "r.json", *words)
    assert done.returncode == 0, done.stderr
    code, found, _ = report(
        tmp_path, FAILS, "rate-limits/retry-after-zero", "-x", "--baseline", "known.yaml"
    )
    assert scenarios(found) == [FAILS, "rate-limits/retry-after-zero"]
    assert code == 0


def test_last_failed_runs_what_was_not_green_until_it_is(tmp_path: Path) -> None:
    """The other scenarios are named as not run, and a pass takes the record away."""
    code, _, _ = report(tmp_path, FAILS, *PASSES, "--seeds", "2")
    assert code == 1
    code, found, told = report(tmp_path, FAILS, *PASSES, "--last-failed")
    assert code == 1
    assert scenarios(found) == [FAILS]
    assert set(passed_over(found)) == {*PASSES}
    assert [run["seed"] for run in found["runs"]] == [0, 1]  # type: ignore[attr-defined]
    assert "--last-failed: 2 runs of 1 scenario failed or proved nothing: only these" in told
    record = json.loads((tmp_path / RECORD).read_text())
    record["failed"][0]["scenario"] = PASSES[0]
    (tmp_path / RECORD).write_text(json.dumps(record))
    code, found, _ = report(tmp_path, "--last-failed")
    assert (code, scenarios(found)) == (0, [PASSES[0]])
    assert json.loads((tmp_path / RECORD).read_text())["failed"] == []


def test_last_failed_finds_a_scenario_of_ones_own_without_its_path(tmp_path: Path) -> None:
    """What failed may be outside of what is run by default."""
    (tmp_path / "mine.yaml").write_text(
        "id: mine/one\ntitle: A title\nwhy: A reason\nprovider:\n  faults:\n"
        "    - id: limited\n      when: {attempts: 1}\n"
        "      then:\n"
        "        {kind: http_error, status: 429, error: rate_limit_exceeded,"
        " headers: {retry-after: '7'}}\n"
    )
    assert report(tmp_path, "mine.yaml")[0] == 1
    code, found, _ = report(tmp_path, "--last-failed")
    assert (code, scenarios(found)) == (1, ["mine/one"])


def test_last_failed_without_a_record_runs_everything_and_says_so(tmp_path: Path) -> None:
    """As pytest does: an empty selection never passes."""
    code, found, told = report(tmp_path, *PASSES, "--last-failed")
    assert (code, scenarios(found)) == (0, [*PASSES])
    assert "no failure is recorded for mini-common-ignores-retry-after: running everything" in told
    assert not (tmp_path / RECORD).exists()


def test_last_failed_says_where_the_failures_are_not_among_the_selected(tmp_path: Path) -> None:
    """Then all of the selection is run."""
    report(tmp_path, FAILS)
    code, found, told = report(tmp_path, PASSES[0], "--last-failed")
    assert (code, scenarios(found)) == (0, [PASSES[0]])
    assert "1 failure recorded, and none is in what is selected" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not JSON"),
        ("[]", "record of failures: "),
        ('{"format": 9}', "record of failures format 9 is newer than 2"),
        ('{"failed": [{}]}', "failed.0.subject: Field required"),
        (RECORDED % ('"\\ud800"', "0"), "failed.0.file: Input should be a valid string"),
        (RECORDED % ("null", "-7"), "failed.0.seeds.0"),
    ],
)
def test_a_damaged_record_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    """Code 2 for what asks for it."""
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text(text)
    done = process(tmp_path, "run", FAILS, *SUBJECT, "--last-failed")
    assert done.returncode == 2
    assert done.stderr.startswith(f"faultclock: {RECORD}: ")
    assert message in done.stderr
    assert "delete it, and run once without --last-failed" in done.stderr


def test_a_damaged_record_is_mended_by_the_next_run(tmp_path: Path) -> None:
    """One that does not ask for it writes a new one."""
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text("{")
    process(tmp_path, "run", FAILS, *SUBJECT)
    assert json.loads((tmp_path / RECORD).read_text())["failed"][0]["scenario"] == FAILS


def test_a_pipe_in_place_of_the_record_ends_no_run(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever."""
    (tmp_path / RECORD).parent.mkdir()
    os.mkfifo(tmp_path / RECORD)
    assert process(tmp_path, "run", FAILS, *SUBJECT).returncode == 1


def test_the_record_is_kept_out_of_repositories(tmp_path: Path) -> None:
    """Its folder ignores itself, and lies beside the configuration."""
    (tmp_path / "pyproject.toml").write_text('[tool.faultclock]\nmodel = "common"\n')
    (tmp_path / "below").mkdir()
    process(tmp_path / "below", "run", FAILS, *SUBJECT)
    folder = tmp_path / ".faultclock_cache"
    assert (folder / ".gitignore").read_text().endswith("*\n")
    assert not (tmp_path / "below" / ".faultclock_cache").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--last-failed", "--seed", "3"), "--last-failed does not go with --seed"),
        (("--last-failed", "--seeds", "3"), "--last-failed does not go with --seeds"),
        (("--last-failed", "--shard", "1/2"), "--last-failed does not go with --shard"),
        (("--exclude", "rate-limit"), "did you mean 'rate-limits'"),
        (("--exclude", "*"), "--exclude leaves nothing to run"),
        (("--exclude", "no-*-such"), "no scenario id matches 'no-*-such'"),
        (("--group-by", "colour"), "Invalid value for '--group-by'"),
    ],
)
def test_wrong_use_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    """Code 2, before anything runs."""
    monkeypatch.chdir(tmp_path)
    result = faultclock("run", *SUBJECT, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_what_is_excluded_is_not_run_and_is_named(tmp_path: Path) -> None:
    """By its id, its family, a pattern or its file; the report says that a person left it out."""
    (tmp_path / "own").mkdir()
    for name in ("slow-one", "quick"):
        (tmp_path / "own" / f"{name}.yaml").write_text(
            f"id: own/{name}\ntitle: A title\nwhy: A reason\n"
        )
    code, found, told = report(
        tmp_path,
        *("own", FAILS, PASSES[0], "--exclude", "*/slow-*"),
        *("--exclude", "rate-limits", "--exclude", PASSES[0]),
    )
    assert (code, scenarios(found)) == (0, ["own/quick"])
    assert passed_over(found) == {
        "own/slow-one": "left out by --exclude */slow-*",
        FAILS: "left out by --exclude rate-limits",
        PASSES[0]: f"left out by --exclude {PASSES[0]}",
    }
    assert f"    {FAILS}: left out by --exclude rate-limits" in told
    _, found, _ = report(tmp_path, "own", "--exclude", "own/quick.yaml")
    assert scenarios(found) == ["own/slow-one"]


def test_the_table_can_be_grouped(tmp_path: Path) -> None:
    """The column says by what."""
    done = process(tmp_path, "run", FAILS, *PASSES, *SUBJECT, "--group-by", "check")
    assert done.stdout.startswith("check ")
    assert "retries.floor" in done.stdout
