"""What is true of an agent whose tools come from an MCP server, for each framework with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from faultclock.errors import SubjectError
from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import find_scenarios
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.judge import judge
from faultclock.run.bind_scenario import cannot_be_said
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

#: How a server is reached, and what a services file calls that.
WAYS = {"http": "host: localhost:8000", "stdio": "command: npx -y @me/notes"}
_HOSTS = """services:
  - {place}
    mcp:
      tools:
        - name: add_note
          input_schema: {{type: object, properties: {{text: {{type: string}}}}, required: [text]}}
          result: noted
"""
_ALWAYS = ("mcp/a-call-fails", "mcp/a-call-goes-well", "mcp/no-list-at-the-start")
_MORE = "rate-limits/limited-before-a-tool"


def written(folder: Path, way: str, source: str) -> str:
    """Write an agent and its services file; return the target with both."""
    file, hosts = folder / f"{way}_agent.py", folder / f"{way}.yaml"
    file.write_text(source)
    hosts.write_text(_HOSTS.format(place=WAYS[way]))
    return f"{file}:agent@services={hosts}"


def servers_are_refused_with_a_line_that_works(folder: Path, source: str, places: str) -> None:
    """All servers of an agent are named at once, and the line in the hint is a services file."""
    file, hosts = folder / "several.py", folder / "several.yaml"
    file.write_text(source)
    with pytest.raises(SubjectError, match="nothing says which tools") as caught:
        prepare(f"{file}:agent")
    assert f"MCP servers, {places}," in caught.value.message
    hosts.write_text(str(caught.value.hint).partition("into this line: ")[2])
    binding = prepare(f"{file}:agent@services={hosts}")
    assert [tool.name for tool in binding.own_tools or ()] == ["tool_1", "tool_2"]
    for scenario in find_scenarios(("mcp/a-call-goes-well",)):
        trace = run_one(scenario.runnable[0], binding, 0, isolate=True)
        assert any(trace.of_kind("tool.replied"))


def _scenarios() -> Iterator[Scenario]:
    for item in find_scenarios(("mcp", _MORE)):
        # What always fails is about how long an agent goes on.
        yield from (one for one in item.runnable if "always" not in (one.variant or ""))


def tools_stand_where_scenarios_have_tools(binding: Binding, way: str) -> None:
    """Faults of the wire reach it; nothing ends a run by force, and no MUST is broken."""
    model, played = load_error_model("common"), set()
    assert [tool.name for tool in binding.own_tools or ()] == ["add_note"]
    for scenario in _scenarios():
        if cannot_be_said(scenario, binding) is not None:
            continue
        trace = run_one(scenario, binding, 0, isolate=True)
        assert trace.footer.ending == "completed", (scenario.id, scenario.variant)
        asked = [event.asks for event in trace.of_kind("service.request")]
        assert "tools/list" in asked
        findings = judge(model, trace).findings
        bad = {item.check for item in findings if item.verdict is Verdict.FAIL}
        unshown = {item.check for item in findings if item.verdict is Verdict.INCONCLUSIVE}
        assert (bad, unshown) == (set(), set()), (scenario.id, scenario.variant)
        played.add(scenario.id)
    assert played == {*_ALWAYS, _MORE, *(["mcp/a-call-is-refused"] if way == "http" else [])}
