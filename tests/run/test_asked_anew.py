"""Functions that ask again by a loop of their own: which of their requests ask the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Verdict
from faultclock.model.scenario.scenario import scenario_of
from faultclock.oracle.judge import judge
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one

REQUEST = """
import time
import uuid

import openai

client = openai.OpenAI(max_retries=0)


def ask(prompt):
    for model in {models}:
        try:
            answer = client.chat.completions.create(
                model=model,
                messages=[
                    {{"role": "system", "content": {instructions}}},
                    {{"role": "user", "content": prompt}},
                ],
                metadata={{"request_id": str(uuid.uuid4())}},
                temperature={temperature},
            )
            return answer.choices[0].message.content
        except openai.APIStatusError as error:
            last = error
            time.sleep(1)
    raise last
"""
REFUSED = {"kind": "http_error", "status": 401, "error": "invalid_api_key"}
LIMITED = {
    "kind": "http_error",
    "status": 429,
    "error": "rate_limit_exceeded",
    "headers": {"retry-after": "30"},
}


def broken_by(spec: str, fault: dict[str, Any], attempts: str = "every") -> set[str]:
    """Return the checks that a function fails where these of its attempts meet a fault."""
    rules = [{"id": "fault", "when": {"attempts": attempts}, "then": fault}]
    if attempts != "every":
        others = {"kind": "http_error", "status": 500, "error": "server_error"}
        rules.append({"id": "others", "when": {"attempts": "every"}, "then": others})
    scenario = scenario_of(
        {
            "id": "tests/anew",
            "title": "Anew",
            "why": "For a test.",
            "tasks": [{"id": "ask"}],
            "provider": {"faults": rules},
        }
    )
    trace = run_one(scenario, prepare(spec), 0, isolate=True)
    findings = judge(load_error_model("common"), trace).findings
    return {item.check for item in findings if item.verdict in (Verdict.FAIL, Verdict.WARN)}


@pytest.fixture
def asking(tmp_path: Path) -> Any:
    """Return what writes a function that asks these models in turn, and names it."""

    def write(*models: str, temperature: str = "1", instructions: str = "'Be brief.'") -> str:
        path = tmp_path / "anew.py"
        text = REQUEST.format(models=models, temperature=temperature, instructions=instructions)
        path.write_text(text, encoding="utf-8")
        return f"{path}:ask"

    return write


def test_a_loop_that_labels_each_request_anew_is_seen_to_ask_the_same(asking: Any) -> None:
    """A refused key is refused again, and a limit has its time."""
    spec = asking("gpt-x", "gpt-x", "gpt-x", "gpt-x")
    assert "retries.pointless" in broken_by(spec, REFUSED)
    assert "retries.floor" in broken_by(spec, LIMITED)


def test_a_loop_that_asks_one_model_after_the_other_repeats_nothing(asking: Any) -> None:
    """Another model has another limit, and may be allowed."""
    spec = asking("gpt-x", "gpt-y", "gpt-z")
    for fault in (REFUSED, LIMITED):
        assert not {"retries.pointless", "retries.floor"} & broken_by(spec, fault)


@pytest.mark.parametrize(
    "around",
    [
        {"temperature": "time.time() % 2"},
        {"instructions": "f'It is {time.ctime()}.'"},
        {"instructions": "f'Trace {uuid.uuid4()}.'"},
    ],
)
def test_what_surrounds_a_conversation_mends_neither_a_key_nor_a_limit(
    around: dict[str, str], asking: Any
) -> None:
    """It may mend a request that is at fault."""
    spec = asking("gpt-x", "gpt-x", "gpt-x", "gpt-x", **around)
    assert "retries.pointless" in broken_by(spec, REFUSED)
    assert "retries.floor" in broken_by(spec, LIMITED)
    at_fault = {"kind": "http_error", "status": 400, "error": "invalid_request"}
    assert "retries.pointless" not in broken_by(spec, at_fault)


def test_other_instructions_ask_something_else(asking: Any) -> None:
    """They may be those of another agent."""
    spec = asking("gpt-x", "gpt-x", instructions="chr(65 + int(time.time()) % 7)")
    assert "retries.floor" not in broken_by(spec, LIMITED)


def test_a_loop_over_two_models_repeats_what_it_asked_of_the_first(asking: Any) -> None:
    """Another model between does not make it another request."""
    spec = asking("gpt-x", "gpt-y", "gpt-x", "gpt-y", "gpt-x")
    assert "retries.pointless" in broken_by(spec, REFUSED)
    assert "retries.floor" in broken_by(spec, LIMITED)


def test_a_loop_over_two_temperatures_misses_the_hint_of_each(asking: Any) -> None:
    """The third try is like the first, and comes too early after the second."""
    spec = asking(*["gpt-x"] * 3, temperature="int(time.time()) % 2")
    assert "retries.floor" in broken_by(spec, LIMITED, attempts="2")
