"""The kinds of input: how one is made of a sample, and the commands that read it.

Most changes keep the type of a value, so that they get past the first check. A digest or a
signature that stands over the input is made anew, as somebody would who means it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from tests.certify.small import frozen, resigned
from tests.hostile.mutations import GENTLE, STRUCTURES, changed, damaged, dumped, rubbish
from tests.hostile.samples import Samples
from tests.hostile.trial import Trial
from tests.recordings.fuzz import mutated

_MODELS = ("afk", "common", "error-matrix", "kode-sdk", "relavium", "stud-cli")
_REFERENCE = {
    "provider_adapter": "reference",
    "runtime": "reference-runtime",
    "tool": "reference-tool",
    "session_store": "reference-store",
    "extension": "reference-extension",
}
#: Most runs of a subject are made in the process of the command, which is much cheaper.
_INLINE_SHARE = 0.95

Made = list[list[str]]
Make = Callable[[Samples, random.Random, Path], Made]


def trial(samples: Samples, number: int, only: str | None = None) -> Trial:
    """Return the trial of a number: its kind and its input follow from that alone."""
    dice = random.Random(number)
    names = [name for name, (share, _) in KINDS.items() for _ in range(share)]
    # A step that is prime meets every kind soon, and each as often as its share says.
    kind = names[number * 37 % len(names)] if only is None else only
    make = KINDS[kind][1]
    return Trial(number=number, kind=kind, make=lambda folder: make(samples, dice, folder))


def _running(dice: random.Random) -> list[str]:
    """Return the options of a command that runs a subject."""
    return ["--inline"] if dice.random() < _INLINE_SHARE else ["--wall-limit", "5s"]


# ---------------------------------------------------------------------- YAML


def _yaml(path: Path, dice: random.Random, target: Path) -> None:
    """Write a file with some nodes changed, now and then with bytes changed that mean nothing."""
    content = path.read_bytes()
    way = dice.random()
    if way < 0.7:
        data = yaml.load(content, yaml.CSafeLoader)
        ways = GENTLE if dice.random() < 0.6 else STRUCTURES
        for _ in range(dice.randint(1, 3)):
            data = changed(data, dice, ways)
        content = dumped(data, dice) if dice.random() < 0.2 else _as_yaml(data)
    elif way < 0.97:
        content = damaged(content, dice)
    else:
        content = rubbish(dice, "id")
    target.write_bytes(content)


def _as_yaml(data: Any) -> bytes:
    return yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True).encode("utf-8", "replace")


def _scenario(samples: Samples, dice: random.Random, folder: Path) -> Made:
    path = dice.choice(samples.scenarios)
    role = yaml.load(path.read_bytes(), yaml.CSafeLoader).get("role", "provider_adapter")
    _yaml(path, dice, folder / "s.yaml")
    run = ["run", "s.yaml", "--subject", _REFERENCE[role], "--quiet", *_running(dice)]
    if dice.random() < 0.3:
        run += ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif"]
    return [["validate", "s.yaml"], run]


def _model(samples: Samples, dice: random.Random, folder: Path) -> Made:
    _yaml(dice.choice(samples.models), dice, folder / "m.yaml")
    judge = ["judge", str(dice.choice(samples.traces)), "--model", "m.yaml", "--quiet"]
    return [["validate", "m.yaml"], judge]


def _map(samples: Samples, dice: random.Random, folder: Path) -> Made:
    path = dice.choice(samples.maps)
    _yaml(path, dice, folder / "m.yaml")
    log = str(dice.choice(samples.logs(path.stem)))
    return [["validate", "m.yaml"], ["judge", log, "--map", "m.yaml", "--quiet"]]


def _log(samples: Samples, dice: random.Random, folder: Path) -> Made:
    map_ = dice.choice(samples.maps).stem
    lines = dice.choice(samples.logs(map_)).read_bytes().splitlines(keepends=True)
    content = _lines(lines, dice) if dice.random() < 0.7 else damaged(b"".join(lines), dice)
    (folder / "log.jsonl").write_bytes(content)
    judge = ["judge", "log.jsonl", "--map", map_]
    return [[*judge, "--complete"] if dice.random() < 0.5 else judge]


def _lines(lines: list[bytes], dice: random.Random) -> bytes:
    found = [json.loads(line) for line in lines]
    for _ in range(dice.randint(1, 4)):
        found = changed(found, dice, STRUCTURES)
    return b"".join(dumped(item, dice) + b"\n" for item in found)


def _baseline(samples: Samples, dice: random.Random, folder: Path) -> Made:
    _yaml(samples.folder / "known.yaml", dice, folder / "known.yaml")
    report = str(samples.folder / "report.json")
    dates = ["--reason", "r", "--owner", "o", "--expires", "2030-01-31"]
    return [
        ["baseline", "check", "known.yaml", report],
        ["baseline", "update", "known.yaml", report, *dates],
    ]


def _config(samples: Samples, dice: random.Random, folder: Path) -> Made:
    table = {
        "subject": "reference",
        "model": "stud-cli",
        "readings": {"cut-answers": "unmapped"},
        "scenarios": ["rate-limits/retry-after-integer"],
        "seeds": 1,
        "wall-limit": "5s",
        "baseline": "known.yaml",
        "history": "h.sqlite",
    }
    for name in dice.sample(sorted(table), 4):
        del table[name]
    for _ in range(dice.randint(0, 3)):
        table = changed(table, dice, STRUCTURES)
    text = "[tool.faultclock]\n" + "".join(
        f"{name if name.replace('-', '').isalnum() else json.dumps(name)} = {_toml(value)}\n"
        for name, value in table.items()
    )
    content = text.encode("utf-8", "replace")
    if dice.random() < 0.4:
        content = damaged(content, dice)
    (folder / "pyproject.toml").write_bytes(content)
    shutil.copy(samples.folder / "known.yaml", folder)
    return [["run", "rate-limits/retry-after-integer", "--inline", "--quiet"]]


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, int) and abs(value) > 1 << 70:
        # More digits than Python reads.
        return "9" * 5_000
    return json.dumps(value)


# ---------------------------------------------------------------------- traces


def _trace(samples: Samples, dice: random.Random, folder: Path) -> Made:
    path = dice.choice(samples.traces)
    _write_trace(path, dice, folder / "t.jsonl")
    notes = path.with_name(path.name.removesuffix(".jsonl") + ".notes.json")
    if notes.exists():
        content = notes.read_bytes()
        (folder / "t.notes.json").write_bytes(
            _json(content, dice) if dice.random() < 0.5 else content
        )
    judge = ["judge", "t.jsonl", "--model", dice.choice(_MODELS)]
    if dice.random() < 0.4:
        outputs = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif", "--json", "r.json"]
        judge += [*outputs, "--github-annotations", "g.txt", "--gitlab", "g.json"]
    commands = [["validate", "t.jsonl"], judge]
    if dice.random() < 0.15:
        commands.append(["replay", "t.jsonl", *_running(dice)])
    return commands


def _write_trace(path: Path, dice: random.Random, target: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    if dice.random() < 0.15:
        target.write_bytes(damaged(b"".join(lines), dice))
        return
    header, *events, footer = [json.loads(line) for line in lines]
    ways = GENTLE if dice.random() < 0.6 else STRUCTURES
    for _ in range(dice.randint(1, 3)):
        way = dice.random()
        if way < 0.5:
            events = changed(events, dice, ways)
        elif way < 0.6 and events:
            at = dice.randrange(len(events))
            events[at : at + dice.randint(0, 2)] = [
                dice.choice(events) for _ in range(dice.randrange(3))
            ]
        elif way < 0.75 and events:
            one, other = dice.choice(events), dice.choice(events)
            with suppress(TypeError, KeyError):
                one["kind"], one["actor"] = other["kind"], other["actor"]
        elif way < 0.9:
            header = changed(header, dice, ways)
        else:
            footer = changed(footer, dice, ways)
    _renumber(events, footer, dice)
    content = b"".join(dumped(item) + b"\n" for item in (header, *events))
    with suppress(TypeError, KeyError):
        footer["footer"]["digest"] = hashlib.sha256(content).hexdigest()
    target.write_bytes(content + dumped(footer) + b"\n")


def _renumber(events: list[Any], footer: Any, dice: random.Random) -> None:
    at_ns = 0
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict) or dice.random() < 0.001:
            continue
        event["seq"] = number
        if isinstance(event.get("at_ns"), int):
            event["at_ns"] = at_ns = max(at_ns, min(event["at_ns"], (1 << 63) - 1))
    with suppress(TypeError, KeyError):
        footer["footer"]["events"] = len(events)


# ---------------------------------------------------------------------- what commands have written


def _report(samples: Samples, dice: random.Random, folder: Path) -> Made:
    names = ("report.json", "part-1.json", "part-2.json", "checkup.json")
    for name in names:
        shutil.copy(samples.folder / name, folder)
    name = dice.choice(names)
    (folder / name).write_bytes(_json((folder / name).read_bytes(), dice))
    if name.startswith("part"):
        outputs = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif", "--json", "r.json"]
        return [["merge", *names[1:3], *outputs]]
    good = str(samples.folder / name)
    known = str(samples.folder / "known.yaml")
    commands = [["diff", good, name], ["diff", name, good], ["baseline", "check", known, name]]
    if dice.random() < 0.1:
        named = [dice.choice(samples.findings), "--report", name]
        commands.append(["replay", *named, *_running(dice)])
    return commands


def _json(content: bytes, dice: random.Random) -> bytes:
    if dice.random() < 0.2:
        return damaged(content, dice)
    data = json.loads(content)
    ways = GENTLE if dice.random() < 0.6 else STRUCTURES
    for _ in range(dice.randint(1, 3)):
        data = changed(data, dice, ways)
    return dumped(data, dice)


def _census(samples: Samples, dice: random.Random, folder: Path) -> Made:
    (folder / "other.json").write_bytes(_json((samples.folder / "census.json").read_bytes(), dice))
    add = ["census", "--add", "other.json", "--html", "c.html", "--json", "c.json", "--quiet"]
    drift = ["drift", str(samples.folder / "census.json"), "other.json", "--html", "d.html"]
    return [[*add, "requests-retry", "--scenario", "rate-limits/retry-after-integer"], drift]


def _history(samples: Samples, dice: random.Random, folder: Path) -> Made:
    path = folder / "h.sqlite"
    shutil.copy(samples.folder / "history.sqlite", path)
    if dice.random() < 0.4:
        _changed_rows(path, dice)
    else:
        content = bytearray(path.read_bytes())
        for _ in range(dice.randint(1, 8)):
            # The first page, with the header and the tables, counts as much as all others.
            end = len(content) if dice.random() < 0.5 else 4096
            at = dice.randrange(end)
            size = dice.choice((1, 1, 4, 64, 512))
            content[at : at + size] = dice.choice((bytes(size), dice.randbytes(size)))
        if dice.random() < 0.1:
            del content[dice.randrange(len(content)) :]
        path.write_bytes(content)
    commands = [["history", "h.sqlite"], ["history", "h.sqlite", "--json"]]
    if dice.random() < 0.3:
        named = [
            "rate-limits/retry-after-integer",
            "--subject",
            "reference",
            "--history",
            path.name,
        ]
        commands.append(["run", *named, "--inline", "--quiet"])
    return [*commands, ["history", "h.sqlite", "--move-aside"]]


def _changed_rows(path: Path, dice: random.Random) -> None:
    """Change what SQL can change; STRICT tables refuse some of it."""
    connection = sqlite3.connect(path, isolation_level=None)
    # IndexError: an earlier change has left no table.
    with suppress(sqlite3.Error, IndexError):
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        tables = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE sql > ''")
        ]
        for _ in range(dice.randint(1, 3)):
            table = dice.choice(tables)
            column = dice.choice(
                [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            )
            value = dice.choice(
                ("NULL", "0", "-1", "'{}'", "''", "'['", "x'ff'", "CAST(x'ff41' AS TEXT)")
            )
            number = dice.choice((0, -1, 99, 1))
            statement = dice.choice(
                (
                    *(f"UPDATE {table} SET {column} = {value}",) * 4,
                    f"DELETE FROM {table}",
                    f"DROP TABLE {table}",
                    f"ALTER TABLE {table} RENAME COLUMN {column} TO other",
                    f"PRAGMA user_version = {number}",
                    f"PRAGMA application_id = {number}",
                )
            )
            with suppress(sqlite3.Error):
                connection.execute(statement)
    connection.close()


def _certificate(samples: Samples, dice: random.Random, folder: Path) -> Made:
    root = folder / "certificate"
    shutil.copytree(samples.folder / "certificate", root, copy_function=os.link)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    signs_again = dice.random() < 0.6
    path = dice.choice([*files, *(item for item in files if "traces" not in item.parts)])
    if path.suffix == ".jsonl" and signs_again:
        content = _trace_again(path, dice)
    elif path.suffix == ".json" and dice.random() < 0.7:
        data = json.loads(path.read_bytes())
        for _ in range(dice.randint(1, 2)):
            data = changed(data, dice, STRUCTURES)
        content = dumped(data, dice)
    else:
        content = damaged(path.read_bytes(), dice)
    for other in files:
        # Not through the link: the sample stays as it is.
        original = other.read_bytes()
        other.unlink()
        other.write_bytes(original)
    if signs_again:
        with suppress(Exception):
            # A statement that makes no sense cannot be signed; then the files are as they are.
            resigned(root, samples.key, {path.relative_to(root).as_posix(): content})
    else:
        path.write_bytes(content)
    frozen().__enter__()
    verify = ["verify", "certificate", "--key", str(samples.folder / "key.pub")]
    return [[*verify, "--json", "v.json", "--quiet"]]


def _trace_again(path: Path, dice: random.Random) -> bytes:
    target = path.with_name("changed")
    _write_trace(path, dice, target)
    content = target.read_bytes()
    target.unlink()
    return content


def _key(samples: Samples, dice: random.Random, folder: Path) -> Made:
    (folder / "k.pub").write_bytes(damaged((samples.folder / "key.pub").read_bytes(), dice))
    (folder / "k").write_bytes(damaged((samples.folder / "key").read_bytes(), dice))
    frozen().__enter__()
    certificate = str(samples.folder / "certificate")
    return [["verify", certificate, "--key", name, "--quiet"] for name in ("k.pub", "k")]


def _recording(samples: Samples, dice: random.Random, folder: Path) -> Made:
    name, content = mutated(dice)
    (folder / name).write_bytes(content)
    return [["import", name, "-o", "scenarios"]]


def _token(samples: Samples, dice: random.Random, _: Path) -> Made:
    text = dice.choice(samples.tokens)
    token = damaged(text.encode(), dice).decode("utf-8", "replace").replace("\0", "0")
    return [["replay", token, *_running(dice)]] if not token.startswith("-") else []


#: Kind to its share and how an input of it is made. Shares are about what one costs, and how much
#: of the package reads it.
KINDS: dict[str, tuple[int, Make]] = {
    "trace": (30, _trace),
    "scenario": (18, _scenario),
    "model": (8, _model),
    "map": (5, _map),
    "log": (6, _log),
    "baseline": (5, _baseline),
    "config": (5, _config),
    "report": (8, _report),
    "history": (8, _history),
    "certificate": (4, _certificate),
    "key": (1, _key),
    "recording": (6, _recording),
    "census": (1, _census),
    "token": (2, _token),
}
