"""`faultclock import`, as a person and a build server meet it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.load.scenario import load_scenario
from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.recordings.planted import CASSETTES, ODD, leaks

GOOD = str(CASSETTES / "openai-chat" / "good.yaml")
SEVERAL = str(ODD / "several-sessions.yaml")


def files(folder: Path) -> list[str]:
    """Return the names of all files below `folder`, hidden ones too."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def run(scenarios: Path, report: Path) -> subprocess.CompletedProcess[str]:
    """Run scenarios against the reference, in a process of their own as a person does."""
    words = ["run", str(scenarios), "--subject", "reference", "--json", str(report), "-q"]
    return process(Path.cwd(), *words)


def test_a_recording_becomes_scenarios_that_load(tmp_path: Path) -> None:
    """One for each session, and each oddity with file and line."""
    done = faultclock("import", SEVERAL, "-o", str(tmp_path / "out"))
    assert done.exit_code == 0
    names = [f"several-sessions-{number}.yaml" for number in (1, 2, 3)]
    assert files(tmp_path / "out") == names
    for name in names:
        assert load_scenario(tmp_path / "out" / name).id == f"recorded/{name[:-5]}"
    assert f"{SEVERAL}:50: this is no provider that is known" in done.stdout
    assert "(POST localhost)" in done.stdout
    assert f"next: faultclock run {tmp_path / 'out'} --subject anthropic" in done.stdout
    assert f"next: faultclock run {tmp_path / 'out'} --subject openai-async" in done.stdout
    assert done.stdout.splitlines()[-1] == f"3 scenarios written to {tmp_path / 'out'}"


def test_all_our_recordings_at_once_let_no_secret_out(tmp_path: Path) -> None:
    """What is written, and the report in JSON, are searched for each planted one."""
    paths = [str(path) for path in sorted(CASSETTES.rglob("*.*"))]
    report = tmp_path / "report.json"
    done = faultclock("import", *paths, "-o", str(tmp_path / "out"), "--json", str(report), "-q")
    assert done.exit_code == 0
    written = [path.read_text("utf-8") for path in (tmp_path / "out").iterdir()]
    assert len(written) > len(paths)
    assert [leaks(text) for text in [*written, report.read_text("utf-8")]] == [[]] * (
        len(written) + 1
    )


def test_the_report_tells_files_scenarios_and_oddities(tmp_path: Path) -> None:
    """On standard output it stands alone."""
    done = faultclock("import", SEVERAL, "-o", str(tmp_path), "--json", "-")
    assert done.exit_code == 0
    (told,) = json.loads(done.stdout)["files"]
    assert (told["path"], told["exchanges"], told["left_out"]) == (SEVERAL, 7, 2)
    assert [item["exchanges"] for item in told["scenarios"]] == [3, 1, 1]
    assert told["oddities"][0].keys() == {"kind", "line", "column", "message"}
    assert all(Path(item["path"]).is_file() for item in told["scenarios"])


def test_below_scenarios_the_id_is_the_path(tmp_path: Path) -> None:
    """So that the loader takes it where it lies."""
    folder = tmp_path / "scenarios" / "incidents"
    assert faultclock("import", GOOD, "-o", str(folder)).exit_code == 0
    assert load_scenario(folder / "good.yaml").id == "incidents/good"


def test_a_folder_that_no_id_can_name_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    folder = tmp_path / "scenarios" / "My Incidents"
    done = faultclock("import", GOOD, "-o", str(folder))
    assert done.exit_code == 2
    assert "'My Incidents'" in done.stderr
    assert not folder.exists()


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    """Neither it nor the ones beside it; --force replaces them."""
    there = tmp_path / "several-sessions-2.yaml"
    there.write_text("mine", "utf-8")
    done = faultclock("import", SEVERAL, "-o", str(tmp_path))
    assert done.exit_code == 2
    assert f"{there}: this file is there already" in done.stderr
    assert "several-sessions-1.yaml" not in done.stdout
    assert files(tmp_path) == [there.name]
    assert there.read_text("utf-8") == "mine"
    assert faultclock("import", SEVERAL, "-o", str(tmp_path), "--force").exit_code == 0
    assert there.read_text("utf-8") != "mine"
    assert len(files(tmp_path)) == 3


def test_two_recordings_of_one_name_do_not_fall_on_each_other(tmp_path: Path) -> None:
    """Cassettes of two folders are often called alike."""
    for folder, name in (("a", "good.yaml"), ("b", "quota.yaml")):
        (tmp_path / folder).mkdir()
        content = (CASSETTES / "openai-chat" / name).read_bytes()
        (tmp_path / folder / "tape.yaml").write_bytes(content)
    paths = [str(tmp_path / folder / "tape.yaml") for folder in ("a", "b")]
    assert faultclock("import", *paths, "-o", str(tmp_path / "out")).exit_code == 0
    assert files(tmp_path / "out") == ["tape-file-2.yaml", "tape.yaml"]


def test_a_secret_in_a_name_that_two_recordings_have_is_taken_out(tmp_path: Path) -> None:
    """Also out of the name that the second one gets."""
    secret = "sk-proj-abcdefgh12345678"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{secret}.yaml").write_bytes(Path(GOOD).read_bytes())
    recordings = [str(tmp_path / folder / f"{secret}.yaml") for folder in ("a", "b")]
    done = faultclock("import", *recordings, "-o", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    written = list((tmp_path / "out").iterdir())
    assert len(written) == 2
    for path in written:
        assert "abcdefgh" not in path.name + path.read_text()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1:1: the file holds no recording"),
        (b"a: [1", ":2:1: this is no recording: the file cannot"),
        (b"just: a mapping\n", ":1:1: this is no recording"),
        (b"interactions: []\n", "nothing was written"),
        (b"\x89PNG\r\n\x1a\n\x00", ":1:1: "),
    ],
)
def test_what_cannot_be_imported_is_said_and_nothing_is_written(
    content: bytes, message: str, tmp_path: Path
) -> None:
    """Exit code 2, one message, no traceback, also for the good files beside it."""
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(content)
    done = faultclock("import", str(bad), "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert message in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_one_bad_file_keeps_the_others_from_being_written(tmp_path: Path) -> None:
    """All or nothing: a half of an import looks like a whole one."""
    bad = tmp_path / "bad.yaml"
    bad.write_text("x", "utf-8")
    done = faultclock("import", GOOD, str(bad), "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["missing.yaml", "."])
def test_a_file_that_cannot_be_read_is_said(path: str, tmp_path: Path) -> None:
    """Missing, or no file."""
    done = faultclock("import", path, "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert done.stderr.startswith(f"faultclock: {path}: ")


def test_a_folder_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """A file is in the way of the folder."""
    (tmp_path / "out").write_text("", "utf-8")
    done = faultclock("import", GOOD, "-o", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert files(tmp_path) == ["out"]


def test_the_help_says_what_happens_to_texts_and_secrets() -> None:
    """Nobody has to read the code before handing over a recording."""
    done = faultclock("import", "--help")
    assert done.exit_code == 0
    for word in ("--keep-texts", "length and digest", "replaced before anything is written"):
        assert word in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("recording", "number", "verdict"),
    [("ruby.yaml", "", "pass"), ("several-sessions.yaml", "-3", "pass")],
)
def test_what_was_imported_runs(recording: str, number: str, verdict: str, tmp_path: Path) -> None:
    """Against the reference, which conforms: a recorded incident is a scenario like any other."""
    out = tmp_path / "out"
    assert faultclock("import", str(ODD / recording), "-o", str(out)).exit_code == 0
    scenario = out / f"{recording.partition('.')[0]}{number}.yaml"
    report = tmp_path / "report.json"
    done = run(scenario, report)
    assert done.returncode == 0, done.stderr + done.stdout
    (one,) = json.loads(report.read_text("utf-8"))["runs"]
    assert one["verdict"].lower() == verdict


def test_every_recording_of_the_first_dialect_runs_to_its_verdict(tmp_path: Path) -> None:
    """No scenario that is imported is inconclusive for a subject that conforms."""
    out = tmp_path / "out"
    paths = [str(path) for path in sorted((CASSETTES / "openai-chat").iterdir())]
    paths += [str(ODD / "odd-bodies.yaml"), str(ODD / "browser.har"), SEVERAL]
    assert faultclock("import", *paths, "-o", str(out)).exit_code == 0
    (out / "several-sessions-2.yaml").unlink()
    report = tmp_path / "report.json"
    done = run(out, report)
    verdicts = {
        one["scenario"]: one["verdict"] for one in json.loads(report.read_text("utf-8"))["runs"]
    }
    assert set(verdicts.values()) == {"PASS"}, (verdicts, done.stderr)
