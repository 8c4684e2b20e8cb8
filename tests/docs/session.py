"""One reader at one terminal: runs the commands of a page, in a folder that is empty at first.

`faultclock`, `pytest` and `python` run in forked children of a warm process (`tests/warm/`).
Whatever needs a shell gets one, with the same commands on its PATH.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.architecture.source_tree import PROJECT
from tests.docs.matching import fits, fitting_words
from tests.docs.page import PageError
from tests.warm.client import LIMIT_S, Server

#: Until a server has printed what is shown of it; after that a person is out of patience.
_PATIENCE_S = 20.0
#: What is forked where that is possible; for a shell there are scripts of these names.
_PROGRAMS = {"faultclock": " -m faultclock.cli", "pytest": " -m pytest", "python": ""}
_NEEDS_A_SHELL = re.compile(r"[|&;<>()$`\"'\\*?#~\[\]{}]|^\w+=")
_COMMENT = re.compile(r"\s+# .*$")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
_INTERRUPT = "^C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a command came to: the exit code and what a terminal showed of it."""

    code: int
    output: str


@dataclass(slots=True)
class Session:
    """The folder, the environment and what was printed so far.

    Attributes:
        root: an empty folder; the page's files are in `work` below it.
        server: runs commands.
    """

    root: Path
    server: Server
    environment: dict[str, str] = field(default_factory=dict)
    folder: Path = field(init=False)
    last_code: int = 0
    printed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the folders, and the programs that a shell finds."""
        self.folder = self.root / "work"
        programs = self.root / "bin"
        for path in (self.folder, programs, self.root / "home"):
            path.mkdir()
        for name, module in _PROGRAMS.items():
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n')
            script.chmod(0o755)
        self.environment = {
            "PATH": f"{programs}{os.pathsep}{os.defpath}",
            "HOME": str(self.root / "home"),
            "PYTHONPATH": str(PROJECT),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONIOENCODING": "utf-8",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            **self.environment,
        }

    def run(self, command: str, shown: tuple[str, ...] | None = None) -> Ended:
        """Run a command of a page to its end.

        Args:
            shown: what the page shows; at a line `^C` a person interrupts the command, as soon as
                the lines before that were printed.

        Raises:
            PageError: it names something that is not there, or it had to be ended.
        """
        text = self._resolved(_without_comment(command))
        if text == "echo $?":
            return Ended(code=0, output=f"{self.last_code}\n")
        if not self._is_built_in(text):
            ended = self._executed(text, shown)
            self.last_code = ended.code
            self.printed.append(ended.output)
            return ended
        return Ended(code=0, output="")

    def _is_built_in(self, text: str) -> bool:
        """Do what a shell does itself and remembers: `cd` and `export`."""
        words = shlex.split(text)
        if words[:1] == ["cd"] and len(words) == 2:
            self.folder = (self.folder / words[1]).resolve(strict=True)
            return True
        if words[:1] == ["export"]:
            self.environment.update(word.split("=", 1) for word in words[1:])
            return True
        return False

    def _executed(self, text: str, shown: tuple[str, ...] | None) -> Ended:
        output = self.root / "output"
        output.write_bytes(b"")
        head, bar, rest = _piped(text)
        words = _plain_words(head, self.folder)
        if words is None or not _can_be_forked(words):
            return self._in_a_shell(text)
        piped = self.root / "piped"
        piped.write_bytes(b"")
        process = self.server.start(
            words=words,
            folder=str(self.folder),
            environment=self.environment,
            output=str(piped if bar else output),
            errors=str(output),
        )
        before = shown[: shown.index(_INTERRUPT)] if shown and _INTERRUPT in shown else None
        if before is not None:
            _interrupt(process, before, output)
        code = self.server.wait(process)
        if code is None:
            raise PageError(f"{text}: it did not end\n{output.read_text('utf-8')}")
        said = output.read_text("utf-8")
        if bar:
            with piped.open("rb") as source:
                end = self._in_a_shell(rest, source)
            return Ended(code=end.code, output=said + end.output)
        if before is not None:
            # A terminal shows the key where it was pressed.
            said = _with_interrupt(said, before)
        return Ended(code=code, output=said)

    def _in_a_shell(self, text: str, source: Any = subprocess.DEVNULL) -> Ended:
        done = subprocess.run(
            ["bash", "-c", text],
            cwd=self.folder,
            env=self.environment,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT_S,
            check=False,
        )
        return Ended(code=done.returncode, output=done.stdout.decode("utf-8", "replace"))

    def _resolved(self, text: str) -> str:
        """Put in what `…` stands for: a file, an id or a token of an earlier command."""
        for word in re.findall(r"[^\s'\"]*…[^\s'\"]*", text):
            paths = sorted(self.folder.glob(word.replace("…", "*")))
            if paths:
                found = str(paths[0].relative_to(self.folder))
            else:
                found = next(iter(fitting_words(word, self._texts(text))), "")
            if not found:
                raise PageError(f"{text}: nothing that was printed or written fits {word}")
            text = text.replace(word, found)
        return text

    def _texts(self, command: str) -> list[str]:
        """Return where to look: in what the command reads itself, then in what was told last."""
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        named = [path for path in files if str(path.relative_to(self.folder)) in command]
        return [
            *(path.read_text("utf-8", "replace") for path in named),
            *reversed(self.printed),
            *(path.read_text("utf-8", "replace") for path in files),
        ]


def _can_be_forked(words: list[str]) -> bool:
    if words[0] == "python":
        return len(words) > 1 and (words[1] == "-m" or not words[1].startswith("-"))
    return words[0] in _PROGRAMS


def _without_comment(command: str) -> str:
    """Take off what a line says behind ` # `; a shell would, too."""
    lines = [_COMMENT.sub("", line) for line in command.split("\n")]
    return "\n".join(lines).strip()


def _piped(text: str) -> tuple[str, str, str]:
    """Return what stands before the first pipe, the pipe, and the rest."""
    bare = _QUOTED.sub(lambda match: "_" * len(match[0]), text)
    place = bare.find("|")
    if place < 0 or bare[place : place + 2] == "||":
        return text, "", ""
    return text[:place].strip(), "|", text[place + 1 :].strip()


def _plain_words(text: str, folder: Path) -> list[str] | None:
    """Return the words of a command that takes no shell to be understood, else None."""
    words: list[str] = []
    joined = text.replace("\\\n", " ")
    bare = _QUOTED.sub("", joined)
    if _NEEDS_A_SHELL.search(bare.replace("*", "")):
        return None
    for word in shlex.split(joined):
        quoted = f"'{word}'" in joined or f'"{word}"' in joined
        paths = sorted(folder.glob(word)) if "*" in word and not quoted else []
        words += [str(path.relative_to(folder)) for path in paths] or [word]
    return words


def _interrupt(process: int, shown: tuple[str, ...], output: Path) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while not fits((*shown, "…"), output.read_text("utf-8")):
        if time.monotonic() > deadline_s:
            break
        time.sleep(0.02)
    os.killpg(process, signal.SIGINT)


def _with_interrupt(printed: str, shown: tuple[str, ...]) -> str:
    lines = printed.splitlines()
    return "\n".join([*lines[: len(shown)], _INTERRUPT, *lines[len(shown) :]]) + "\n"
