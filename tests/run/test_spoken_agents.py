"""Whole agents in every API that agents are written for: judged alike, whatever they speak."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache
from pathlib import Path

import openai
import pytest

from faultclock.load.error_model import load_error_model
from faultclock.load.scenario import load_scenario
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.oracle.wire.attempts import observe
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.doctor.probe import probe
from faultclock.run.execute import execute
from faultclock.run.suite import run_one
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.spoken_agents import AGENTS

# google-genai 3.4 makes a class of a session of aiohttp, which that warns of.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")

SCENARIOS = Path(__file__).parents[2] / "scenarios"
#: What each agent is asked: tools, approvals, crashes, and answers that fail.
ASKED = (
    "tools/one-of-three-fails",
    "tools/unknown-tool",
    "tools/hangs-for-ever",
    "tools/loop-bound",
    "approvals/denial-is-a-typed-result",
    "approvals/three-at-once-in-order",
    "approvals/crash-while-open",
    "resume-drift/effect-is-not-repeated",
    "resume-drift/killed-before-the-effect",
    "resume-drift/closed-session-is-resumed",
)
OTHERS = [name for name in AGENTS if name != "chat"]


@provider_adapter(dialect="openai-responses")
async def polling(request: ProviderRequest) -> str:
    """Ask in the background, and poll every two seconds."""
    async with openai.AsyncOpenAI(api_key=request.api_key, timeout=request.timeout_s) as client:
        answer = await client.responses.create(model=request.model, input="Hi.", background=True)
        while answer.status in ("queued", "in_progress"):
            await asyncio.sleep(2)
            answer = await client.responses.retrieve(answer.id)
        return answer.output_text


@cache
def judge() -> Judge:
    """Return the judge by what any user would ask."""
    return Judge(load_error_model("common"))


@cache
def played(name: str, scenario: str) -> Trace:
    """Return the trace of an agent in a scenario."""
    binding, dialect = AGENTS[name]
    spoken = replace(binding, dialects=(dialect,), dialect_known=True)
    bound = bind_scenario(load_scenario(SCENARIOS / f"{scenario}.yaml"), spoken)
    return run_one(bound, spoken, 0, isolate=True)


def failed(trace: Trace) -> set[str]:
    """Return the checks that a run fails."""
    findings = judge().judge(trace).findings
    return {f"{item.verdict} {item.check}" for item in findings if item.verdict != "PASS"}


@pytest.mark.parametrize("name", list(AGENTS))
def test_a_run_shows_which_api_an_agent_speaks(name: str) -> None:
    """Its binding says nothing of it."""
    binding, dialect = AGENTS[name]
    assert not binding.dialect_known
    seen = probe(binding)
    assert (seen.healthy, seen.dialect) == (True, dialect), seen.why_not
    assert (seen.binding.dialect, seen.binding.dialect_known) == (dialect, True)


@pytest.mark.parametrize("scenario", ASKED)
@pytest.mark.parametrize("name", OTHERS)
def test_an_agent_is_judged_alike_in_every_api(name: str, scenario: str) -> None:
    """By what its requests say to the model, and by what it did."""
    assert failed(played(name, scenario)) == failed(played("chat", scenario))


def test_a_poll_is_no_second_attempt() -> None:
    """Each is a request of its own, with its own attempts."""
    limit = {"kind": "http_error", "status": 429, "error": "rate_limit_exceeded"}
    scenario = scenario_of(
        {
            "id": "tests/polls",
            "title": "Polls",
            "why": "For a test.",
            "provider": {"faults": [{"id": "limit", "when": {"attempts": 2}, "then": limit}]},
        }
    )
    trace = execute(bind_scenario(scenario, polling), polling, 0)
    (call,) = observe(trace).calls
    assert [len(request.attempts) for request in call.requests] == [1, 2, 1]
    (returned,) = trace.of_kind("call.returned")
    assert returned.payload["text"] == scenario.provider.reply
    assert failed(trace) == {item for item in failed(trace) if item.startswith("NOT_APPLICABLE")}


@pytest.mark.parametrize("name", list(AGENTS))
def test_the_trace_has_what_the_model_was_told(name: str) -> None:
    """The calls of each answer as one message, and a result for each of them."""
    requests = list(played(name, "tools/one-of-three-fails").of_kind("http.request"))
    last = requests[-1].payload["messages"]
    (asked,) = [message for message in last if message.get("tool_calls")]
    told = [message["tool_call_id"] for message in last if message["role"] == "tool"]
    assert [call["id"] for call in asked["tool_calls"]] == told
    assert len(told) == 3
