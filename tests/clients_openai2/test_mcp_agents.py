"""Agents whose tools come from MCP servers: in the shipped scenarios, and in those of `mcp`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
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
from faultclock.sim.patches import installed
from faultclock.subjects.binding import Binding

_SERVERS = {
    "http": 'MCPServerStreamableHttp({"url": "http://localhost:8000/mcp"})',
    "stdio": 'MCPServerStdio({"command": "npx", "args": ["-y", "@me/notes"]})',
}
_PLACES = {"http": "host: localhost:8000", "stdio": "command: npx -y @me/notes"}
_AGENT = """
from agents import Agent
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

agent = Agent(name="Assistant", mcp_servers=[{server}])
"""
_HOSTS = """services:
  - {place}
    mcp:
      tools:
        - name: add_note
          input_schema: {{type: object, properties: {{text: {{type: string}}}}, required: [text]}}
          result: noted
"""
Agents = Callable[[str], Binding]


@pytest.fixture(scope="module", autouse=True)
def _patched() -> Iterator[None]:
    with installed():
        yield


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    """Return an agent with a server that is asked, or one that is started."""
    folder = tmp_path_factory.mktemp("agents")
    return cache(lambda way: prepare(_written(folder, way)))


def _written(folder: Path, way: str) -> str:
    file, hosts = folder / f"{way}_agent.py", folder / f"{way}.yaml"
    file.write_text(_AGENT.format(server=_SERVERS[way]))
    hosts.write_text(_HOSTS.format(place=_PLACES[way]))
    return f"{file}:agent@services={hosts}"


def _scenarios() -> Iterator[Scenario]:
    for item in find_scenarios(("mcp", "tools/loop-bound", "rate-limits/limited-before-a-tool")):
        yield from item.runnable


@pytest.mark.parametrize("way", _SERVERS)
def test_its_tools_stand_where_scenarios_have_tools(way: str, agents: Agents) -> None:
    """Faults of the wire reach it; nothing ends a run by force, and no MUST is broken."""
    binding, model, played = agents(way), load_error_model("common"), set()
    assert [tool.name for tool in binding.own_tools or ()] == ["add_note"]
    for scenario in _scenarios():
        if cannot_be_said(scenario, binding) is not None:
            continue
        trace = run_one(scenario, binding, 0, isolate=True)
        assert trace.footer.ending == "completed", scenario.variant
        asked = [event.asks for event in trace.of_kind("service.request")]
        assert "tools/list" in asked
        findings = judge(model, trace).findings
        bad = {item.check for item in findings if item.verdict is Verdict.FAIL}
        unshown = {item.check for item in findings if item.verdict is Verdict.INCONCLUSIVE}
        assert (bad, unshown) == (set(), set()), (scenario.id, scenario.variant)
        played.add(scenario.id)
    refused = {"mcp/a-call-is-refused"} if way == "http" else set()
    assert played == refused | {
        "mcp/a-call-fails",
        "mcp/a-call-goes-well",
        "mcp/no-list-at-the-start",
        "rate-limits/limited-before-a-tool",
        "tools/loop-bound",
    }


@pytest.mark.parametrize("way", _SERVERS)
def test_a_server_of_which_nothing_is_said_is_refused(way: str, tmp_path: Path) -> None:
    """With the lines that would say it: no server of the user's is asked or started."""
    spec, _, _ = _written(tmp_path, way).partition("@services")
    with pytest.raises(SubjectError, match="nothing says which tools it has") as caught:
        prepare(spec)
    assert "mcp: {tools:" in str(caught.value.hint)
