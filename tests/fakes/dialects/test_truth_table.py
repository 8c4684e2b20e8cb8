"""The dialects against the official SDKs: each cell of the truth table."""

from __future__ import annotations

import pytest

from faultclock.fakes.dialects import dialect_names
from tests.architecture.source_tree import PROJECT
from tests.fakes.dialects.driver import Sdk, Way
from tests.fakes.dialects.truth import cases_of, complaint, sdks, seen_by

#: A service behind a tool is of no provider, so no SDK speaks to it.
_OF_NO_PROVIDER = {"http-json", "mcp"}
_CLIENTS = [(sdk, way) for sdk in sdks() for way in sdk.ways]


def _name(value: object) -> str | None:
    dialect = getattr(value, "dialect", None)
    return None if dialect is None else f"{dialect}-{getattr(value, 'client_name', '')}"


@pytest.mark.parametrize(("sdk", "way"), _CLIENTS, ids=_name)
def test_the_sdk_does_with_the_answers_what_is_written_of_it(sdk: Sdk, way: Way) -> None:
    """Good answers are understood and valid, errors raise the documented class."""
    seen = seen_by(sdk, way)
    complaints = {case.id: complaint(sdk, way, case, seen[case]) for case in cases_of(sdk)}
    assert complaints
    assert {id_: text for id_, text in complaints.items() if text} == {}


def test_each_dialect_is_proved_by_an_official_sdk() -> None:
    """In every way that the SDK has."""
    assert {sdk.dialect for sdk in sdks()} == set(dialect_names()) - _OF_NO_PROVIDER
    assert all(sdk.ways for sdk in sdks())


def test_the_page_says_by_which_sdk_each_dialect_is_proved() -> None:
    """In the last column of its row."""
    page = (PROJECT / "docs" / "dialects.md").read_text("utf-8")
    for sdk in sdks():
        (row,) = [line for line in page.splitlines() if _is_row_of(sdk.dialect, line)]
        assert sdk.distribution in row.rsplit("|", 2)[1], sdk.dialect


def _is_row_of(dialect: str, line: str) -> bool:
    return line.startswith(f"| `{dialect}` |")
