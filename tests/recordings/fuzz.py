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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from faultclock.errors import InputError, UnknownNameError
from faultclock.fakes.dialects import dialect_named
from faultclock.recordings.importing import Options, import_recording
from faultclock.recordings.outcome import Hearing
from tests.hostile.mutations import STRUCTURES, Change, changed, damaged, dumped, rubbish
from tests.recordings.planted import CASSETTES, CONTEXTUAL, SHAPED, TEXTS


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
        return "rubbish.yaml", rubbish(dice, "interactions")
    if way < 7:
        data = _loaded(path)
        for _ in range(dice.randint(1, 6)):
            data = changed(data, dice, _WAYS)
        return path.name, _dumped(data, dice)
    return path.name, damaged(content, dice)


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
        return dumped(data, dice)
    text = yaml.dump(data, Dumper=yaml.SafeDumper, allow_unicode=dice.random() < 0.5)
    return text.encode("utf-8", "replace")


def _plant(owner: Any, key: Any, dice: random.Random, places: Any) -> None:
    secret = dice.choice(SHAPED)
    sentence = dice.choice(
        ("{}", "It failed for {}.", '{{"error":{{"message":"{} in"}}}}', "a={}&b")
    )
    owner[key] = sentence.format(secret)


_WAYS: tuple[Change, ...] = (*STRUCTURES, _plant, _plant)


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
