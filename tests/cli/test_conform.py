"""`conform` as a person meets it: the worst rows first, JSON, and an exit code for a gate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command_line import faultclock
from tests.cli.process import process
from tests.load.test_vectors import HEAD

TABLE = f"""\
{HEAD}\
  - id: seven
    cites: test_seven
    answers: [{{status: 429, headers: {{retry-after: "7"}}}}]
    wait: [7s, 7s]
  - id: upload
    cites: test_upload
    inexpressible: a request to a model is no upload
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table."""
    (tmp_path / "table.yaml").write_text(TABLE)
    return tmp_path


def test_a_table_that_is_reproduced_exits_with_0(folder: Path) -> None:
    """Source, libraries and what is inexpressible are shown, and twice the same bytes."""
    words = ("conform", "table.yaml", "--subject", "openai-async", "--json")
    done = process(folder, *words, "one.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("openai-async reproduces 1 of 1 row that can be expressed")
    assert "from: a/b at 0123456789ab, tests.py (MIT)" in done.stdout
    assert "a request to a model is no upload: upload" in done.stdout
    again = process(folder, *words, "-")
    assert again.stdout == (folder / "one.json").read_text()
    row = json.loads(again.stdout)["rows"][0]
    assert (row["verdict"], row["waits_ns"]) == ("reproduced", [7_000_000_000])
    assert "openai-async reproduces" in again.stderr


def test_a_row_that_is_contradicted_exits_with_1(folder: Path) -> None:
    """With what was expected, what was seen, and the place in the source."""
    done = process(folder, "conform", "table.yaml", "--subject", "stamina")
    assert done.returncode == 1, done.stderr
    assert 'seven: 429 {"retry-after": "7"}' in done.stdout
    assert "expected exactly 7s (wait 1 of the table)" in done.stdout
    assert "observed waited " in done.stdout
    assert "source test_seven" in done.stdout


def test_a_row_that_is_not_met_exits_with_3(folder: Path) -> None:
    """It is no pass."""
    text = TABLE.replace("wait: [7s, 7s]", "wait: [7s, 7s]\n    given: a patient client")
    (folder / "table.yaml").write_text(text)
    done = process(folder, "conform", "table.yaml", "--subject", "aiohttp")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "not reached: the call ended before the wait (1)" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gcs-retr", "--subject", "aiohttp"), "did you mean 'gcs-retry'?"),
        (("none.yaml", "--subject", "aiohttp"), "none.yaml: there is no such file"),
        (("gcs-retry", "--subject", "aiohtt"), "did you mean 'aiohttp'"),
        (("gcs-retry",), "Missing option '--subject'"),
        (("gcs-retry", "--subject", "reference-tool"), "reference-tool"),
    ],
)
def test_wrong_usage_exits_with_2(words: tuple[str, ...], said: str) -> None:
    """With what to write instead."""
    done = faultclock("conform", *words)
    assert done.exit_code == 2
    assert said in done.stderr
