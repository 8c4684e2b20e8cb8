"""`--python` carries the whole command out with another interpreter, or says why it cannot."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import faultclock as package
from faultclock.cli import elsewhere
from tests.cli.command_line import faultclock

REAL_TIME = re.compile(r"(?<= in )[0-9.]+ m?s")
TARGET = """
from openai import OpenAI

def ask(prompt):
    client = OpenAI(max_retries=0)
    message = {"role": "user", "content": prompt}
    done = client.chat.completions.create(model="gpt-5.2", messages=[message])
    return done.choices[0].message.content
"""


def script(folder: Path, text: str) -> Path:
    """Return a program that a shell runs."""
    made = folder / "python"
    made.write_text(f"#!/bin/sh\n{text}\n")
    made.chmod(0o755)
    return made


def there(folder: Path) -> Path:
    """Return another way to start this Python, which notes how it was started."""
    return script(folder, f'echo "$*" >> "{folder}/started"\nexec "{sys.executable}" "$@"')


def carried_out(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-m", "faultclock.cli", *words],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
    )


def test_a_command_has_the_output_and_the_exit_code_of_the_other_interpreter(
    tmp_path: Path,
) -> None:
    """The commands that show a run again name it, too, so that they can be copied."""
    (tmp_path / "mine.py").write_text(TARGET)
    python = there(tmp_path)
    words = ("run", "rate-limits/retry-after-integer", "--subject", "mine.py:ask", "--quiet")
    words = (*words, "--model", "stud-cli")
    done = carried_out(tmp_path, *words, "--python", str(python))
    assert done.returncode == 1, done.stderr
    assert "mine:ask against stud-cli: 1 run, 1 fail" in done.stdout
    assert f"--seed 0 --seeds 1 --python {python}" in done.stdout
    started = (tmp_path / "started").read_text().splitlines()
    assert started[-1] == f"-P -m faultclock.cli {' '.join(words)} --python {python}"
    again = carried_out(tmp_path, *words)
    shown = done.stdout.replace(f" --python {python}", "")
    assert REAL_TIME.sub("", again.stdout) == REAL_TIME.sub("", shown)


def test_a_process_started_by_a_command_that_was_carried_out_can_carry_out_another(
    tmp_path: Path,
) -> None:
    """What marks it as the one that was asked for is taken away as soon as it is read."""
    python = there(tmp_path)
    done = carried_out(tmp_path, "doctor", "--python", str(python))
    assert done.returncode == 0, done.stderr
    asked, became = (tmp_path / "started").read_text().splitlines()
    assert asked.startswith("-c ")
    assert became == f"-P -m faultclock.cli doctor --python {python}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo 3 9", "is Python 3.9, and Faultclock needs 3.11"),
        ("echo 3 13; echo 9.9.9", f"has Faultclock 9.9.9, and this is {package.__version__}"),
        (
            "echo 3 13; echo \"ModuleNotFoundError: No module named 'faultclock'\" >&2; exit 1",
            "has no Faultclock (ModuleNotFoundError: No module named 'faultclock')",
        ),
        ("exit 0", "is no Python: it did not say its version"),
        ("echo hello", "is no Python: it did not say its version"),
    ],
)
def test_an_interpreter_that_cannot_do_it_is_refused_before_anything_runs(
    tmp_path: Path, text: str, said: str
) -> None:
    """Where the same Faultclock is missing, the message has the command that installs it."""
    python = script(tmp_path, text)
    result = faultclock("check", "mine.py:ask", "--python", str(python))
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    has_python = "3 13" in text
    assert (f"{python} -m pip install " in result.stderr.replace("\n  ", " ")) is has_python


def test_what_is_no_program_is_named(tmp_path: Path) -> None:
    """Of the folder of an environment, the message has the Python in it."""
    (tmp_path / "agent.py").touch()
    environment = tmp_path / "my env"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").touch()
    said = {
        "no-such-python": "there is no program no-such-python",
        "": "the name is empty",
        str(tmp_path / "agent.py"): "is a file that cannot be executed",
        str(tmp_path): "is a folder, and no Python",
        str(environment): f"--python '{environment}/bin/python'",
    }
    for name, words in said.items():
        result = faultclock("doctor", "--python", name)
        assert result.exit_code == 2
        assert words.replace(" ", "") in "".join(result.stderr.split())


def test_a_checkout_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release is installed by its version."""

    class Installed:
        def __init__(self, text: str | None) -> None:
            self.text = text

        def read_text(self, name: str) -> str | None:
            return self.text

    for text, wanted in (
        ('{"url": "file:///home/me/fault%20clock", "dir_info": {}}', "/home/me/fault clock"),
        (None, f"faultclock=={package.__version__}"),
    ):
        monkeypatch.setattr(
            elsewhere.metadata, "distribution", lambda name, text=text: Installed(text)
        )
        assert elsewhere._requirement() == wanted
