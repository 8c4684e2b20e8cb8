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
