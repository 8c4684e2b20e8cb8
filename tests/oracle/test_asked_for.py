"""A tool is executed with the arguments of its call, also where it is executed again."""

from __future__ import annotations

import pytest

from tests.oracle.common_model import found
from tests.oracle.turn_builder import TurnBuilder, value

PATHS = {
    "properties": {
        "path": {"type": "string"},
        "text": {"type": "string", "default": ""},
        "mode": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        ({}, {}, "PASS"),
        # A framework fills in the defaults of the schema, in one of its paths or in both.
        ({}, {"text": ""}, "PASS"),
        ({"text": ""}, {}, "PASS"),
        # The runtime adds an argument of its own, the same each time.
        ({"mode": "x"}, {"mode": "x", "text": ""}, "PASS"),
        ({"key": "k1"}, {"key": "k1"}, "PASS"),
        # An effect that is asked for with other words is another one to whoever has it.
        ({}, {"text": "once more"}, "FAIL"),
        ({"key": "k1"}, {"key": "k2"}, "FAIL"),
        ({"key": "k1"}, {}, "FAIL"),
        ({}, {"mode": "x"}, "FAIL"),
    ],
)
def test_a_call_that_runs_again_has_the_arguments_of_the_first_time(
    first: dict[str, str], again: dict[str, str], said: str
) -> None:
    """But for those that the schema has as defaults: they say nothing new."""
    crashes = [{"id": "killed", "at": "10s"}]
    tools = ({"name": "ls", "input_schema": PATHS},)
    built = TurnBuilder(crashes=crashes, tools=tools).turn().wants('c1 ls {"path": "a"}')
    built.calls("c1", path="a", **first)
    built.crashes().opens(resume=True).begins("ask/2").stores("read")
    execution = built.calls("c1", path="a", **again)
    built.replies(execution, "c1")
    built.tells("c1", value()).says().ends()
    finding = found(built, "tools.asked-for")
    assert finding.verdict.value == said
    if said == "FAIL":
        assert finding.requirement == "COMMON-CONSENT-03"
        assert finding.observed.startswith("it ran with {'path': 'a'")
