"""The line of the tool that a problem is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faultclock.check.tool_lines import tool_lines, with_tool
from faultclock.model.report.finding import EventMark, SourcePlace
from faultclock.model.report.problems import problems_of
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.subjects.registry import load_subject
from tests.check.samples import finding, model, run

_FILE = """
@tool
async def pay(euros: int) -> str:
    return "paid"

ask = make("ask")
"""


def test_a_problem_about_one_tool_shows_where_its_function_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No stack shows it, and a tool whose function has another name is not guessed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(_FILE)
    tools = tuple(ToolScript(name=name) for name in ("pay", "ask", "elsewhere"))
    place = SourcePlace(file="agent.py", line=1)
    lines = tool_lines(replace(load_subject("reference-runtime"), own_tools=tools, source=place))
    assert {name: (it.line, it.code) for name, it in lines.items()} == {
        "pay": (3, "async def pay(euros: int) -> str:")
    }
    called = EventMark(
        seq=1, at_ns=0, lane="subject", kind="tool.called", text="", payload={"tool": "pay"}
    )
    paid = run("one", finding("T-EFFECT-01", "paid twice"), timeline=(called,))
    (problem,) = problems_of((paid,), (), model().requirements)
    assert with_tool(problem, (paid,), lines).tool == lines["pay"]
    two = called.model_copy(update={"payload": {"tool": "ask"}})
    other = paid.model_copy(update={"timeline": (called, two)})
    assert with_tool(problem, (other,), lines).tool is None, "it is about two tools"
