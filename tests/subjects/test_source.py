"""Where a subject stands in its author's file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from faultclock.model.report.finding import SourcePlace
from faultclock.subjects.registry import load_subject
from faultclock.subjects.source import line_of, place_in

SOURCE = b'''"""An adapter."""
from elsewhere import imported, other as renamed

def decorate(function):
    return function

@decorate
@decorate
async def subject(request):
    return "Hello"

first, (second, third) = 1, (2, 3)
typed: int = 4

class Adapter:
    attempts = 3

    def call(self, request):
        return "Hello"

try:
    import fast
except ImportError:
    fast = None

if True:
    def late(request):
        return ""

subject_of = decorate(subject)
def subject_of(request):
    return ""
'''


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("subject", 9),
        ("imported", 2),
        ("renamed", 2),
        ("third", 12),
        ("typed", 13),
        ("Adapter", 15),
        ("Adapter.call", 18),
        ("Adapter.attempts", 16),
        ("Adapter.missing", 15),
        ("fast", 21),
        ("late", 26),
        ("subject_of", 31),
        ("nowhere", 1),
    ],
)
def test_the_line_is_that_of_the_definition(name: str, line: int) -> None:
    """Below its decorators, in a class, in an `if`, and the last one where there are several."""
    assert line_of(SOURCE, name) == line


@pytest.mark.parametrize("source", [b"def (", b"\x00", b"", b"\xff\xfe"])
def test_what_is_no_python_has_its_first_line(source: bytes) -> None:
    """A compiled module has a file, too."""
    assert line_of(source, "subject") == 1


def test_a_file_below_the_working_folder_is_named_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was reached by another way; no absolute path is told."""
    (tmp_path / "adapters").mkdir()
    file = tmp_path / "adapters" / "mine.py"
    file.write_bytes(SOURCE)
    monkeypatch.chdir(tmp_path)
    for way in (file, Path("adapters/../adapters/mine.py")):
        assert place_in(way, SOURCE, "subject") == SourcePlace(file="adapters/mine.py", line=9)
    monkeypatch.chdir(tmp_path / "adapters")
    assert place_in(file, SOURCE, "subject") == SourcePlace(file="mine.py", line=9)


def test_what_is_not_of_the_person_has_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of the working folder, or installed in an environment within it."""
    monkeypatch.chdir(tmp_path)
    assert place_in(Path("/elsewhere/mine.py"), SOURCE, "subject") is None
    assert place_in(tmp_path / ".venv/lib/site-packages/m.py", SOURCE, "subject") is None


def test_a_loaded_subject_knows_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its file or by the name of its module; a shipped one has none."""
    (tmp_path / "placed_adapter.py").write_text("\n\ndef subject(request):\n    return ''\n")
    monkeypatch.chdir(tmp_path)
    place = SourcePlace(file="placed_adapter.py", line=3)
    assert load_subject("placed_adapter.py:subject").source == place
    assert load_subject("placed_adapter:subject").source == place
    del sys.modules["placed_adapter"]
    assert load_subject("reference").source is None
