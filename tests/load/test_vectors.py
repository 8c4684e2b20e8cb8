"""A table of vectors is read strictly: what is wrong is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from faultclock.errors import HarnessError
from faultclock.load.vectors import load_vectors, vector_ids
from tests.cli.command_line import faultclock

HEAD = """\
title: A table
source:
  repository: a/b
  commit: 0123456789abcdef0123456789abcdef01234567
  path: tests.py
  licence: MIT
  read_on: "2026-11-28"
rows:
"""
ROW = "  - {id: one, cites: it, answers: [{status: 429}], wait: [1s, 2s]}\n"


@pytest.mark.parametrize("table", vector_ids())
def test_the_shipped_tables_are_sound_and_cited(table: str) -> None:
    """Each row that can be said has answers; the help names each table."""
    vectors = load_vectors(table)
    assert all(row.inexpressible or row.answers for row in vectors.rows)
    assert any(row.answers for row in vectors.rows)
    assert f"  {table} " in faultclock("conform", "--help").output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + ROW + ROW, "table.yaml:10:10: two rows have the id 'one'; the first is in line 9"),
        ("dialect: none\n" + HEAD + ROW, "table.yaml:1:10: there is no dialect 'none'"),
        (HEAD + ROW.replace("1s", "3s"), "table.yaml:9:58: the lowest wait 3s is above"),
        (HEAD + ROW.replace("1s", "1"), "table.yaml:9:59: 1 is not a duration"),
        (HEAD + ROW.replace("status", "statu"), "table.yaml:9:37: "),
        (HEAD + ROW.replace("429", "200"), "table.yaml:9:45: "),
        (HEAD + "  - {id: one, cites: it}\n", "table.yaml:9:5: give answers, and a wait"),
        (
            HEAD + ROW.replace("}\n", ", inexpressible: why}\n"),
            "table.yaml:9:5: an inexpressible row has no answers",
        ),
        (
            HEAD + ROW.replace("}\n", ", outcome: raised}\n"),
            "table.yaml:9:5: there is no wait after the answer that is raised",
        ),
        (
            HEAD + ROW.replace("429", "429, fault: {kind: connect_refused}"),
            "give exactly one of status and fault",
        ),
        (
            HEAD + ROW.replace("status: 429", "headers: {a: b}, fault: {kind: connect_refused}"),
            "headers and body go with status",
        ),
        (HEAD.replace("rows:", "rows: []"), "rows is empty: a table has at least one row"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    """File, line and column."""
    monkeypatch.chdir(tmp_path)
    Path("table.yaml").write_text(text)
    with pytest.raises(HarnessError) as raised:
        load_vectors("table.yaml")
    assert said in str(raised.value)


def test_a_table_that_does_not_exist_is_told_apart_from_a_file() -> None:
    """A near name is offered, and a path is looked for."""
    with pytest.raises(HarnessError, match="unknown table of vectors 'openai-pyton'"):
        load_vectors("openai-pyton")
    with pytest.raises(HarnessError, match=r"nowhere.yaml: there is no such file"):
        load_vectors("nowhere.yaml")
