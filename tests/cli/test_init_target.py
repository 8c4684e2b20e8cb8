"""`init` with code that exists: configured as a healthy run shows it, and nothing else changes."""

from __future__ import annotations

import json
import os
import pty
import select
import sys
import tomllib
from pathlib import Path
from subprocess import Popen

import pytest

from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.cli.test_doctor import CLIENT

RETRIES = """
import email.utils, time, urllib.error

def wait_of(said, attempt):
    if said.isdigit():
        return float(said)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return 2.0**attempt

def patient(prompt):
    # Asks again after what may pass, as long as the provider says, and never in vain.
    for attempt in range(8):
        try:
            return ask(prompt)
        except urllib.error.HTTPError as error:
            body = error.read()
            if error.code not in (408, 409, 429) and error.code < 500 or b"quota" in body:
                raise
            said = error.headers.get("retry-after") or ""
        except (KeyError, IndexError, ValueError) as error:
            raise RuntimeError("the answer is none") from error
        except OSError:
            said = ""
        if attempt == 7:
            raise RuntimeError("asked eight times")
        time.sleep(wait_of(said, attempt))
"""
SUBJECT = "client.py:ask@openai-chat,no-streams,no-tools"
AGENT = """
from faultclock import runtime
from faultclock.subjects.clients.openai_agent import Agent

agent = runtime(id="mine", sessions=False)(Agent)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with one client in it."""
    (tmp_path / "client.py").write_text(CLIENT + RETRIES)
    return tmp_path


def table(folder: Path) -> dict[str, object]:
    """Return what is configured."""
    found: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]
    configured = found["faultclock"]
    assert isinstance(configured, dict)
    return configured


def test_the_users_own_function_is_what_is_configured(project: Path) -> None:
    """With the API that it speaks and what it never does; no file is written for it."""
    done = process(project, "init", "client.py:ask")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "client.py:ask: a blocking function of a prompt that speaks openai-chat\n"
        "  it never asks for a stream: what needs that is left out, by name (no-streams)\n"
    )
    assert done.stdout.endswith(
        "next:\n"
        "  faultclock check                   how good is its error handling?\n"
        "  faultclock run --html report.html  what does the gate see?\n"
    )
    assert table(project)["subject"] == SUBJECT
    assert (project / ".github/workflows/faultclock.yml").is_file()
    assert not list(project.glob("conformance/*.py"))


def test_a_client_that_never_streams_can_be_green(project: Path) -> None:
    """With the families that `init` configures; what was left out is in the report, with why."""
    assert process(project, "init", "client.py:patient", "--ci", "none").returncode == 0
    done = process(project, "run", "--json", "r.json", "-q")
    report = json.loads((project / "r.json").read_text())
    worse = {run["verdict"] for run in report["runs"]} & {"FAIL", "INCONCLUSIVE"}
    assert (worse, done.returncode) == (set(), 0), done.stdout
    left_out = {item["scenario"]: item["because"] for item in report["passed_over"]}
    assert left_out["rate-limits/limit-in-mid-stream"] == (
        "it is about streams, and by its own declaration the target never asks for a stream"
    )
    assert "rate-limits/limit-in-mid-stream" in done.stdout


def test_a_runtime_is_configured_with_what_its_decorator_does_not_say(tmp_path: Path) -> None:
    """What it says is not repeated; the scenario is one for its role."""
    (tmp_path / "agent.py").write_text(AGENT)
    done = process(tmp_path, "init", "agent.py:agent")
    assert done.returncode == 0, done.stderr
    assert table(tmp_path)["subject"] == "agent.py:agent@no-streams,no-approvals,no-cancels"
    scenario = tmp_path / "conformance/scenarios/first.scenario.yaml"
    assert "role: runtime" in scenario.read_text()


def test_the_scaffold_of_a_runtime_does_what_it_declares(tmp_path: Path) -> None:
    """It is green in all that `init` configures, and doctor confirms what it does and does not."""
    assert faultclock("init", str(tmp_path), "--role", "runtime", "--ci", "none").exit_code == 0
    done = process(tmp_path, "run", "--json", "r.json", "-q")
    assert done.returncode == 0, done.stdout
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert {run["verdict"] for run in runs} == {"PASS"}
    assert {run["scenario"] for run in runs} >= {"tools/not-found-is-told", "tools/loop-bound"}
    seen = process(tmp_path, "doctor", "conformance/agent.py:subject")
    assert seen.returncode == 0, seen.stdout
    assert "✓ tried: a tool that fails: the model gets the problem, and goes on" in seen.stdout
    assert "- not tried: a tool that needs a yes: it declares approvals=False" in seen.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.py:ask",), "gone.py: there is no such file"),
        (("client.py",), "write client.py:ask or client.py:patient"),
        (("client.py:ask", "--role", "tool"), "--client and --role are for a project without"),
        (("--dialect", "ollama"), "--as and --dialect are about a TARGET"),
    ],
    ids=["no-file", "no-name", "role", "no-target"],
)
def test_what_cannot_be_bound_writes_nothing(
    project: Path, words: tuple[str, ...], said: str
) -> None:
    """One message, exit code 2, and the folder is as it was."""
    done = process(project, "init", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert [path.name for path in project.iterdir() if path.name != "__pycache__"] == ["client.py"]


def test_what_does_not_work_when_nothing_goes_wrong_is_not_configured(tmp_path: Path) -> None:
    """A verdict on it would mean nothing."""
    (tmp_path / "client.py").write_text("def ask(prompt):\n    return 'canned'\n")
    done = process(tmp_path, "init", "client.py:ask")
    assert done.returncode == 2
    assert "it asks no model" in done.stderr
    assert not (tmp_path / "pyproject.toml").exists()


def test_a_table_gets_the_subject_and_keeps_the_rest(project: Path) -> None:
    """Comments, other keys and the mode of the file stay; no other file is written."""
    path = project / "pyproject.toml"
    before = '[tool.faultclock] # ours\nmodel = "stud-cli"\n\n[tool.x]\nsubject = 1\n'
    path.write_text(before)
    path.chmod(0o640)
    assert process(project, "init", "client.py:ask").returncode == 0
    line = f'subject = "{SUBJECT}"\n'
    assert path.read_text() == before.replace("# ours\n", f"# ours\n{line}")
    assert path.stat().st_mode & 0o777 == 0o640
    assert not (project / "conformance").exists()
    again = process(project, "init", "client.py:ask")
    assert again.returncode == 0
    assert "has that subject already: nothing to write" in again.stdout


def test_another_subject_is_replaced_only_by_force(project: Path) -> None:
    """The message says which line that would be."""
    path = project / "pyproject.toml"
    path.write_text('[tool.faultclock]\nsubject = "reference"\nmodel = "common"\n')
    refused = process(project, "init", "client.py:ask")
    assert refused.returncode == 2
    assert "has the subject reference already" in refused.stderr
    assert table(project)["subject"] == "reference"
    assert process(project, "init", "client.py:ask", "--force").returncode == 0
    assert table(project) == {"subject": SUBJECT, "model": "common"}


def test_a_file_that_is_there_is_left_as_it_is(project: Path) -> None:
    """And named; everything else is written."""
    job = project / ".gitlab-ci.yml"
    job.write_text("mine: {}\n")
    done = process(project, "init", "client.py:ask", "--ci", "gitlab")
    assert done.returncode == 0
    assert "left as it is: .gitlab-ci.yml\n" in done.stdout
    assert job.read_text() == "mine: {}\n"
    assert table(project)["subject"] == SUBJECT


def test_a_dry_run_shows_the_table_and_writes_nothing(project: Path) -> None:
    """What would be written is complete."""
    done = process(project, "init", "client.py:ask", "--dry-run")
    assert done.returncode == 0
    assert f'subject = "{SUBJECT}"' in done.stdout
    assert done.stdout.endswith("nothing was written: this was --dry-run\n")
    assert not (project / "pyproject.toml").exists()


def test_the_nearest_project_of_the_repository_is_configured(tmp_path: Path) -> None:
    """The path of the file is written as it is seen from there."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "client.py").write_text(CLIENT)
    done = process(folder, "init", "client.py:ask", "--ci", "none")
    assert done.returncode == 0, done.stderr
    assert table(tmp_path)["subject"] == f"src/{SUBJECT}"
    assert not (folder / "pyproject.toml").exists()


def test_a_module_is_configured_where_it_is_imported_from(tmp_path: Path) -> None:
    """From the folder above it could not be found."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "client.py").write_text(CLIENT)
    done = process(folder, "init", "client:ask", "--ci", "none")
    assert done.returncode == 0, done.stderr
    assert table(folder)["subject"] == SUBJECT.replace(".py", "")


def test_force_replaces_a_scaffold_and_keeps_other_tables(tmp_path: Path) -> None:
    """Files that a person asked to replace are replaced, and only those."""
    assert faultclock("init", str(tmp_path), "--client", "own").exit_code == 0
    adapter = tmp_path / "conformance/adapter.py"
    adapter.write_text("mine")
    other = tmp_path / "conformance/other.py"
    other.write_text("mine")
    assert faultclock("init", str(tmp_path), "--role", "tool").exit_code == 2
    done = faultclock("init", str(tmp_path), "--client", "own", "--force")
    assert done.exit_code == 0, done.output
    assert "provider_adapter" in adapter.read_text()
    assert other.read_text() == "mine"


def test_on_a_terminal_the_code_of_the_folder_is_offered(project: Path) -> None:
    """A number chooses it; what cannot be chosen is asked for once more."""
    parent, child = pty.openpty()
    words = [sys.executable, "-m", "faultclock.cli", "init", "--ci", "none"]
    running = Popen(words, cwd=project, stdin=child, stdout=child, stderr=child)
    os.close(child)
    os.write(parent, b"nine\n1\n")
    shown = b""
    while select.select([parent], [], [], 60)[0]:
        try:
            piece = os.read(parent, 4096)
        except OSError:
            break
        shown += piece
    assert running.wait(60) == 0, shown.decode()
    os.close(parent)
    text = shown.decode().replace("\r\n", "\n")
    assert "  1  client.py:ask      a blocking function of a prompt\n" in text
    assert "nine: write one of the numbers, or FILE.py:NAME" in text
    assert table(project)["subject"] == SUBJECT
