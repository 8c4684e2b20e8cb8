"""What a tool of an agent asks over HTTP: answered by a file, judged by no rule of providers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.services import services_in
from faultclock.load.yaml_file import parse_document
from faultclock.model.report.finding import Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.run.prepare import prepare
from faultclock.run.replay import replay
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.run.conftest import shipped_scenario

#: What each library asks with; each gives up after five seconds.
_ASKING = {
    "httpx": "ask_httpx(text)",
    "requests": "ask_requests(text)",
    "urllib": "urllib.request.urlopen(URL, text.encode(), 5).read().decode()",
    "aiohttp": "await ask_aiohttp(text)",
}
_AGENT = """
import urllib.request

import aiohttp
import httpx
import requests
from pydantic_ai import Agent

URL = "https://notes.example.org/v1/notes"
agent = Agent("openai-chat:gpt-5.2")


def ask_httpx(text):
    return httpx.post(URL, content=text, timeout=5).raise_for_status().text


def ask_requests(text):
    answer = requests.post(URL, text, timeout=5)
    answer.raise_for_status()
    return answer.text


async def ask_aiohttp(text):
    limit = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=limit, raise_for_status=True) as session:
        async with session.post(URL, data=text) as answer:
            return await answer.text()


@agent.tool_plain
{kind} save_note(text: str) -> str:
    for _ in range({tries}):
        try:
            return "saved: " + {asks}
        except Exception as error:
            said = f"not saved: {{type(error).__name__}}"
    return said
"""
_HOST = """services:
  - host: notes.example.org
    answers: [{request: POST /v1/notes, body: noted}]
"""
#: What goes wrong, as a provider's script says it.
_FAULTS: dict[str, dict[str, Any]] = {
    "a status": {"kind": "http_error", "status": 503, "error": "unavailable"},
    "a reset": {"kind": "reset_before_response"},
    "a cut": {"kind": "truncate", "how": "eof", "after_body_bytes": 2},
    "no answer": {"kind": "stall"},
    "refused": {"kind": "connect_refused"},
    "no such name": {"kind": "dns_failure"},
    "no way there": {"kind": "connect_timeout"},
}


Agents = Callable[..., Binding]


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Agents:
    """Return an agent whose tool asks with a library, as often as it says; prepared once."""
    folder = tmp_path_factory.mktemp("agents")

    @cache
    def prepared(library: str, tries: int = 1) -> Binding:
        kind = "async def" if library == "aiohttp" else "def"
        file = folder / f"agent_{library}_{tries}.py"
        file.write_text(_AGENT.format(kind=kind, asks=_ASKING[library], tries=tries))
        return prepare(f"{file}:agent")

    return prepared


def _trace(binding: Binding, services: str = _HOST) -> Trace:
    hosts = services_in(parse_document(services.encode(), "hosts.yaml"))
    scenario = shipped_scenario("rate-limits/limited-before-a-tool")
    return run_one(scenario, replace(binding, services=hosts), 0, isolate=True)


def _with_fault(fault: dict[str, Any], when: str = "{}") -> str:
    return f"{_HOST}    faults: [{{id: down, when: {when}, then: {json.dumps(fault)}}}]\n"


def _failed(trace: Trace) -> list[str]:
    found = judge(load_error_model("common"), trace).findings
    return [f"{item.check}: {item.observed}" for item in found if item.verdict is Verdict.FAIL]


def _kinds(trace: Trace) -> list[str]:
    return [event.kind for event in trace.events if event.kind.startswith("service.")]


@pytest.mark.parametrize("library", _ASKING)
def test_a_tool_is_answered_by_the_file(library: str, agents: Agents) -> None:
    """The exchange is in the trace, beside those with the model, and is none of them."""
    trace = _trace(agents(library))
    assert trace.footer.ending == "completed"
    assert _kinds(trace) == ["service.request", "service.response", "service.exchange_ended"]
    request = next(trace.of_kind("service.request"))
    assert (request.service, request.method) == ("notes.example.org", "POST")
    assert sum(1 for _ in trace.of_kind("http.request")) == 3
    assert not any(event.host == "notes.example.org" for event in trace.of_kind("net.connect"))
    assert _failed(trace) == []


@pytest.mark.parametrize("library", _ASKING)
@pytest.mark.parametrize("fault", _FAULTS)
def test_what_goes_wrong_there_is_no_failure_of_the_provider(
    fault: str, library: str, agents: Agents
) -> None:
    """A tool that gives the model its own words for it does nothing wrong."""
    trace = _trace(agents(library), _with_fault(_FAULTS[fault]))
    assert trace.footer.ending == "completed"
    fired = [event for event in trace.of_kind("fault.fired") if event.actor == "service"]
    assert fired
    assert fired[0].of == "service notes.example.org"
    assert sum(1 for _ in trace.of_kind("http.request")) == 3
    assert _failed(trace) == []


def test_what_a_tool_tries_again_is_no_attempt_at_the_provider(agents: Agents) -> None:
    """A tool may try again at once, and as often as it likes: no rule of a provider holds there."""
    down = _with_fault(_FAULTS["a status"], "{attempts: 1-5}")
    trace = _trace(agents("httpx", 9), down)
    assert sum(1 for _ in trace.of_kind("service.request")) == 6
    assert sum(1 for _ in trace.of_kind("http.request")) == 3
    assert _failed(trace) == []


def test_a_stored_run_is_run_again_without_the_file(agents: Agents) -> None:
    """The trace has the hosts in its scenario, and each run of it is the same."""
    trace = _trace(agents("httpx", 9), _with_fault(_FAULTS["a reset"], "{attempts: 1}"))
    again = replay(trace, agents("httpx", 9))
    assert again.trace.footer.digest == trace.footer.digest


def test_answers_follow_each_other(agents: Agents) -> None:
    """The first that fits decides, and each counts the requests that fit it."""
    answers = (
        "[{request: 'POST /v1/*', nth: 1, status: 500}, {request: POST /other, body: no},"
        " {request: '*', body: noted}]"
    )
    services = f"services:\n  - host: notes.example.org\n    answers: {answers}\n"
    trace = _trace(agents("httpx", 9), services)
    assert [event.status for event in trace.of_kind("service.response")] == [500, 200]


@pytest.mark.parametrize(
    "services",
    [
        "services:\n  - host: other.example.org\n    answers: [{request: '*'}]\n",
        "services:\n  - host: notes.example.org\n    answers: [{request: GET /v1/notes}]\n",
    ],
    ids=["no such host", "no such request"],
)
def test_what_nothing_answers_is_refused_by_name(services: str, agents: Agents) -> None:
    """Any answer would be made up; the lines that would be one are in the finding."""
    trace = _trace(agents("httpx"), services)
    assert trace.footer.ending == "escape"
    assert "to notes.example.org, POST /v1/notes" in trace.footer.detail[0]
    assert sum(1 for _ in trace.of_kind("http.request")) == 2
    findings = judge(load_error_model("common"), trace).findings
    hint = next(item.hint for item in findings if item.check == "evidence.whole")
    (host,) = services_in(parse_document(hint.partition(": ")[2].encode(), "hint"))
    assert (host.host, host.answers[0].request) == ("notes.example.org", "POST /v1/notes")
