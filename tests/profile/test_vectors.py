"""A table is judged by the checks of any run: one subject reproduces it, and another does not."""

from __future__ import annotations

from typing import Any

import pytest

from faultclock.load.vectors import load_vectors, vector_ids
from faultclock.model.report.vector_report import RowResult, VectorReport
from faultclock.model.scenario.vectors import Vectors
from faultclock.oracle.judge import CHECKS
from faultclock.profile.vectors import conform, model_of, scenario_of
from faultclock.run.prepare import hosted

SOURCE = {
    "repository": "a/b",
    "commit": "0" * 40,
    "path": "tests.py",
    "licence": "MIT",
    "read_on": "2026-11-28",
}
LIMITED = {"status": 429, "headers": {"retry-after": "7"}}
RESET = {"fault": {"kind": "reset_before_response"}}


def table(**row: Any) -> Vectors:
    """Return a table of one row."""
    rows = [{"id": "row", "cites": "a test", **row}]
    return Vectors.model_validate({"title": "t", "source": SOURCE, "rows": rows})


def result(subject: str, **row: Any) -> RowResult:
    """Return what a subject does about one row."""
    return conform("t", table(**row), hosted(subject), subject).rows[0]


@pytest.mark.parametrize(
    ("row", "reproduces", "contradicts"),
    [
        ({"answers": [LIMITED], "wait": ["7s", "7s"]}, "reference-common", "stamina"),
        (
            {"answers": [LIMITED], "wait": ["7s", "7s"], "outcome": "answered"},
            "openai-async",
            "mini-ignores-retry-after",
        ),
        ({"answers": [{"status": 500}], "outcome": "answered"}, "reference-common", "aiohttp"),
        (
            {"answers": [{"status": 400}], "outcome": "raised"},
            "reference-common",
            "httpx2-tenacity",
        ),
        (
            {"answers": [{"status": 500, "times": 3}], "outcome": "raised"},
            "openai-async",
            "stamina",
        ),
        ({"answers": [RESET], "outcome": "raised"}, "aiohttp", "openai-async"),
    ],
)
def test_each_kind_of_row_has_a_subject_that_reproduces_it_and_one_that_does_not(
    row: dict[str, Any], reproduces: str, contradicts: str
) -> None:
    """The finding says what was expected and what was seen."""
    assert result(reproduces, **row).verdict == "reproduced"
    wrong = result(contradicts, **row)
    assert wrong.verdict == "not reproduced"
    assert wrong.expected
    assert wrong.observed


def test_a_wait_is_judged_at_both_ends() -> None:
    """The ends themselves are legal; below and above them nothing is."""
    for wait, verdict in (
        (["7s", "7s"], "reproduced"),
        (["6s", "6.9s"], "not reproduced"),
        (["7.1s", "9s"], "not reproduced"),
    ):
        assert result("openai-async", answers=[LIMITED], wait=wait).verdict == verdict


def test_what_a_client_never_comes_to_is_no_pass_and_no_failure() -> None:
    """It gave up before the wait, or its source has one that tries more often."""
    third = {"answers": [{"status": 500, "times": 3}], "wait": ["1ms", "9s"]}
    early = result("openai-async", **third)
    assert (early.verdict, early.attempts) == ("not reached", 3)
    five = {"answers": [{"status": 500, "times": 4}], "outcome": "answered"}
    assert result("openai-async", **five).verdict == "not reproduced"
    given = result("openai-async", **five, given="max_retries=4")
    assert given.verdict == "not reached"
    assert "the row is of a client with max_retries=4" in given.reason


def test_what_cannot_be_said_is_listed_with_its_reason() -> None:
    """By the row itself, and where the subject speaks another API."""
    assert result("aiohttp", inexpressible="why").reason == "why"
    other = table(answers=[LIMITED], outcome="answered").model_copy(update={"dialect": "cohere"})
    report = conform("t", other, hosted("aiohttp"), "aiohttp")
    assert report.rows[0].verdict == "inexpressible"
    assert "it is in the dialect cohere" in report.rows[0].reason
    assert report.verdict == "unclear"


def test_a_table_is_not_reproduced_where_one_row_is_not() -> None:
    """And unclear where one was not met."""

    def verdict(*verdicts: str) -> str:
        rows = [
            {"id": f"r{n}", "cites": "c", "answers": (), "verdict": it}
            for n, it in enumerate(verdicts)
        ]
        said = {"faultclock": "0", "table": "t", "title": "t", "source": SOURCE}
        said |= {"subject": "s", "distributions": {}, "rows": rows}
        return VectorReport.model_validate(said).verdict

    assert verdict("reproduced", "inexpressible") == "reproduced"
    assert verdict("reproduced", "not reproduced", "not reached") == "not reproduced"
    for missing in ("not reached", "no result"):
        assert verdict("reproduced", missing) == "unclear"
    assert verdict("inexpressible") == "unclear"


@pytest.mark.parametrize("name", vector_ids())
def test_each_row_of_a_shipped_table_is_a_scenario_and_an_error_model(name: str) -> None:
    """Its requirements name checks that there are."""
    vectors, known = load_vectors(name), {check.id for check in CHECKS}
    for row in vectors.rows:
        if row.answers:
            assert scenario_of(vectors, row).provider.faults
            for requirement in model_of(vectors, row).requirements:
                assert set(requirement.checks) <= known
