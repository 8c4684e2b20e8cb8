"""Whatever a file, a key, an actor or a message is called: no output obeys it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings

from faultclock.model.report.finding import Verdict
from faultclock.render.json_text import canonical_json
from tests.cli.command_line import faultclock
from tests.cli.hostile_text import NASTY, hostile_texts, obeyed
from tests.cli.process import process
from tests.cli.reports import finding, run, small_report
from tests.cli.test_judge import LOG, MAP
from tests.cli.test_run import ADAPTER, ONE
from tests.recordings.planted import CASSETTES


def file(folder: Path, name: str, ending: str, text: str) -> str:
    """Write a file whose name is as hostile as a file system lets it be."""
    short = name.replace("/", "").replace("\0", "").encode()[:120].decode("utf-8", "ignore")
    path = folder / f"{short}{ending}"
    path.write_text(text, encoding="utf-8")
    return str(path)


def validate(folder: Path, text: str) -> list[tuple[str, ...]]:
    """A name of a file, of one that is right too, and a key."""
    key = yaml.safe_dump({text: 1}, allow_unicode=False)
    right = file(folder, text, "right.jsonl", LOG)
    return [
        ("validate", file(folder, text, ".yaml", key), right),
        ("validate", file(folder, f"{text}is-not-there", ".yaml", key) + "x"),
        ("validate", str(folder)),
    ]


def judge(folder: Path, text: str) -> list[tuple[str, ...]]:
    """An actor, a name of an event, and a name of a file."""
    events = [json.loads(line) for line in LOG.splitlines()]
    for event in events[1:3]:
        event.update({name: text for name in ("actor", "event", "type", "name") if name in event})
    map_ = file(folder, "shop", ".yaml", MAP)
    lines = "".join(f"{json.dumps(event)}\n" for event in events)
    return [("judge", file(folder, text, ".jsonl", lines), "--map", map_)]


def listing(folder: Path, text: str) -> list[tuple[str, ...]]:
    """A name that is not known, of each kind."""
    return [("list", "scenarios", f"{text}x"), (f"{text}x",), ("list", f"--{text}"), ("list", text)]


def imported(folder: Path, text: str) -> list[tuple[str, ...]]:
    """A name of a recording, and of a folder."""
    good = (CASSETTES / "openai-chat" / "good.yaml").read_text("utf-8")
    recording = file(folder, text, ".yaml", good)
    output = str(Path(recording).with_suffix(".out"))
    return [("import", recording, "-o", output), ("import", f"{recording}x", "-o", output)]


def reports(folder: Path, text: str) -> list[tuple[str, ...]]:
    """Names of two reports, and all that they say."""
    bad = finding(Verdict.FAIL, observed=text, expected=text, reason=text, hint=text)
    old, new = (
        small_report(run(verdict, *found, ending_detail=(text,), replay=text), model_title=text)
        for verdict, found in ((Verdict.PASS, ()), (Verdict.FAIL, (bad,)))
    )
    paths = [
        file(folder, text, f"{number}.json", canonical_json(report))
        for number, report in enumerate((old, new))
    ]
    return [("diff", *paths), ("merge", *paths), ("merge", paths[1]), ("diff", paths[1], "x")]


@pytest.mark.parametrize("commands", [validate, judge, listing, imported, reports])
@settings(max_examples=12, deadline=None)
@given(text=hostile_texts())
def test_no_foreign_text_is_obeyed(
    commands: Callable[[Path, str], list[tuple[str, ...]]], text: str
) -> None:
    """No control character but a newline, and no line that a build server takes for an order."""
    folder = Path(tempfile.mkdtemp())
    try:
        for words in commands(folder, text):
            result = faultclock(*words)
            assert result.exit_code in (0, 1, 2, 3), result.output
            assert obeyed(result.stdout) == [], ascii(result.stdout)
            assert obeyed(result.stderr) == [], ascii(result.stderr)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("command", ["run", "check"])
def test_what_a_subject_raises_and_prints_is_not_obeyed(tmp_path: Path, command: str) -> None:
    """In the table, in the findings and in what --show-output shows."""
    body = f"    print({NASTY!r})\n    raise ValueError({NASTY!r})\n"
    (tmp_path / "mine.py").write_text(ADAPTER.partition("    connection =")[0] + body)
    words = (
        (command, ONE, "--subject", "mine.py:subject")
        if command == "run"
        else (command, "mine.py:subject", "--only", "rate-limits", "--all")
    )
    done = process(tmp_path, *words, "--show-output")
    assert done.returncode == (3 if command == "run" else 2), done.stderr
    assert "PWN" in done.stdout + done.stderr
    assert obeyed(done.stdout) == [], ascii(done.stdout)
    assert obeyed(done.stderr) == [], ascii(done.stderr)


def test_a_name_of_a_file_stays_in_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot add a line of its own to what is said."""
    monkeypatch.chdir(tmp_path)
    name = "a\n::error file=x::PWN.yaml"
    Path(os.fsencode(name).decode()).write_text("id: [", encoding="utf-8")
    result = faultclock("validate", name)
    assert result.stderr.splitlines()[0].startswith("a\\n::error file=x::PWN.yaml:")
