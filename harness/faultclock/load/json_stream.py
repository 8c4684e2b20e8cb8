"""Reads one JSON object that may be larger than memory: the items of a long list one by one."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, BinaryIO

#: Bytes that are read at once, at least.
_PIECE = 1 << 20
#: Characters of one value.
_VALUE_MAX = 1_000_000_000
_SPACE = " \t\n\r"
#: What ends or fails so near to the end of what was read may come out otherwise with more of it.
_NEAR = 16
_NO_END = "Unterminated string"


def read_object(file: BinaryIO, long: str, take: Callable[[Any], None]) -> Any:
    """Return the JSON value that `file` holds.

    Args:
        long: name of a member of it. If the value is an object and the member a list, `take` gets
            each item of the list, and the list that is returned is empty.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    scan = _Scan(file)
    value = _members(scan, long, take) if scan.next() == "{" else scan.value()
    if scan.next():
        raise ValueError("there is more behind the value")
    return value


def _members(scan: _Scan, long: str, take: Callable[[Any], None]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    scan.pass_over("{")
    while scan.next() != "}":
        if found:
            scan.pass_over(",")
        if scan.next() != '"':
            raise ValueError("a name was expected")
        name = scan.value()
        scan.next()
        scan.pass_over(":")
        if name == long and name in found:
            raise ValueError(f"{name} is there twice")
        found[name] = _items(scan, take) if name == long and scan.next() == "[" else scan.value()
    scan.pass_over("}")
    return found


def _items(scan: _Scan, take: Callable[[Any], None]) -> list[Any]:
    scan.pass_over("[")
    if scan.next() != "]":
        take(scan.value())
    while scan.next() != "]":
        scan.pass_over(",")
        take(scan.value())
    scan.pass_over("]")
    return []


class _Scan:
    """A place in a JSON text, of which a part is in memory."""

    def __init__(self, file: BinaryIO) -> None:
        head = file.read(_PIECE)
        # As `json.loads` does with bytes.
        whole = _Headed(head, file)
        self._file = io.TextIOWrapper(
            io.BufferedReader(whole), json.detect_encoding(head), "surrogatepass", newline=""
        )
        self._text, self._at, self._is_all = "", 0, False
        self._decode = json.JSONDecoder().raw_decode

    def next(self) -> str:
        """Return the next character that is no white space, without passing it; empty: the end."""
        while True:
            while self._at < len(self._text):
                if (character := self._text[self._at]) not in _SPACE:
                    return character
                self._at += 1
            if self._is_all:
                return ""
            self._read_on()

    def pass_over(self, character: str) -> None:
        """Pass the next character, which has to be this one."""
        if self.next() != character:
            raise ValueError(f"{character} was expected")
        self._at += 1

    def value(self) -> Any:
        """Return the next value, and pass it."""
        self.next()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_near = error.pos > len(self._text) - _NEAR or error.msg.startswith(_NO_END)
                if self._is_all or not is_near:
                    raise
            else:
                # A number may go on in what was not read: `0.` is one, and more.
                if end < len(self._text) - _NEAR or self._is_all:
                    self._at = end
                    return value
            self._read_on()

    def _read_on(self) -> None:
        # As much again as there is: a value is tried a few times, however long it is.
        text = self._text[self._at :]
        if len(text) > _VALUE_MAX:
            raise ValueError("one value is too long")
        more = self._file.read(max(_PIECE, len(text)))
        self._is_all = not more
        self._text, self._at = text + more, 0


class _Headed(io.RawIOBase):
    """A file whose first bytes were read already."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = head, rest

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes into `buffer`, and return how many."""
        given = self._head[: len(buffer)] or self._rest.read(len(buffer))
        self._head = self._head[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)
