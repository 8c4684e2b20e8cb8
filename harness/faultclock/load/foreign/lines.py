"""The lines of a foreign JSON Lines file: each a JSON object, or a problem with its place.

From any bytes, a line becomes plain data or a SourceError. Numbers keep every digit:
fractions are Decimal, and one that no int of ours could hold is refused. It knows no map.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple, NoReturn

from faultclock.load.located.tree import OURS, Place, refused


class Line(NamedTuple):
    """One event of a log: where it stands (1-based), and what it says."""

    number: int
    text: str
    data: dict[str, Any]


class _ValueRefusedError(ValueError):
    """What is wrong with a value; `near` is a part of the text that leads to it."""

    def __init__(self, message: str, hint: str, near: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.near = message, hint, near


def lines_of(content: bytes, path: str) -> Iterator[Line]:
    """Yield the lines of `content` that are not blank; `path` is for messages.

    Raises:
        SourceError: at the first line that is no JSON object.
    """
    raw = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    last = len(raw)
    for number, line in enumerate(raw, start=1):
        text = _decoded(line, path, number).removesuffix("\r")
        if text.strip(" \t\r"):
            # Only what a writer was cut off in has no newline behind it.
            yield Line(number, text, _parsed(text, path, number, cut=number == last))


def _decoded(line: bytes, path: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        hint = "a log in another encoding has to be converted first"
        raise refused(Place(number, column), path, "this byte is not UTF-8", hint) from None


def _parsed(text: str, path: str, number: int, *, cut: bool) -> dict[str, Any]:
    try:
        data = json.loads(
            text,
            parse_float=_fraction,
            parse_int=_whole,
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except json.JSONDecodeError as error:
        if cut:
            hint = "the log was cut while it was written: take the line away, or the whole log"
            message = "the last line ends in the middle of an event"
            raise refused(Place(number, error.colno), path, message, hint) from None
        hint = "a log has one JSON object in each line"
        message = f"this line is not JSON: {error.msg.lower()}"
        raise refused(Place(number, error.colno), path, message, hint) from None
    except _ValueRefusedError as error:
        column = max(0, text.rfind(error.near)) + 1 if error.near else 1
        raise refused(Place(number, column), path, error.message, error.hint) from None
    except RecursionError:
        data = None
        too_deep = True
    else:
        # A line with few brackets cannot nest deep, and most have few.
        too_deep = (
            text.count("[") + text.count("{") > OURS.depth_max and _depth(data) > OURS.depth_max
        )
    if too_deep:
        hint = f"an event is a few levels deep, and never more than {OURS.depth_max}"
        raise refused(Place(number, 1), path, "this line nests too deep", hint)
    if not isinstance(data, dict):
        hint = "a log has one JSON object in each line"
        raise refused(Place(number, 1), path, "this line is not a JSON object", hint)
    return data


def _depth(data: Any) -> int:
    """Return how many levels there are, without going down them one call at a time."""
    depth, level = 0, [data]
    while level:
        depth += 1
        held = [item for item in level if isinstance(item, dict | list)]
        level = [
            inner for item in held for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        hint = "which of the two counts is anybody's guess"
        message = f"the key {twice[:40]!r} is there twice in one object"
        raise _ValueRefusedError(message, hint, near=json.dumps(twice, ensure_ascii=False))
    return data


def _whole(digits: str) -> int:
    if len(digits.removeprefix("-")) > OURS.digits_max:
        raise _number(digits)
    return int(digits)


def _fraction(digits: str) -> Decimal:
    try:
        value = Decimal(digits) if len(digits) <= 3 * OURS.digits_max else None
    except InvalidOperation:
        value = None
    if value is None or (value and abs(value.adjusted()) > OURS.digits_max):
        raise _number(digits)
    # A zero may have any exponent, and is the same zero.
    return value or Decimal(0)


def _number(digits: str) -> _ValueRefusedError:
    message = f"the number {digits[:20]}{'…' if len(digits) > 20 else ''} has too many digits"
    return _ValueRefusedError(message, f"one has at most {OURS.digits_max}", near=digits)


def _constant(name: str) -> NoReturn:
    raise _ValueRefusedError(
        f"{name} is not a JSON number", "write null for a missing number", near=name
    )
