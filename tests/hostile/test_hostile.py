"""A share of the broken inputs of `make hostile`, all kinds of them, in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.source_tree import PROJECT
from tests.hostile.trial import LIMIT_S, Ended, Trial, tried

#: Nearly each kind is among them.
_INPUTS = 30


def test_broken_inputs_end_in_a_sentence_and_not_in_a_bug_of_ours(tmp_path: Path) -> None:
    """Codes 0 to 3, no traceback, no hang, and nothing that a terminal would obey."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile", str(_INPUTS), "--few", "-o", str(tmp_path)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{_INPUTS} inputs, \d+ commands; wrong: none$", done.stdout, re.MULTILINE)


def ends_of(folder: Path, *commands: list[str], limit_s: float = LIMIT_S) -> list[Ended]:
    """Return how the commands of one trial end."""
    made = Trial(number=1, kind="test", make=lambda _: list(commands))
    return list(tried([made], folder, 1, limit_s))


def test_each_way_to_end_wrong_is_seen(tmp_path: Path) -> None:
    """A harness that sees nothing finds nothing."""
    broken = Trial(number=1, kind="test", make=lambda _: [[str(1 // 0)]])
    (end,) = tried([broken], tmp_path / "broken", 1)
    assert (end.wrong, "ZeroDivisionError" in end.output) == ("exit 99", True)
    assert (tmp_path / "broken/1/work").is_dir(), "the input is kept"

    (end,) = ends_of(tmp_path / "hang", ["serve", "provider-transient/bad-key"], limit_s=0.5)
    assert end.wrong == "hang"
    good, bad = ends_of(tmp_path / "two", ["list"], ["validate", "no\x1b.yaml"])
    assert (good.code, good.wrong) == (0, None)
    assert (bad.code, bad.wrong, "no such file" in bad.output) == (2, None, True)
    assert not (tmp_path / "two/1").exists(), "nothing is wrong with it"


def test_what_a_command_may_print_and_end_with() -> None:
    """No control character, no command for a build server, no other exit code."""

    def wrong(code: int | None, output: str) -> str | None:
        trial = Trial(number=1, kind="test", make=lambda _: [])
        return Ended(
            trial=trial, command=("x",), code=code, seconds=0, output=output, bytes_max=0
        ).wrong

    assert [wrong(code, "") for code in (0, 1, 2, 3)] == [None] * 4
    assert [wrong(code, "") for code in (70, -9, 4, None)] == [
        "exit 70",
        "exit -9",
        "exit 4",
        "hang",
    ]
    assert wrong(1, "Traceback (most recent call last):\n") == "traceback"
    for text in ("\x1b[31m", "a\u202e", "one\n::error file=x::y"):
        assert wrong(0, text) == "control characters"
    assert wrong(0, "a :: b\n\ttab\n") is None
