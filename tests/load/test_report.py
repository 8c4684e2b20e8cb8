"""A report is read strictly: what is drawn of a run fits the catalogue of event kinds, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.load.report import load_report
from faultclock.load.resources import fixtures_root
from tests.cli.command_line import faultclock

_TRACE = "golden-traces/rate-limits__retry-after-integer.reference.jsonl"


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """Return a report of one run, and what is in it."""
    path = tmp_path / "report.json"
    faultclock("judge", str(fixtures_root() / _TRACE), "--json", str(path))
    return path, json.loads(path.read_bytes())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("kind", "call.left", "call.left: payload."),
        ("kind", "call.told", "there is no kind of event 'call.told'"),
        ("lane", "subject", "is recorded by harness, not by 'subject'"),
        ("payload", {"call": 1e999}, "call.started: payload.call: "),
    ],
)
def test_a_timeline_with_an_event_of_no_kind_is_refused(
    written: tuple[Path, dict[str, Any]], field: str, value: Any, words: str
) -> None:
    """A page draws it, and would read what is not there."""
    path, report = written
    load_report(path)
    report["runs"][0]["timeline"][1][field] = value
    path.write_text(json.dumps(report))
    with pytest.raises(InputError) as caught:
        load_report(path)
    assert caught.value.message.startswith(
        f"{path}: this is not a report: runs.0.timeline: event 2"
    )
    assert words in caught.value.message
    assert faultclock("merge", str(path)).exit_code == 2
