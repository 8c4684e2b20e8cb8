"""Two interpreters that make the same runs, and what they say of each run beside each other.

They are started apart, with other hash seeds and other amounts of environment. Their subjects are
imported in another order, objects are collected and threads take turns at other moments, and each
is given the runs in chunks, the second one each chunk backwards.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: Runs that an interpreter is told at once, and how many of these it may be ahead of the other.
_CHUNK, _AHEAD = 40, 3
#: Bytes of environment that only the second one has: what is in front of the stack moves it.
_BALLAST = 10_007
_PROJECT = Path(__file__).parents[2]


class LostError(Exception):
    """An interpreter ended before it was told to."""


@dataclass(frozen=True, slots=True)
class Both:
    """What was said of one run, by the first interpreter and by the second."""

    number: int
    first: dict[str, Any]
    second: dict[str, Any]

    @property
    def is_same(self) -> bool:
        """Whether no word differs, and neither of them raised."""
        return self.first == self.second and "raised" not in self.first

    @property
    def raised(self) -> str | None:
        """What was raised in place of a trace, by either; None where both have one."""
        return self.first.get("raised") or self.second.get("raised")


class Interpreter:
    """One of the two.

    Args:
        hash_seed: PYTHONHASHSEED of it.
        log: where its standard error goes.
    """

    def __init__(self, hash_seed: int, *, second: bool, log: Path) -> None:
        environment = dict(os.environ, PYTHONHASHSEED=str(hash_seed), PYTHONPATH=str(_PROJECT))
        if second:
            environment["SOAK_BALLAST"] = "x" * (_BALLAST + hash_seed)
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.soak.interpreter",
                    str(os.getpid()),
                    "second" if second else "first",
                ],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # A person's Ctrl-C is for the one who started it.
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self.out = self.process.stdin, self.process.stdout
        os.set_blocking(self.out.fileno(), False)
        self._rest = b""
        self.told = self.done = 0

    def tell(self, **words: Any) -> None:
        """Send a line.

        Raises:
            LostError: nobody is there.
        """
        try:
            self._in.write(json.dumps(words).encode() + b"\n")
            self._in.flush()
        except BrokenPipeError as error:
            raise LostError from error

    def heard(self) -> Iterator[dict[str, Any]]:
        """Yield the lines that have come; there is at least a part of one.

        Raises:
            LostError: it has ended.
        """
        data = os.read(self.out.fileno(), 1 << 20)
        if not data:
            raise LostError
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from map(json.loads, lines)

    def end(self) -> None:
        """End it, with all that it started."""
        self.process.kill()
        self.process.wait()
        self._in.close()
        self.out.close()


@dataclass(slots=True)
class Pair:
    """Both of them, for one round.

    Args:
        folder: where logs and traces that differ are stored.
    """

    number: int
    folder: Path
    _two: tuple[Interpreter, ...] = ()
    #: What was said while something else was waited for.
    _waiting: list[tuple[Interpreter, dict[str, Any]]] = field(default_factory=list)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __enter__(self) -> Pair:
        self._two = tuple(
            Interpreter(
                2 * self.number + 1 + second,
                second=bool(second),
                log=self.folder / f"interpreter-{second + 1}.log",
            )
            for second in (0, 1)
        )
        for one in self._two:
            self._selector.register(one.out, selectors.EVENT_READ, one)
        return self

    def __exit__(self, *error: object) -> None:
        self._selector.close()
        for one in self._two:
            one.end()

    def make(self, subjects: Sequence[str], seed: int, numbers: Sequence[int]) -> Iterator[Both]:
        """Yield what both say of each run, as soon as both have said it.

        Raises:
            LostError: one of them ended.
        """
        for one in self._two:
            one.tell(subjects=subjects, seed=seed)
        chunks = [numbers[start : start + _CHUNK] for start in range(0, len(numbers), _CHUNK)]
        said: tuple[dict[int, dict[str, Any]], ...] = ({}, {})
        left = len(numbers)
        while left:
            self._give(chunks)
            same: list[int] = []
            for one, words in self._heard():
                if "chunk" in words:
                    one.done += 1
                if "number" not in words:
                    continue
                number = words.pop("number")
                said[self._two.index(one)][number] = words
                if number in said[0] and number in said[1]:
                    left -= 1
                    both = Both(number, said[0].pop(number), said[1].pop(number))
                    if both.is_same:
                        same.append(number)
                    yield both
            if same:
                for one in self._two:
                    one.tell(same=same)

    def store(self, number: int) -> tuple[tuple[Path, Path], dict[str, Any]]:
        """Have both store their trace of a run; return where, and the run's coordinates."""
        paths = tuple(self.folder / f"run-{number}.{name}.jsonl" for name in ("first", "second"))
        for one, path in zip(self._two, paths, strict=True):
            one.tell(store=number, path=str(path))
        found: list[dict[str, Any]] = []
        others: list[tuple[Interpreter, dict[str, Any]]] = []
        while len(found) < len(self._two):
            for one, words in self._heard():
                if words.get("stored") == number:
                    found.append(words)
                else:
                    others.append((one, words))
        self._waiting += others
        return (paths[0], paths[1]), found[0]["coordinates"]

    def _give(self, chunks: Sequence[Sequence[int]]) -> None:
        """Give each of them what it is to do next, but for one that is too far ahead."""
        slowest = min(one.done for one in self._two)
        for second, one in enumerate(self._two):
            while one.told < len(chunks) and one.told < min(slowest + _AHEAD, one.done + 2):
                runs = list(chunks[one.told])
                one.tell(chunk=one.told, runs=runs[::-1] if second else runs)
                one.told += 1

    def _heard(self) -> list[tuple[Interpreter, dict[str, Any]]]:
        heard, self._waiting = self._waiting, []
        if heard:
            return heard
        for key, _ in self._selector.select():
            heard += [(key.data, words) for words in key.data.heard()]
        return heard
