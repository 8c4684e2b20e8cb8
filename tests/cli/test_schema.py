"""`schema` prints what the loader's room makes."""

from __future__ import annotations

import json

import pytest

from faultclock.load.resources import scenarios_root
from tests.cli.command_line import faultclock


@pytest.mark.parametrize(
    ("what", "title"),
    [
        ("scenario", "scenario"),
        ("model", "error model"),
        ("census", "census"),
        ("kills", "kill matrix"),
        ("baseline", "baseline"),
        ("config", "configuration"),
        ("report", "report"),
        ("exploration", "exploration"),
        ("trace", "trace"),
    ],
)
def test_the_schema_is_json_and_nothing_else(what: str, title: str) -> None:
    """It is meant to be written into a file."""
    result = faultclock("schema", what)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"] == f"Faultclock {title}"


def test_the_shipped_schema_is_the_one_that_is_printed() -> None:
    """Scenario files name it in their first line; write it again when this fails."""
    stored = scenarios_root() / "scenario.schema.json"
    assert stored.read_text("utf-8") == faultclock("schema", "scenario").stdout
