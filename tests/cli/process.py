"""Runs command lines in processes of their own, as a person does, without what a start costs.

A run patches the process that it is in, so these tests cannot run it in theirs. To start an
interpreter takes longer than most of the commands: here a warm process forks a child for each,
see `tests/warm/`. What is about the start itself (the hash seed, an interrupt) starts
an interpreter of its own.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

from tests.warm.client import warm_server


def process(folder: Path, *words: str) -> CompletedProcess[str]:
    """Run `faultclock` with these words in `folder`, and return what came of it."""
    return program(folder, "faultclock", *words)


def program(folder: Path, *words: str) -> CompletedProcess[str]:
    """Run `faultclock`, `pytest` or `python` with what follows it, and return what came of it."""
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        out.touch()
        err.touch()
        child = warm_server().start(
            words=list(words),
            folder=str(folder),
            environment={**os.environ, "PYTHONHASHSEED": "0"},
            output=str(out),
            errors=str(err),
        )
        code = warm_server().wait(child)
        assert code is not None, f"{words} did not end"
        return CompletedProcess(words, code, out.read_text("utf-8"), err.read_text("utf-8"))
