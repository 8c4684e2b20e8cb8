"""What was written as JSON before is read again strictly."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from faultclock.errors import InputError
from faultclock.load.json_file import as_written, read_json


class Note(BaseModel):
    """Something that was written."""

    format: int = 2
    text: str


def note(path: Path, text: str) -> Note:
    """Return the note in a file of this text."""
    path.write_text(text, encoding="utf-8")
    return as_written(read_json(path, bytes_max=100, hint="write it again"), Note, "note", path)


@pytest.mark.parametrize("written", [1, 2])
def test_what_was_written_is_read_back(tmp_path: Path, written: int) -> None:
    """By this version, or by an older one."""
    told = note(tmp_path / "a.json", f'{{"format": {written}, "text": "hello"}}')
    assert (told.format, told.text) == (written, "hello")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 2, "te', "this is not JSON"),
        ("[" * 90, "this is not JSON"),
        ('{"format": 3, "text": "hello"}', "note format 3 is newer than 2"),
        ('{"format": 2}', "this is not a note: text: Field required"),
        ("[]", "this is not a note: "),
        ('{"text": "' + "x" * 200 + '"}', "bytes"),
    ],
)
def test_what_is_something_else_is_refused_with_one_sentence(
    tmp_path: Path, text: str, said: str
) -> None:
    """It names the file and says what is wrong with it."""
    with pytest.raises(InputError) as refused:
        note(tmp_path / "a.json", text)
    assert said in refused.value.message
    assert "a.json" in refused.value.message
