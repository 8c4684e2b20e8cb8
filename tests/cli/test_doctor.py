"""`doctor` finds what would spoil every run."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from faultclock.cli.doctor import Line, installation
from faultclock.run.process import confinement
from tests.cli.command_line import faultclock
from tests.cli.process import process


def found(text: str) -> Line:
    """Return the line that speaks of `text`; what comes behind it is not looked at."""
    return next(line for line in installation() if text in line.text)


@pytest.fixture
def one_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have one error model shipped: to check all of them takes a second or two."""
    monkeypatch.setattr("faultclock.load.error_model.model_ids", lambda: ("common",))


def test_this_installation_is_sound() -> None:
    """Versions, shipped files and subjects are named."""
    result = faultclock("doctor")
    assert result.exit_code == 0, result.stdout
    for text in ("Python 3.", "pydantic ", "shipped scenarios", "6 shipped error models\n"):
        assert text in result.stdout
    assert result.stdout.endswith(
        "Nothing to mend in what was tried: Python, the libraries, the shipped files.\n"
        "Not tried: any target: name one to try it.\n"
    )


@pytest.mark.parametrize(
    ("supported", "mark", "text"),
    [
        (frozenset({"filter", "reports"}), "✓", "names it"),
        (frozenset({"filter"}), "✓", "cannot name the call"),
        (frozenset(), "!", "a run is not confined"),
    ],
)
def test_what_confines_a_run_here_is_found_out_by_a_process(
    supported: frozenset[str], mark: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel decides, and a container may have another one than the image was made on."""
    assert found("in Python a run opens no real socket").mark == "✓"
    if "reports" not in supported:
        monkeypatch.setattr(confinement, "_NEW_LISTENER", 1 << 30)
    if "filter" not in supported:
        monkeypatch.setattr(confinement, "_MACHINE", None)
    line = found("below Python")
    assert line.mark == mark
    assert text in line.text


@pytest.mark.usefixtures("one_model")
def test_what_is_noted_is_not_nothing_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line with a `!` is counted in the last sentence."""
    monkeypatch.setattr(confinement, "_MACHINE", None)
    result = faultclock("doctor")
    assert result.exit_code == 0
    assert "\n1 to look at. Tried: Python" in result.stdout


@pytest.mark.usefixtures("one_model")
def test_a_missing_dependency_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it, and code 1."""
    version = metadata.version

    def lacking(name: str) -> str:
        if name == "simpy":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lacking)
    assert found("simpy").mark == "✗"
    result = faultclock("doctor")
    assert result.exit_code == 1
    assert "✗ simpy is not installed\n    pip install faultclock" in result.stdout


@pytest.mark.usefixtures("one_model")
def test_subjects_without_their_library_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries are extras, so that is no fault; the line says what to install."""
    monkeypatch.setattr("faultclock.subjects.registry.missing", lambda needs: needs)
    line = found("cannot run here")
    assert line.mark == "-"
    assert "openai-async" in line.text
    assert line.hint is not None
    assert line.hint.startswith("pip install 'faultclock[")
    assert "openai" in line.hint


CLIENT = """
import json, urllib.request

def ask(prompt):
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": prompt}]}
    asked = urllib.request.Request(
        "https://api.openai.com/v1/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": "Bearer key", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=10) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]
"""


def test_a_target_is_named_as_for_check(tmp_path: Path) -> None:
    """Nothing is said to be well that was not tried, and the last line says what to do next."""
    (tmp_path / "client.py").write_text(CLIENT)
    done = process(tmp_path, "doctor", "client.py:ask")
    assert done.returncode == 0, done.stderr
    assert "✓ client:ask: a blocking function of a prompt that speaks openai-chat\n" in done.stdout
    assert "- not tried: a streamed answer: it never asks for a stream" in done.stdout
    assert done.stdout.endswith(
        "Nothing to mend in what was tried: a plain answer, an error.\n"
        "Not tried: a streamed answer.\n"
        "Whether its error handling is any good: faultclock check client.py:ask\n"
    )
    assert "all is well" not in done.stdout


def test_a_dialect_can_be_said_of_a_target(tmp_path: Path) -> None:
    """Of a wrong one, the line shows what the code asks."""
    (tmp_path / "client.py").write_text(CLIENT)
    done = process(tmp_path, "doctor", "client.py:ask", "--dialect", "anthropic-messages")
    assert done.returncode == 1
    assert "that speaks anthropic-messages" in done.stdout
    assert "✗ tried: a plain answer: nothing goes wrong, and it raises" in done.stdout
    assert "2 to mend. Tried: a plain answer, a streamed answer.\n" in done.stdout
    assert faultclock("doctor", "--dialect", "ollama").exit_code == 2
