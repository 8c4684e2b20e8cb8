"""`faultclock import`, as a person and a build server meet it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from faultclock.load.scenario import load_scenario
from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.recordings.planted import CASSETTES, ODD, leaks

GOOD = str(CASSETTES / "openai-chat" / "good.yaml")
SEVERAL = str(ODD / "several-sessions.yaml")


def digits(path: str | Path) -> str:
    """Return the first digits of a recording's digest, with which names end."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:6]


def files(folder: Path) -> list[str]:
    """Return the names of all files below `folder`, hidden ones too."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def run(scenarios: Path, report: Path) -> subprocess.CompletedProcess[str]:
    """Run scenarios against the reference, in a process of their own as a person does."""
    words = ["run", str(scenarios), "--subject", "reference-common", "--json", str(report), "-q"]
    return process(Path.cwd(), *words)


def test_a_recording_becomes_scenarios_that_load(tmp_path: Path) -> None:
    """One for each session, and each oddity with file and line."""
    done = faultclock("import", SEVERAL, "-o", str(tmp_path / "out"))
    assert done.exit_code == 0
    names = [f"several-sessions-{digits(SEVERAL)}-{number}.yaml" for number in (1, 2, 3)]
    assert files(tmp_path / "out") == names
    for name in names:
        assert load_scenario(tmp_path / "out" / name).id == f"recorded/{name[:-5]}"
    assert f"{SEVERAL}:50: this host is not a known provider" in done.stdout
    assert "(POST localhost)" in done.stdout
    assert f"next: faultclock run {tmp_path / 'out'} --subject anthropic" in done.stdout
    assert f"next: faultclock run {tmp_path / 'out'} --subject openai-async" in done.stdout
    assert done.stdout.splitlines()[-1] == f"3 scenarios written to {tmp_path / 'out'}"


def test_what_to_run_next_names_ones_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The subject of the configuration, as it is seen from here, and no shipped client."""
    (tmp_path / "pyproject.toml").write_text('[tool.faultclock]\nsubject = "src/client.py:ask"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    done = faultclock("import", GOOD, "-o", "out")
    told = [line for line in done.stdout.splitlines() if line.startswith("next: ")]
    assert told == [
        "next: faultclock run out --subject ../src/client.py:ask",
        "next: faultclock explore out --subject ../src/client.py:ask --vary-everything",
    ]
    (tmp_path / "pyproject.toml").write_text("[tool.faultclock]\nsubject = 1\n")
    done = faultclock("import", GOOD, "-o", "again")
    assert done.exit_code == 0
    assert "next: faultclock run again --subject openai-async" in done.stdout
    assert "with your own code: --subject path/to/file.py:name" in done.stdout


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
    name = f"good-{digits(GOOD)}"
    assert load_scenario(folder / f"{name}.yaml").id == f"incidents/{name}"


def test_a_folder_that_no_id_can_name_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    folder = tmp_path / "scenarios" / "My Incidents"
    done = faultclock("import", GOOD, "-o", str(folder))
    assert done.exit_code == 2
    assert "'My Incidents'" in done.stderr
    assert not folder.exists()


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path: Path) -> None:
    """Neither it nor the ones beside it; --force replaces what came of the same recording."""
    assert faultclock("import", SEVERAL, "-o", str(tmp_path)).exit_code == 0
    there = tmp_path / f"several-sessions-{digits(SEVERAL)}-2.yaml"
    imported = there.read_text("utf-8")
    there.write_text(f"{imported}# changed by hand\n", "utf-8")
    done = faultclock("import", SEVERAL, "-o", str(tmp_path))
    assert done.exit_code == 2
    assert "-1.yaml: this file is there already" in done.stderr
    assert there.read_text("utf-8").endswith("by hand\n")
    assert faultclock("import", SEVERAL, "-o", str(tmp_path), "--force").exit_code == 0
    assert there.read_text("utf-8") == imported


@pytest.mark.parametrize(
    "content", ["mine", "# Imported from x (sha256 0123456789abcdef)\nid: x\n"]
)
def test_force_replaces_nothing_of_another_source(content: str, tmp_path: Path) -> None:
    """A file of a person, or of another recording, stays, and so do those beside it."""
    there = tmp_path / f"several-sessions-{digits(SEVERAL)}-2.yaml"
    there.write_text(content, "utf-8")
    done = faultclock("import", SEVERAL, "-o", str(tmp_path), "--force")
    assert done.exit_code == 2
    assert f"was not imported from {SEVERAL}: --force does not replace it" in done.stderr
    assert files(tmp_path) == [there.name]
    assert there.read_text("utf-8") == content


def test_long_names_that_begin_alike_do_not_fall_on_each_other(tmp_path: Path) -> None:
    """A name is cut where it is too long for an id, and the digest of the recording stays."""
    for number, name in enumerate(("good.yaml", "quota.yaml")):
        content = (CASSETTES / "openai-chat" / name).read_bytes()
        path = tmp_path / f"{'a-test-of-many-words-' * 5}{number}.yaml"
        path.write_bytes(content)
        assert faultclock("import", str(path), "-o", str(tmp_path / "out")).exit_code == 0
    names = files(tmp_path / "out")
    assert len(names) == 2
    assert max(map(len, names)) == len("x" * 60 + ".yaml")


def test_two_recordings_of_one_name_do_not_fall_on_each_other(tmp_path: Path) -> None:
    """Cassettes of two folders are often called alike; the same one twice is imported once."""
    for folder, name in (("a", "good.yaml"), ("b", "quota.yaml"), ("c", "good.yaml")):
        (tmp_path / folder).mkdir()
        content = (CASSETTES / "openai-chat" / name).read_bytes()
        (tmp_path / folder / "tape.yaml").write_bytes(content)
    paths = [str(tmp_path / folder / "tape.yaml") for folder in ("a", "b", "c")]
    done = faultclock("import", *paths, "-o", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert f"{paths[2]}: the same recording as {paths[0]}" in done.stdout.replace("\n", "")
    assert files(tmp_path / "out") == sorted(f"tape-{digits(path)}.yaml" for path in paths[:2])


def test_a_secret_in_a_name_that_two_recordings_have_is_taken_out(tmp_path: Path) -> None:
    """Also out of the name that the second one gets."""
    secret = "sk-proj-abcdefgh12345678"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        content = Path(GOOD).read_bytes() + b"# " + folder.encode()
        (tmp_path / folder / f"{secret}.yaml").write_bytes(content)
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
        (b"a: [1", ":2:1: this is not a recording: the file cannot"),
        (b"just: a mapping\n", ":1:1: this is not a recording"),
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


def test_only_what_failed_is_written_where_that_is_asked_for(tmp_path: Path) -> None:
    """A recording in which nothing failed gives nothing, and it is said why."""
    out = str(tmp_path / "out")
    done = faultclock("import", GOOD, "-o", out, "--errors-only")
    assert done.exit_code == 2
    assert "there is no exchange with a provider that failed" in done.stderr
    quota = str(CASSETTES / "openai-chat" / "quota.yaml")
    assert faultclock("import", GOOD, quota, "-o", out, "--errors-only").exit_code == 0
    assert files(tmp_path / "out") == [f"quota-{digits(quota)}.yaml"]


def test_each_session_is_written_for_runtimes_as_well(tmp_path: Path) -> None:
    """Beside the one for adapters, under the same name with another end."""
    quota = str(CASSETTES / "openai-chat" / "quota.yaml")
    assert faultclock("import", quota, "-o", str(tmp_path), "--for-runtimes").exit_code == 0
    name = f"quota-{digits(quota)}"
    assert files(tmp_path) == [f"{name}-runtime.yaml", f"{name}.yaml"]
    assert load_scenario(tmp_path / f"{name}-runtime.yaml").role == "runtime"


def test_stubs_without_a_host_speak_the_api_that_is_named(tmp_path: Path) -> None:
    """A path alone fits several; a name that no API has is refused before anything is read."""
    stubs = str(CASSETTES / "formats" / "wiremock.json")
    assert (
        faultclock("import", stubs, "-o", str(tmp_path), "--dialect", "openai-chat").exit_code == 0
    )
    (name,) = files(tmp_path)
    assert load_scenario(tmp_path / name).provider.dialect == "openai-chat"
    done = faultclock("import", stubs, "-o", str(tmp_path), "--dialect", "klingon")
    assert done.exit_code == 2
    assert "klingon" in done.stderr


@pytest.mark.parametrize(
    ("recording", "number", "verdict"),
    [("ruby.yaml", "", "pass"), ("several-sessions.yaml", "-3", "pass")],
)
def test_what_was_imported_runs(recording: str, number: str, verdict: str, tmp_path: Path) -> None:
    """Against the reference, which conforms: a recorded incident is a scenario like any other."""
    out = tmp_path / "out"
    assert faultclock("import", str(ODD / recording), "-o", str(out)).exit_code == 0
    scenario = out / f"{Path(recording).stem}-{digits(ODD / recording)}{number}.yaml"
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
    (out / f"several-sessions-{digits(SEVERAL)}-2.yaml").unlink()
    report = tmp_path / "report.json"
    done = run(out, report)
    verdicts = {
        one["scenario"]: one["verdict"] for one in json.loads(report.read_text("utf-8"))["runs"]
    }
    assert set(verdicts.values()) == {"PASS"}, (verdicts, done.stderr)
