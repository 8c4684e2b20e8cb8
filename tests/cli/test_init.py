"""`init`: a project that runs at once, or one that is as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner

from faultclock.cli import init, placing
from faultclock.load.config import find_config
from faultclock.render.scaffold import CLIENTS
from tests.cli.command_line import faultclock
from tests.cli.scaffolds import ROLES, SUMMARY

JOBS = {"github": ".github/workflows/faultclock.yml", "gitlab": ".gitlab-ci.yml"}
#: The first scenario of a client is a 429 with two seconds to wait: one without retries gets a
#: warning. The first one of a store is a power failure, and a plain store loses a session in it.
WARNED = {"google-genai", "httpx2", "requests", "own"}
FAILING = {"session-store"}


def files(folder: Path) -> dict[str, bytes]:
    """Return all that lies below a folder, by path; a folder has no bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def test_each_scaffold_runs_as_its_job_runs_it(tmp_path: Path) -> None:
    """A verdict, never an inconclusive run: the fault of the first scenario was met by all."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.scaffolds", str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    codes = {name: tuple(result) for name, result in json.loads(done.stdout).items()}
    assert set(codes) == {*CLIENTS, *ROLES}
    for name, (code, output) in codes.items():
        verdict = "fail" if name in FAILING else "warning" if name in WARNED else "pass"
        assert code == (1 if name in FAILING else 0), (name, output)
        assert f": 1 run, 1 {verdict} " in output, (name, output)
        written = {path.name for path in (tmp_path / name).glob("reports/*")}
        assert {"faultclock.html", "faultclock.xml"} <= written, name
    assert "own/limited-for-two-seconds" in (tmp_path / "own" / SUMMARY).read_text()


def test_a_project_has_all_that_a_run_needs_afterwards(tmp_path: Path) -> None:
    """The table names files that are there, and the scenario is one."""
    done = faultclock("init", str(tmp_path), "--client", "own")
    assert done.exit_code == 0, done.output
    assert sorted(path for path, text in files(tmp_path).items() if text) == [
        JOBS["github"],
        "conformance/adapter.py",
        "conformance/scenarios/first.scenario.yaml",
        "pyproject.toml",
    ]
    found = find_config(tmp_path)
    assert found is not None
    assert found[0].subject == "conformance/adapter.py:subject"
    assert found[0].scenarios == ("conformance/scenarios", "rate-limits")
    assert faultclock("validate", str(tmp_path / "conformance/scenarios")).exit_code == 0
    assert done.output.splitlines()[-4:-3] == [f"  cd {tmp_path}"]


@pytest.mark.parametrize(("job", "schema"), [("github", "workflows"), ("gitlab", "ci")])
def test_the_job_is_one_by_the_schema_of_its_server(tmp_path: Path, job: str, schema: str) -> None:
    """Checked as a person would check it, with check-jsonschema."""
    assert faultclock("init", str(tmp_path), "--role", "tool", "--ci", job).exit_code == 0
    words = ["--builtin-schema", f"vendor.{job}-{schema}", str(tmp_path / JOBS[job])]
    done = CliRunner().invoke(check_jsonschema, words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("before", "installs"),
    [
        ({"pyproject.toml": '[project]\nname = "mine"\n'}, ". 'faultclock[openai]'"),
        ({"requirements.txt": "openai\n"}, "-r requirements.txt 'faultclock[openai]'"),
        ({}, "'faultclock[openai]'"),
    ],
    ids=["package", "requirements", "bare"],
)
def test_the_job_installs_the_project_too(
    tmp_path: Path, before: dict[str, str], installs: str
) -> None:
    """What is under test imports the project, if it is one that can be installed."""
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    assert faultclock("init", str(tmp_path), "--client", "openai").exit_code == 0
    assert f"run: python -m pip install {installs}\n" in (tmp_path / JOBS["github"]).read_text()


@pytest.mark.parametrize(
    "before",
    [
        b'[project]\nname = "mine"  # ours\n\n[tool.ruff]\nline-length = 100\n',
        b'[project]\r\nname = "mine"\r\n[tool.x.y]\r\nz = 1',
        b"",
        b"# nothing yet\n",
    ],
    ids=["usual", "crlf-and-no-last-newline", "empty", "comment"],
)
def test_a_pyproject_keeps_every_byte_and_its_mode(tmp_path: Path, before: bytes) -> None:
    """The table is added at the end of the same file."""
    path = tmp_path / "pyproject.toml"
    path.write_bytes(before)
    path.chmod(0o640)
    assert faultclock("init", str(tmp_path), "--client", "own").exit_code == 0
    after = path.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\r\n") == (after.count(b"\n") if b"\r\n" in before else 0)
    tables = tomllib.loads(after.decode())
    assert tables["tool"].pop("faultclock")["model"] == "common"
    assert (tables | ({} if tables["tool"] else {"tool": None})).items() >= tomllib.loads(
        before.decode()
    ).items()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (
            {"conformance/adapter.py": "mine"},
            "adapter.py: this file is there already, and nothing was written\n  move it away",
        ),
        ({JOBS["gitlab"]: "mine"}, "--ci none leaves it as it is"),
        ({"conformance": "mine"}, "a file is where the folder should be"),
        ({"pyproject.toml": "[tool.faultclock]\n"}, "it has a [tool.faultclock] already"),
        ({"pyproject.toml": "[tool"}, "this is no TOML: "),
        ({"pyproject.toml": "tool = {a = 1}\n"}, "a table cannot be added at its end"),
        ({"pyproject.toml": "tool = 1\n"}, "a table cannot be added at its end"),
        ({"pyproject.toml": "[[tool]]\na = 1\n"}, "a table cannot be added at its end"),
    ],
    ids=["adapter", "job", "folder", "table", "broken", "inline", "number", "array"],
)
def test_what_is_there_is_never_touched(tmp_path: Path, before: dict[str, str], said: str) -> None:
    """Exit code 2, a sentence that says why, and not one file or folder more."""
    for name, text in before.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    was = files(tmp_path)
    done = faultclock("init", str(tmp_path), "--client", "own", "--ci", "gitlab")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert files(tmp_path) == was


def test_a_dry_run_shows_every_file_and_writes_none(tmp_path: Path) -> None:
    """Also the folder of the project itself is not made."""
    root = tmp_path / "new"
    done = faultclock("init", str(root), "--role", "session-store", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "--- conformance/store.py\n" in done.output
    assert "--- pyproject.toml\n[tool.faultclock]\n" in done.output
    assert done.output.endswith("nothing was written: this was --dry-run\n")
    assert not root.exists()


def test_a_client_is_for_an_adapter_only(tmp_path: Path) -> None:
    """A tool asks no provider, so nobody can mean both."""
    done = faultclock("init", str(tmp_path), "--client", "openai", "--role", "tool")
    assert done.exit_code == 2
    assert "--client is for provider adapters" in done.stderr


def test_what_is_not_installed_is_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any client the standard library is bound; one that is asked for has to be got."""
    monkeypatch.setattr(init, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    done = faultclock("init", "--client", "anthropic")
    assert "  pip install 'faultclock[anthropic]' " in done.output
    done = faultclock("init", "bare")
    assert "pip install" not in done.output
    assert "urllib" in (tmp_path / "bare/conformance/adapter.py").read_text()


@pytest.mark.parametrize("number", range(1, 5))
def test_what_fails_in_the_middle_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Three new files, and at last pyproject.toml, which is there: none is opened but to write."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    was = files(tmp_path)
    opened = []

    class Full(type(tmp_path)):  # type: ignore[misc]
        def open(self, *words: object, **options: object) -> object:
            opened.append(self)
            if len(opened) == number:
                raise OSError(28, "No space left on device")
            return super().open(*words, **options)

    monkeypatch.setattr(init, "Path", Full)
    done = faultclock("init", str(tmp_path), "--client", "own")
    assert done.exit_code == 2, done.output
    assert "No space left on device\n  nothing was written" in done.stderr
    assert files(tmp_path) == was


def test_a_file_that_somebody_made_meanwhile_is_kept(tmp_path: Path) -> None:
    """What was looked for before is looked for again when it is written."""
    (tmp_path / "b.txt").write_bytes(b"theirs")
    with pytest.raises(placing.InputError, match=r"b\.txt: cannot be written"):
        placing.add_all(tmp_path, {"new/a.txt": "a", "b.txt": "ours"}, appended=None)
    assert files(tmp_path) == {"b.txt": b"theirs"}


def test_an_append_that_comes_up_short_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a table would be worse than none."""
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"a = 1\n")
    new = {"new/file": "text"}

    class Short:
        """A text whose UTF-8 is said to be longer than what a disk takes."""

        def encode(self, _: str) -> bytes:
            return LongBytes(b"b = 2\n")

    class LongBytes(bytes):
        def __len__(self) -> int:
            return super().__len__() + 1

    with pytest.raises(placing.InputError, match="the disk is full"):
        placing.add_all(tmp_path, new, appended=(path, Short()))  # type: ignore[arg-type]
    assert files(tmp_path) == {"pyproject.toml": b"a = 1\n"}


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_configuration_that_never_ends_is_refused(tmp_path: Path, kind: str) -> None:
    """A pipe or a link to a device where the file should be."""
    path = tmp_path / "pyproject.toml"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/full")
    result = faultclock("init", str(tmp_path))
    assert result.exit_code == 2, result.output
    assert "this is a folder or a device, not a file" in result.stderr
