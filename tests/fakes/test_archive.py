"""The archive keeps files, and each file that is saved is a fact."""

from __future__ import annotations

import hashlib
import json
from inspect import iscoroutinefunction
from typing import Any

import pytest

from faultclock.fakes.ports.archive import FakeArchive
from tests.fakes.used_life import BOTH, UsedLife


def archive(kernel: Any, style: Any, life: int) -> FakeArchive:
    """Make an archive."""
    return FakeArchive(kernel, style, life)


def saved(name: Any, text: Any, style: str = "async") -> dict[str, Any]:
    """Return the fact about one file."""
    life = UsedLife(archive, style)
    assert life.run(lambda fake: fake.save(name, text)) == [None]
    ((_, kind, payload),) = life.facts()
    assert kind == "archive.saved"
    json.dumps(payload, allow_nan=False)
    return payload


@BOTH
def test_a_file_is_known_by_name_size_digest_and_text(style: str) -> None:
    """Bytes are those of UTF-8."""
    text = "Größer als 3"
    assert saved("review_raw.md", text, style) == {
        "name": "review_raw.md",
        "bytes_count": 14,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "text": text,
        "json": None,
    }


def test_an_object_is_kept_as_one() -> None:
    """Whoever judges need not parse; floats are texts, as in every fact."""
    fact = saved("meta.json", '{"status": "failed", "key": "sk-0123456789abcdef", "cost": 0.5}')
    assert fact["json"] == {"status": "failed", "key": "<secret>", "cost": "0.5"}
    assert "sk-" not in fact["text"]


@pytest.mark.parametrize("text", ["[1, 2]", "3", "null", "{", "", "{'a': 1}", "[" * 100_000])
def test_anything_else_is_no_object(text: str) -> None:
    """A list, a number, half an object, and what no parser survives."""
    assert saved("meta.json", text)["json"] is None


def test_a_long_text_is_cut_and_its_size_and_digest_are_of_the_whole() -> None:
    """A trace is no archive."""
    text = "x" * 10_000
    fact = saved("log.txt", text)
    assert fact["text"] == f"{'x' * 4_000}…"
    assert fact["bytes_count"] == 10_000
    assert fact["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@BOTH
@pytest.mark.parametrize(("name", "text"), [("a.md", b"bytes"), (3, "text"), ("a.md", None)])
def test_only_texts_are_kept(name: Any, text: Any, style: str) -> None:
    """By their names."""
    life = UsedLife(archive, style)
    (refused,) = life.run(lambda fake: fake.save(name, text))
    assert isinstance(refused, TypeError)
    assert life.facts() == []


def test_saving_is_a_coroutine_function_for_an_async_subject() -> None:
    """Some runtimes ask which it is."""
    assert iscoroutinefunction(UsedLife(archive).fake.save)
    assert not iscoroutinefunction(UsedLife(archive, "sync").fake.save)
