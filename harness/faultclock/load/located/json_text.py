"""JSON for a Builder, with places, which the standard library does not offer.

It is lenient where recorders are sloppy (a comma too many) and strict where a place is needed.
"""

from __future__ import annotations

import json.decoder
import re
from bisect import bisect_right
from collections.abc import Callable

from faultclock.load.located.builder import Builder
from faultclock.load.located.tree import RECORDINGS, NotReadableError, Place, Scalar

_BLANK = re.compile(r"[ \t\r\n]*")
_SCAN_STRING: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "NaN": None, "Infinity": None}


def feed_json(text: str, builder: Builder) -> None:
    """Give all of `text` to `builder`.

    Raises:
        NotReadableError: the text stops being JSON, or the builder raised it.
    """
    _Reader(text, builder).read()


class _Reader:
    """A place in a JSON text."""

    def __init__(self, text: str, builder: Builder) -> None:
        self._text = text
        self._builder = builder
        self._at = 0
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def read(self) -> None:
        """Read the text to its end, without recursion."""
        closers: list[str] = []
        expects_value = True
        while expects_value or closers:
            sign = self._peek()
            if closers and sign == closers[-1]:
                # Also of an empty collection, and after a comma.
                self._at += 1
                closers.pop()
                self._builder.close()
                expects_value = False
            elif not expects_value:
                if sign != ",":
                    found = f"`,` or `{closers[-1]}` is expected here"
                    raise self._error(found if sign else "the file ends here")
                self._at += 1
                expects_value = True
            else:
                if closers and closers[-1] == "}":
                    place = self._place()
                    self._builder.key(self._key(), place)
                expects_value = self._opened(closers)
        if self._peek():
            raise self._error("there is more text after the end")

    def _opened(self, closers: list[str]) -> bool:
        """Read a whole scalar or the start of a collection; return whether it was the latter."""
        sign, place = self._peek(), self._place()
        if sign not in ("{", "["):
            self._builder.scalar(Scalar(place, self._value()))
            return False
        self._at += 1
        closers.append("}" if sign == "{" else "]")
        self._builder.open(place, is_list=sign == "[")
        return True

    def _peek(self) -> str:
        """Return the next character that is no blank, without passing it; empty at the end."""
        match = _BLANK.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _key(self) -> str:
        if self._peek() != '"':
            raise self._error("a key in quotes is expected here")
        key = self._string()
        if self._peek() != ":":
            raise self._error("`:` is expected here")
        self._at += 1
        return key

    def _string(self) -> str:
        try:
            value, self._at = _SCAN_STRING(self._text, self._at + 1, False)
        except ValueError as error:
            raise self._error(str(getattr(error, "msg", "this text is not closed"))) from None
        # Half of a pair is legal in JSON, and in no text that could be written again.
        return _SURROGATE.sub("\ufffd", value)

    def _value(self) -> str | int | float | bool | None:
        if self._peek() == '"':
            return self._string()
        match = _NUMBER.match(self._text, self._at)
        if match is not None and len(match[0]) <= RECORDINGS.digits_max:
            self._at = match.end()
            return float(match[0]) if match[1] or match[2] else int(match[0])
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        raise self._error("a value is expected here" if self._peek() else "the file ends here")

    def _error(self, message: str) -> NotReadableError:
        return NotReadableError(self._place(), message)

    def _place(self) -> Place:
        line = bisect_right(self._line_starts, self._at)
        return Place(line, self._at - self._line_starts[line - 1] + 1)
