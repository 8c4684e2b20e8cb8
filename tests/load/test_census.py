"""A census that was written is read back, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import InputError
from faultclock.load.census import load_census
from faultclock.model.report.census import CENSUS_FORMAT
from faultclock.render.json_text import canonical_json
from tests.render.sample_census import sample_census


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    """Every field of it."""
    path = tmp_path / "census.json"
    path.write_text(canonical_json(sample_census()))
    assert load_census(path) == sample_census()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not a census"),
        ("{}", "not a census: faultclock"),
        (f'{{"format": {CENSUS_FORMAT + 1}}}', "newer than"),
    ],
)
def test_what_is_no_census_is_refused_by_the_name_of_the_file(
    tmp_path: Path, text: str, said: str
) -> None:
    """Never with a traceback."""
    path = tmp_path / "census.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"census\.json: .*{said}"):
        load_census(path)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """As for any other file."""
    with pytest.raises(InputError, match="no such file"):
        load_census(tmp_path / "census.json")
