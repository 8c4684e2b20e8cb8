"""TOML text to a tree in which every value knows its line and column.

The standard library's reader decides what is TOML and what a value is, and gives no places. So
this looks for the places of what it has read: it walks over a text that is known to be valid,
and so needs no rule but where a key, a text, a list or a table begins and ends.

No well-kept library does it: tomlkit has no places (its issue 55 asks for them since 2019), and
what has them is a copy of the standard library's reader that would have to be maintained.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Any

from faultclock.load.located.tree import (
    OURS,
    Mapping,
    Node,
    NotReadableError,
    Place,
    Scalar,
    Sequence,
    check_depth,
    nested_too_deep,
    place_after,
    refused,
)

_FAULT_PLACE = re.compile(
    r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)"
)
#: Blanks, line ends and comments between two values.
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
#: The last quotation mark of a closing three may be one of up to two that belong to the text.
_TEXT = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL
)
#: With the signs that may stand between digits: what Python refuses to read has more of them.
_LONG_NUMBER = re.compile(r"(?:\d_?){4000,}")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
#: A number, a date (which may have a blank in it) or a word.
_BARE_VALUE = re.compile(r"[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?")
_BLANKS = re.compile(r"[ \t]*")


def parse_toml(text: str, path: str) -> Mapping:
    """Return the tree of `text`; `path` is for messages.

    Dates, times and overlong numbers are texts in it, as they are written.

    Raises:
        SourceError: it is not TOML, it is nested too deep, or Python cannot read a number in it.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refused(_fault_place(error, text), path, _fault_words(error)) from None
    except RecursionError:
        raise refused(Place(1, 1), path, "this is nested too deeply") from None
    except ValueError:
        # Python reads no longer one.
        found = _LONG_NUMBER.search(text)
        place = place_after(text[: 0 if found is None else found.start()])
        raise refused(place, path, "the number is too long") from None
    # Line ends of any kind count as one, as the reader has them.
    try:
        root = _Walk(text.replace("\r\n", "\n")).document(data)
        check_depth(root, OURS)
    except NotReadableError as error:
        raise refused(error.place, path, error.message) from None
    return root


def _fault_place(error: tomllib.TOMLDecodeError, text: str) -> Place:
    found = _FAULT_PLACE.search(str(error))
    if found is not None and found["line"] is not None:
        return Place(int(found["line"]), int(found["column"]))
    return place_after(text)


def _fault_words(error: tomllib.TOMLDecodeError) -> str:
    message = _FAULT_PLACE.sub("", str(error))
    return f"this is not TOML: {message[:1].lower()}{message[1:]}"


class _Walk:
    """Finds the places of everything in a text that is valid TOML."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def document(self, data: dict[str, Any]) -> Mapping:
        """Return the tree of the whole text, which holds `data`."""
        root = Mapping(Place(1, 1))
        table, values = root, data
        while self._skip(_BETWEEN) < len(self._text):
            if self._text[self._at] == "[":
                table, values = self._header(root, data)
            else:
                self._entry(table, values)
        return root

    # ------------------------------------------------------------------ the parts of a text

    def _header(self, root: Mapping, data: Any) -> tuple[Mapping, Any]:
        """Read `[a.b]` or `[[a.b]]`, and return the table that it opens."""
        is_list = self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        keys = self._keys()
        self._at = self._text.index("]", self._at) + (2 if is_list else 1)
        table = root
        for number, (key, place) in enumerate(keys, start=1):
            data = data[key]
            appends = is_list and number == len(keys)
            table, data = self._opened(table, key, place, data, appends=appends)
        return table, data

    def _opened(
        self, table: Mapping, key: str, place: Place, data: Any, *, appends: bool = False
    ) -> tuple[Mapping, Any]:
        """Return the table `key` of `table`: of a list of tables the last, or one more."""
        table.keys.setdefault(key, place)
        if not isinstance(data, list):
            node = table.values.setdefault(key, Mapping(place))
            assert isinstance(node, Mapping)
            return node, data
        tables = table.values.setdefault(key, Sequence(place))
        assert isinstance(tables, Sequence)
        if appends:
            tables.items.append(Mapping(place))
        last = tables.items[-1]
        assert isinstance(last, Mapping)
        return last, data[len(tables.items) - 1]

    def _entry(self, table: Mapping, values: Any) -> None:
        """Read `a.b = value` into `table`."""
        *above, (key, place) = self._keys()
        for name, there in above:
            table, values = self._opened(table, name, there, values[name])
        self._at = self._text.index("=", self._at) + 1
        self._skip(_BLANKS)
        table.keys[key] = place
        table.values[key] = self._value(values[key])

    def _keys(self) -> list[tuple[str, Place]]:
        keys: list[tuple[str, Place]] = []
        while True:
            self._skip(_BLANKS)
            place = self._place()
            quoted = _TEXT.match(self._text, self._at)
            found = quoted or _BARE_KEY.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            # The reader undoes the escapes of a quoted key.
            name = next(iter(tomllib.loads(f"{found[0]} = 0"))) if quoted else found[0]
            keys.append((name, place))
            if len(keys) > OURS.depth_max:
                raise nested_too_deep(place, OURS)
            self._skip(_BLANKS)
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _value(self, value: Any) -> Node:
        place = self._place()
        sign = self._text[self._at]
        if sign == "[":
            return self._list(place, value)
        if sign == "{":
            return self._inline_table(place, value)
        found = _TEXT.match(self._text, self._at) or _BARE_VALUE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        is_number = isinstance(value, int | float)
        # A number of 5,000 digits is none that a key of ours takes, and cannot be written again.
        plain = isinstance(value, str) or (is_number and len(found[0]) <= OURS.digits_max)
        return Scalar(place, value if plain else found[0])

    def _list(self, place: Place, values: list[Any]) -> Sequence:
        node = Sequence(place)
        self._at += 1
        for value in values:
            self._skip(_BETWEEN)
            node.items.append(self._value(value))
            self._skip(_BETWEEN)
            if self._text[self._at] == ",":
                self._at += 1
        self._skip(_BETWEEN)
        self._at += 1
        return node

    def _inline_table(self, place: Place, values: dict[str, Any]) -> Mapping:
        node = Mapping(place)
        self._at += 1
        while self._text[self._skip(_BETWEEN)] != "}":
            self._entry(node, values)
            self._skip(_BETWEEN)
            if self._text[self._at] == ",":
                self._at += 1
        self._at += 1
        return node

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        return self._at

    def _place(self) -> Place:
        line = bisect_right(self._line_starts, self._at)
        return Place(line, self._at - self._line_starts[line - 1] + 1)
