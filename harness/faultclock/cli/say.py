"""All that the command line prints goes through here, to standard output and to standard error.

`screens` puts a Screen over both streams for the time of a command. So nothing reaches a terminal
or a build log unescaped: no line of ours, no error of click, no warning of Python. `say` writes
one line with our own colours. `machine` alone goes past the Screen: a format for programs has
rules of its own and is written byte for byte.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from msgspec import Struct

from faultclock.printable import harmless_after, one_line

#: https://en.wikipedia.org/wiki/ANSI_escape_code#Select_Graphic_Rendition_parameters
_CODES = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "magenta": "35",
    "bright_black": "90",
    "bold": "1",
    "dim": "2",
}


class Span(Struct, frozen=True, kw_only=True):
    """A piece of a line.

    Attributes:
        style: words of `_CODES` with a space between; empty: as the terminal has it.
    """

    text: str
    style: str = ""


class Screen:
    """A text stream that escapes what a terminal or a build server would obey."""

    def __init__(self, plain: IO[str]) -> None:
        self.plain = plain
        self._written = ""

    @property
    def encoding(self) -> str:
        """That of the stream below; click writes past a stream of ASCII, as UTF-8."""
        encoding = getattr(self.plain, "encoding", None) or "utf-8"
        return "utf-8" if codecs.lookup(encoding).name == "ascii" else encoding

    def write(self, text: str) -> int:
        """Write `text`, made harmless."""
        shown, self._written = harmless_after(self._written, text)
        self.plain.write(shown)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@contextmanager
def screens() -> Iterator[None]:
    """Put a Screen over standard output and standard error."""
    kept = sys.stdout, sys.stderr
    ours = tuple(map(_screen, kept))
    sys.stdout, sys.stderr = (cast(Any, screen) for screen in ours)
    try:
        yield
    finally:
        # What a subject has put there in our place stays.
        if sys.stdout is ours[0]:
            sys.stdout = kept[0]
        if sys.stderr is ours[1]:
            sys.stderr = kept[1]


def say(*spans: str | Span, err: bool = False, out: IO[str] | None = None) -> None:
    r"""Write one line; a newline in it is written as `\n`.

    Args:
        spans: its pieces; colours are shown on a terminal alone, and not with NO_COLOR.
        err: write to standard error.
        out: write there instead.
    """
    screen = _screen(out or (sys.stderr if err else sys.stdout))
    # https://no-color.org
    coloured = screen.isatty() and not os.environ.get("NO_COLOR")
    for span in spans:
        text, style = (span, "") if isinstance(span, str) else (span.text, span.style)
        codes = ";".join(map(_CODES.__getitem__, style.split())) if coloured else ""
        if codes:
            screen.plain.write(f"\x1b[{codes}m")
        screen.write(one_line(text))
        if codes:
            screen.plain.write("\x1b[0m")
    screen.write("\n")
    screen.flush()


def say_lines(text: str, *, err: bool = False, out: IO[str] | None = None) -> None:
    """Write a text of several lines."""
    for line in text.split("\n"):
        say(line, err=err, out=out)


def machine(text: str) -> None:
    """Write `text` to standard output as it is: JSON, HTML and other formats for programs."""
    plain = beside(sys.stdout)
    plain.write(text)
    plain.flush()


def beside(stream: IO[str]) -> IO[str]:
    """Return the stream below a Screen, for what draws with control characters of its own."""
    return stream.plain if isinstance(stream, Screen) else stream


def _screen(stream: Any) -> Any:
    return stream if stream is None or isinstance(stream, Screen) else Screen(stream)
