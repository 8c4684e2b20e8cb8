"""What a person reads is written in plain words: riddle words that were taken out do not come back.

Quotations are left out: the five documents' sentences, titles of public bugs, findings that show
them. Names of checks, fields and options stand in backticks, or hold no space, and may be as they
are.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from faultclock.load.resources import error_models_root
from faultclock.load.scenario import find_scenarios
from tests.architecture.source_tree import PACKAGE, PROJECT

#: Subject first, active verb: each of these hides who does a thing, or to which reader.
_RIDDLE = re.compile(
    r"(?<![\w./`-])(?:whoever|whom|nobody|somebody|whatever|told|tells)(?![\w./`-]*[\w`])", re.I
)
#: Pages in words of our own; the reference and the cross table quote the documents.
_PAGES = sorted(
    path.relative_to(PROJECT).as_posix()
    for path in (PROJECT / "docs").rglob("*.md")
    if path.parent.name != "reference" and path.name != "cross-table.md"
)
#: Rooms whose texts reach a person: findings, messages, hints.
_ROOMS = (
    "certify", "check", "explore", "fakes", "history", "kills", "live", "load", "model", "oracle",
    "profile", "recordings", "run",
)  # fmt: skip
#: Texts of the neutral model that are ours; `sources` are titles of pages and of public bugs.
_OWN_FIELDS = ("change", "does", "handler", "hint", "recoverable", "says", "sentence")
_SQL = re.compile(r"\b(?:FROM|JOIN|SELECT)\b")


@pytest.mark.parametrize("page", _PAGES)
def test_a_page_has_no_riddle_words(page: str) -> None:
    """Outside of what commands print and of quotations."""
    text = re.sub(r"^```.*?^```$", "", (PROJECT / page).read_text("utf-8"), flags=re.S | re.M)
    text = re.sub(r"`[^`]*`|^>.*$|^<!--.*?-->$", "", text, flags=re.M)
    assert _RIDDLE.findall(text) == []


@pytest.mark.parametrize("room", _ROOMS)
def test_the_texts_of_a_room_have_no_riddle_words(room: str) -> None:
    """Findings, checks, messages and hints say who does what."""
    assert (PACKAGE / room).is_dir()
    found = [
        f"{path.name}:{line}: {text}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for line, text in _texts(path)
        if _RIDDLE.search(text)
    ]
    assert found == []


def test_the_neutral_model_has_no_riddle_words() -> None:
    """Each demand, what its breach does, and what mends it."""
    model = yaml.safe_load((error_models_root() / "common.yaml").read_text("utf-8"))
    assert [text for text in _fields(model, _OWN_FIELDS) if _RIDDLE.search(text)] == []


def test_the_scenarios_of_the_neutral_model_have_no_riddle_words() -> None:
    """Titles and reasons; those of the documents are frozen in requirement sets."""
    texts = [
        text
        for item in find_scenarios(("common",))
        for text in (item.scenario.title, item.scenario.why)
    ]
    assert texts
    assert [text for text in texts if _RIDDLE.search(text)] == []


@pytest.mark.parametrize(
    "schema",
    [
        "scenarios/scenario.schema.json",
        "docs/reference/report.schema.json",
        "docs/reference/checkup.schema.json",
    ],
)
def test_a_published_schema_has_no_riddle_words(schema: str) -> None:
    """An editor shows these descriptions while a scenario is written."""
    tree = json.loads((PROJECT / schema).read_text("utf-8"))
    assert [text for text in _fields(tree, ("description",)) if _RIDDLE.search(text)] == []


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each text of a module with its line; docstrings, names and queries are none."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in silent:
            continue
        text = node.value
        if isinstance(text, str) and " " in text.strip() and not _SQL.search(text):
            yield node.lineno, text


def _fields(tree: Any, names: tuple[str, ...]) -> Iterator[str]:
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if key in names and isinstance(value, str):
                yield value
            else:
                yield from _fields(value, names)
    elif isinstance(tree, list):
        for value in tree:
            yield from _fields(value, names)
