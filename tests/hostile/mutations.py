"""Changes one thing or a few in data, in text or in bytes, as hands and broken disks do.

A change follows from the dice alone, so that an input can be had again by its number.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

#: A number that only JSON can say; `dumped` takes away its quotation marks.
_TOO_LARGE = "<1e999>"
#: A value in the place of another one.
RUBBISH: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1 << 62,
    1 << 63,
    10**400,
    1.5,
    1.5e308,
    "",
    " ",
    "\x00\x07",
    "\x1b]8;;http://x\x1b\\link",
    "a\n::error file=x::PWN",
    "\u202egnp.exe",
    "\ud7ff\ufffe\U0001f600",
    "null",
    "- a\n- b: [",
    "0o17",
    "1e3",
    _TOO_LARGE,
    "~",
    "10ms",
    "1-3",
    [],
    {},
    [None],
    [[["x"]]],
    {"": ""},
    {"string": None},
    "{" * 300,
    "Thu, 99 Foo 2026 99:99:99 GMT",
    "Thu, 01 Jan 9999 00:00:00 GMT",
    "application/json\r\nx: y",
    "data: {",
    'data: {"error": {"message": null}}\n\n',
    "A" * 5_000,
)
_KEYS = ("body", "headers", "status", "code", "string", "uri", "method", "error", "message", "x")

#: Changes what its owner (a dict or a list) has at a key; the last argument is all such places.
Change = Callable[[Any, Any, random.Random, list[tuple[Any, Any]]], None]


def changed(data: Any, dice: random.Random, ways: tuple[Change, ...]) -> Any:
    """Change one thing somewhere in `data`, in one of these ways."""
    places = _places(data)
    if places:
        owner, key = dice.choice(places)
        dice.choice(ways)(owner, key, dice, places)
    return data


def damaged(content: bytes, dice: random.Random) -> bytes:
    """Return bytes with one to four changes that look at no structure."""
    text = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        if not text:
            break
        dice.choice(_BYTES)(text, dice.randrange(len(text)), dice)
    return bytes(text)


def dumped(data: Any, dice: random.Random | None = None) -> bytes:
    """Return `data` as JSON: in one of several ways, or without dice as traces have it."""
    if dice is None:
        text = json.dumps(data, default=str, sort_keys=True, separators=(",", ":"))
    else:
        text = json.dumps(data, default=str, ensure_ascii=dice.random() < 0.5)
    return text.replace(f'"{_TOO_LARGE}"', "1e999").encode("utf-8", "replace")


def rubbish(dice: random.Random, begins: str = "a") -> bytes:
    """Return a text without any sense; some of them begin with the key `begins`."""
    ways: tuple[Callable[[], bytes], ...] = (
        lambda: dice.randbytes(dice.randrange(400)),
        lambda: json.dumps(dice.choice(RUBBISH)).encode(),
        lambda: ("[" * dice.randrange(5_000)).encode(),
        lambda: ("a: " * dice.randrange(300)).encode(),
        lambda: f"{begins}:\n".encode() + b"- " * dice.randrange(300),
        lambda: "".join(f"{chr(97 + i)}: &{chr(97 + i)} [{_nine(i)}]\n" for i in range(9)).encode(),
        lambda: f'{{"{begins}": '.encode() + b'[{"request": ' * dice.randrange(300),
        lambda: "".join(chr(dice.randrange(1, 0xD7FF)) for _ in range(200)).encode(),
    )
    return dice.choice(ways)()


def _nine(index: int) -> str:
    return ", ".join([f"*{chr(96 + index)}"] * 9) if index else "x, x"


def _places(data: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    todo = [data] if isinstance(data, (dict, list)) else []
    while todo:
        item = todo.pop()
        keys: Any = item.keys() if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                todo.append(item[key])
    return found


def _replace(owner: Any, key: Any, dice: random.Random, _: Any) -> None:
    owner[key] = deepcopy(dice.choice(RUBBISH))


def _alike(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    """Put another value of its type in its place: it passes more checks than rubbish."""
    kind = type(owner[key])
    others = [place for place in places if type(place[0][place[1]]) is kind]
    other, name = dice.choice(others)
    owner[key] = deepcopy(other[name])


def _remove(owner: Any, key: Any, dice: random.Random, _: Any) -> None:
    del owner[key]


def _double(owner: Any, key: Any, dice: random.Random, _: Any) -> None:
    if isinstance(owner, list):
        owner.insert(key, deepcopy(owner[key]))
    else:
        owner[key] = [owner[key], deepcopy(owner[key])]


def _rename(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    if isinstance(owner, dict):
        value = owner.pop(key)
        other = dice.choice(places)[1]
        owner[dice.choice((*_KEYS, str(key).upper(), f"x{key}", str(other)))] = value


def _elsewhere(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    other, name = dice.choice(places)
    if isinstance(other, dict) or (isinstance(other, list) and name < len(other)):
        other[name] = deepcopy(owner[key])


def _cut_text(owner: Any, key: Any, dice: random.Random, _: Any) -> None:
    if isinstance(owner[key], str) and owner[key]:
        owner[key] = owner[key][: dice.randrange(len(owner[key]))]


def _count_otherwise(owner: Any, key: Any, dice: random.Random, _: Any) -> None:
    if isinstance(owner[key], int):
        owner[key] += dice.choice((-1, 1, -owner[key], owner[key], 1 << 40))


#: Every way to change a structure.
STRUCTURES: tuple[Change, ...] = (
    *(_replace, _alike, _alike, _remove, _double, _rename),
    *(_elsewhere, _cut_text, _count_otherwise),
)


#: Those that keep the shape of what is there.
GENTLE: tuple[Change, ...] = (_alike, _alike, _cut_text, _count_otherwise)


def _flip(text: bytearray, at: int, dice: random.Random) -> None:
    text[at] ^= 1 << dice.randrange(8)


def _drop(text: bytearray, at: int, dice: random.Random) -> None:
    del text[at : at + dice.randint(1, 400)]


def _end(text: bytearray, at: int, dice: random.Random) -> None:
    del text[at:]


def _insert(text: bytearray, at: int, dice: random.Random) -> None:
    text[at:at] = dice.choice(
        (b"\x00", b"\xff\xfe", b"\t", b"&a ", b"*a ", b"!!python/name:os.system ", b"'", b'"', b"{")
    )


def _repeat(text: bytearray, at: int, dice: random.Random) -> None:
    text[at:at] = text[at : at + dice.randint(1, 2_000)]


def _overwrite(text: bytearray, at: int, dice: random.Random) -> None:
    size = dice.randint(1, 64)
    text[at : at + size] = dice.choice((bytes(size), b"\xff" * size, dice.randbytes(size)))


_BYTES: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    *(_flip, _drop, _end, _insert, _repeat, _overwrite),
)
