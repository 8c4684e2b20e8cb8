"""Tries the importer with mutated recordings and with rubbish, and counts what came of it.

`python -m tests.recordings.fuzz 10000` tries so many inputs and prints a line of figures. An input
is one of our own recordings with a few things changed in its structure or in its bytes, or a text
without any sense. Whatever it is, the importer either makes scenarios or says in one InputError
why not; and no planted secret that its shape gives away is in anything that it made. The inputs
follow from the number alone, so that a failure can be had again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.errors import InputError, UnknownNameError
from harness.fakes.dialects import dialect_named
from harness.recordings.importing import Options, import_recording
from harness.recordings.outcome import Hearing
from tests.recordings.planted import CASSETTES, CONTEXTUAL, SHAPED, TEXTS

__all__ = ["Tally", "dialect_or_none", "mutated", "try_one"]

#: A value in the place of another one: what recorders and broken disks have put there.
_RUBBISH: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    10**400,
    1.5e308,
    "",
    " ",
    "\x00\x07",
    "\ud7ff\ufffe\U0001f600",
    "null",
    "- a\n- b: [",
    "0o17",
    "1e3",
    "~",
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


@dataclass(slots=True)
class Tally:
    """What came of the inputs."""

    inputs: int = 0
    imported: int = 0
    refused: int = 0
    scenarios: int = 0
    oddities: Counter[str] = field(default_factory=Counter)
    crashes: list[str] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)


def dialect_or_none(name: str) -> Hearing | None:
    """Return the dialect of a name, None where there is none."""
    try:
        return dialect_named(name)
    except UnknownNameError:
        return None


def mutated(dice: random.Random) -> tuple[str, bytes]:
    """Return a name and the bytes of an input."""
    path = dice.choice(_files())
    content = path.read_bytes()
    way = dice.randrange(10)
    if way == 0:
        return "rubbish.yaml", _rubbish(dice)
    if way < 7:
        data = _loaded(path)
        for _ in range(dice.randint(1, 6)):
            data = _changed(data, dice)
        return path.name, _dumped(data, dice)
    text = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        if not text:
            break
        at = dice.randrange(len(text))
        _BYTES[dice.randrange(len(_BYTES))](text, at, dice)
    return path.name, bytes(text)


def try_one(number: int, tally: Tally) -> None:
    """Try the input `number`, and count what came of it."""
    dice = random.Random(number)
    name, content = mutated(dice)
    options = Options(texts_kept=dice.random() < 0.3)
    tally.inputs += 1
    try:
        got = import_recording(
            content, name, family="recorded", dialects=dialect_or_none, options=options
        )
    except InputError as error:
        tally.refused += 1
        _search(str(error), number, tally, SHAPED)
        return
    except BaseException as error:
        tally.crashes.append(f"{number}: {type(error).__name__}: {str(error)[:300]}")
        return
    tally.imported += 1
    tally.scenarios += len(got.scenarios)
    tally.oddities.update(str(oddity.kind) for oddity in got.oddities)
    for oddity in got.oddities:
        _search(oddity.message, number, tally, (*SHAPED, *CONTEXTUAL, *TEXTS))
    for written in got.scenarios:
        _search(written.text, number, tally, SHAPED)
        _search(json.dumps(written.scenario.model_dump(mode="json")), number, tally, SHAPED)


def _search(text: str, number: int, tally: Tally, secrets: tuple[str, ...]) -> None:
    for secret in secrets:
        if secret.lower() in text.lower():
            tally.leaks.append(f"{number}: {secret}")


def _files() -> list[Path]:
    return sorted(path for path in CASSETTES.rglob("*") if path.is_file())


class _Loader(yaml.SafeLoader):
    """Reads our own recordings; what a tag stands for does not matter here."""


def _any_tag(loader: _Loader, suffix: str, node: yaml.Node) -> Any:
    del suffix
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        items = loader.construct_sequence(node, deep=True)
        return items[0] if len(items) == 1 and isinstance(items[0], str) else str(items)
    return str(node.tag)


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _any_tag)
_Loader.add_multi_constructor("!", _any_tag)


def _loaded(path: Path) -> Any:
    try:
        return yaml.load(path.read_bytes(), Loader=_Loader)
    except yaml.YAMLError:
        return {"interactions": [{"request": {"method": "POST"}}]}


def _dumped(data: Any, dice: random.Random) -> bytes:
    if dice.random() < 0.4:
        return json.dumps(data, default=str, ensure_ascii=dice.random() < 0.5).encode(
            "utf-8", "replace"
        )
    text = yaml.dump(data, Dumper=yaml.SafeDumper, allow_unicode=dice.random() < 0.5)
    return text.encode("utf-8", "replace")


def _changed(data: Any, dice: random.Random) -> Any:
    """Change one thing somewhere in `data`."""
    places = list(_places(data))
    if not places:
        return data
    owner, key = dice.choice(places)
    _STRUCTURES[dice.randrange(len(_STRUCTURES))](owner, key, dice, places)
    return data


def _places(data: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    todo = [data]
    while todo:
        item = todo.pop()
        keys: Any = item.keys() if isinstance(item, dict) else range(len(item))
        for key in keys:
            found.append((item, key))
            if isinstance(item[key], (dict, list)):
                todo.append(item[key])
    return found


def _replace(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    owner[key] = deepcopy(dice.choice(_RUBBISH))


def _remove(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    del owner[key]


def _double(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    if isinstance(owner, list):
        owner.insert(key, deepcopy(owner[key]))
    else:
        owner[key] = [owner[key], deepcopy(owner[key])]


def _rename(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    if isinstance(owner, dict):
        value = owner.pop(key)
        owner[dice.choice((*_KEYS, str(key).upper(), f"x{key}"))] = value


def _elsewhere(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    other, name = dice.choice(places)
    if isinstance(other, dict) or (isinstance(other, list) and name < len(other)):
        other[name] = deepcopy(owner[key])


def _cut_text(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    if isinstance(owner[key], str) and owner[key]:
        owner[key] = owner[key][: dice.randrange(len(owner[key]))]


def _plant(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    secret = dice.choice(SHAPED)
    sentence = dice.choice(
        ("{}", "It failed for {}.", '{{"error":{{"message":"{} in"}}}}', "a={}&b")
    )
    owner[key] = sentence.format(secret)


_STRUCTURES: tuple[Callable[..., None], ...] = (
    _replace,
    _remove,
    _double,
    _rename,
    _elsewhere,
    _cut_text,
    _plant,
    _plant,
)


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


_BYTES: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    _flip,
    _drop,
    _end,
    _insert,
    _repeat,
)


def _rubbish(dice: random.Random) -> bytes:
    ways = (
        lambda: dice.randbytes(dice.randrange(400)),
        lambda: json.dumps(dice.choice(_RUBBISH)).encode(),
        lambda: ("[" * dice.randrange(5_000)).encode(),
        lambda: ("a: " * dice.randrange(300)).encode(),
        lambda: b"interactions:\n" + b"- " * dice.randrange(300),
        lambda: (
            "".join(f"{chr(97 + i)}: &{chr(97 + i)} [{_nine(i)}]\n" for i in range(9))
        ).encode(),
        lambda: b'{"interactions": ' + b'[{"request": ' * dice.randrange(300),
        lambda: "".join(chr(dice.randrange(1, 0xD7FF)) for _ in range(200)).encode(),
        lambda: ("interactions:\n- request: " + dice.choice(SHAPED) + "\n  response: [\n").encode(),
    )
    return dice.choice(ways)()


def _nine(index: int) -> str:
    return ", ".join([f"*{chr(96 + index)}"] * 9) if index else "x, x"


def main(arguments: list[str]) -> int:
    """Try as many inputs as the first argument says, and print what came of them."""
    count = int(arguments[0]) if arguments else 10_000
    tally = Tally()
    started_s = time.perf_counter()
    for number in range(count):
        try_one(number, tally)
    took_s = time.perf_counter() - started_s
    say = sys.stdout.write
    say(
        f"{tally.inputs} inputs in {took_s:.0f} s: {tally.imported} imported into "
        f"{tally.scenarios} scenarios, {tally.refused} refused; "
        f"{len(tally.crashes)} tracebacks, {len(tally.leaks)} secrets\n"
    )
    say(", ".join(f"{kind} {times}" for kind, times in tally.oddities.most_common()) + "\n")
    for line in (*tally.crashes[:20], *tally.leaks[:20]):
        say(f"{line}\n")
    return 1 if tally.crashes or tally.leaks else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
