"""JSON as a stream of events with places, which the standard library does not offer.

It is lenient where recorders are sloppy (a comma too many) and strict where a place is needed.
No recursion: a text of brackets must not exhaust the stack.
"""

from __future__ import annotations

import json.decoder
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Literal

from faultclock.recordings.exchange import Spot

EventKind = Literal["open-list", "open-table", "close", "key", "value"]
_Event = tuple[EventKind, Spot, str | int | float | bool | None]

_BLANK = re.compile(r"[ \t\r\n]*")
_SCAN_STRING: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "NaN": None, "Infinity": None}
#: Longer integers take quadratic time to read, and no recorder writes them.
_DIGITS_MAX = 400


class JsonSyntaxError(Exception):
    """The text is not JSON at `spot`."""

    def __init__(self, message: str, spot: Spot) -> None:
        super().__init__(message)
        self.spot = spot


class JsonEvents:
    """The events of one JSON text, in order.

    Raises:
        JsonSyntaxError: while they are taken, where the text stops being JSON.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def __iter__(self) -> Iterator[_Event]:
        """Yield what opens, closes and stands in the text."""
        closers: list[str] = []
        before_value = True
        while before_value or closers:
            if not before_value:
                before_value = self._after_value(closers[-1])
                if not before_value:
                    closers.pop()
                    yield ("close", self._spot(self._at - 1), None)
                    continue
            if closers and self._peek() == closers[-1]:
                # An empty collection, or a comma before the end.
                self._at += 1
                closers.pop()
                yield ("close", self._spot(self._at - 1), None)
                before_value = False
                continue
            if closers and closers[-1] == "}":
                yield ("key", self._spot(self._at), self._key())
            spot, sign = self._spot(self._at), self._peek()
            if sign in ("{", "["):
                self._at += 1
                closers.append("}" if sign == "{" else "]")
                yield ("open-table" if sign == "{" else "open-list", spot, None)
            else:
                yield ("value", spot, self._value())
                before_value = False
        if self._peek():
            raise self._error("there is more text after the end")

    def _peek(self) -> str:
        match = _BLANK.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return self._text[self._at : self._at + 1]

    def _after_value(self, closer: str) -> bool:
        """Return whether another value may come; False after the end of the collection."""
        sign = self._peek()
        if sign == ",":
            self._at += 1
            self._peek()
            return True
        if sign == closer:
            self._at += 1
            return False
        raise self._error(f"`,` or `{closer}` is expected here" if sign else "the file ends here")

    def _key(self) -> str:
        if self._peek() != '"':
            raise self._error("a key in quotes is expected here")
        key = self._string()
        if self._peek() != ":":
            raise self._error("`:` is expected here")
        self._at += 1
        self._peek()
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
        if match is not None and len(match[0]) <= _DIGITS_MAX:
            self._at = match.end()
            return float(match[0]) if match[1] or match[2] else int(match[0])
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        raise self._error("a value is expected here" if self._peek() else "the file ends here")

    def _error(self, message: str) -> JsonSyntaxError:
        return JsonSyntaxError(message, self._spot(self._at))

    def _spot(self, at: int) -> Spot:
        line = bisect_right(self._line_starts, at)
        return Spot(line, at - self._line_starts[line - 1] + 1)
