"""What is said of a target by options, in every command that takes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faultclock.cli.target_options import speaking
from tests.cli.command_line import faultclock
from tests.cli.process import process

CLAUDE = """
import json, urllib.request
from faultclock import provider_adapter

@provider_adapter
def subject(request):
    body = {"model": request.model, "max_tokens": 9, "messages": request.messages}
    asked = urllib.request.Request(
        "https://api.anthropic.com/v1/messages",
        json.dumps(body).encode(),
        {"x-api-key": "k", "anthropic-version": "2023-06-01", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)["content"][0]["text"]
"""


def test_a_dialect_is_said_of_a_subject_that_declares_none(tmp_path: Path) -> None:
    """The run is played in it, and the command that shows it again says so."""
    (tmp_path / "claude.py").write_text(CLAUDE)
    words = ("run", "rate-limits/retry-after-integer", "--subject", "claude.py:subject")
    done = process(
        tmp_path, *words, "--dialect", "anthropic-messages", "--json", "report.json", "-q"
    )
    assert done.returncode == 0, done.stderr
    (run,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert "--subject claude.py:subject@anthropic-messages" in run["replay"]
    without = process(tmp_path, *words, "-q")
    assert without.returncode == 3, without.stdout


@pytest.mark.parametrize("command", ["run", "explore"])
def test_a_dialect_without_a_subject_is_refused(command: str) -> None:
    """There is nothing that could speak it."""
    done = faultclock(command, "rate-limits", "--dialect", "ollama")
    assert done.exit_code == 2
    assert "--dialect is about the subject: name one" in done.stderr


def test_a_target_of_which_nothing_is_said_stays_as_it_was_typed() -> None:
    """Also one that no command understands: the message is about what was typed."""
    assert speaking("a.py:b@", None) == "a.py:b@"
    assert speaking("a.py:b", "ollama", "messages") == "a.py:b@messages,ollama"


ASKING = """
import json, urllib.request

def ask(prompt):
    urllib.request.urlopen("https://flags.example.com/new-model", timeout=5).read()
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": prompt}]}
    asked = urllib.request.Request(
        "https://api.openai.com/v1/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": "Bearer k", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]
"""
HOSTS = """services:
  - host: flags.example.com
    answers: [{request: GET /new-model, body: "no"}]
"""


def test_other_hosts_are_said_of_a_subject(tmp_path: Path) -> None:
    """The run is played with them, and the command that shows it again names the file."""
    (tmp_path / "client.py").write_text(ASKING)
    (tmp_path / "hosts.yaml").write_text(HOSTS)
    words = ("run", "rate-limits/retry-after-integer", "--subject", "client.py:ask", "-q")
    done = process(tmp_path, *words, "--services", "hosts.yaml", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads((tmp_path / "report.json").read_text())["runs"]
    assert run["ending"] == "completed"
    assert "--subject client.py:ask@services=hosts.yaml" in run["replay"]
    assert len(run["calls"][0]["attempts"]) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "hosts.yaml"),
        (HOSTS.replace("answers", "anwsers"), "hosts.yaml:3:5"),
        ("hosts: []\n", "this is not a recording"),
    ],
    ids=["no file", "a wrong key", "something else"],
)
def test_a_wrong_file_of_hosts_is_refused(content: str | None, said: str, tmp_path: Path) -> None:
    """Before anything runs, with the place of the mistake."""
    (tmp_path / "client.py").write_text(ASKING)
    if content is not None:
        (tmp_path / "hosts.yaml").write_text(content)
    done = process(tmp_path, "check", "client.py:ask", "--services", "hosts.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


AGENT = """
from pydantic_ai import Agent

agent = Agent("openai-chat:gpt-5.2")


@agent.tool_plain
def divide_by(number: int) -> float:
    return 1 / number
"""


def test_tools_that_only_read_are_said_of_a_subject(tmp_path: Path) -> None:
    """On the command line and in pyproject.toml; the command that shows a run again says it."""
    (tmp_path / "mine.py").write_text(AGENT)
    words = ("check", "mine.py:agent", "--only", "shared/tool-fails", "--fail-on", "never")
    done = process(tmp_path, *words, "--reads", "divide_by", "--json", "check.json")
    assert done.returncode == 0, done.stderr
    assert "its own tools are divide_by (only reads)" in " ".join(done.stdout.split())
    assert "--reads divide_by" in done.stdout.rpartition("next")[2]
    (run,) = json.loads((tmp_path / "check.json").read_text())["report"]["runs"]
    assert "--subject mine.py:agent@reads=divide_by" in run["replay"]
    (tmp_path / "pyproject.toml").write_text('[tool.faultclock]\nreads = ["divide_by"]\n')
    done = process(tmp_path, *words)
    assert "gives --reads divide_by" in done.stderr
    assert "divide_by (only reads)" in " ".join(done.stdout.split())


def test_a_tool_that_only_reads_has_a_name_that_a_target_can_hold() -> None:
    """Several may be given with commas; what has a space is none."""
    said = speaking("a.py:agent", None, reads=("one,two", "one"))
    assert said == "a.py:agent@reads=one,reads=two"
    done = faultclock("check", "a.py:agent", "--reads", "one two")
    assert done.exit_code == 2
    assert "'one two' is no name of a tool" in done.stderr
    assert faultclock("run", "shared", "--reads", "one").exit_code == 2
