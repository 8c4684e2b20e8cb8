"""Agents of frameworks in the shipped scenarios: what each of them does, as facts of a trace.

Frameworks that cannot stand beside the others are tried with the same sentences, in
`tests/clients_openai2`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from faultclock.load.error_model import load_error_model
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import judge
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from faultclock.subjects.frameworks.known import FRAMEWORKS
from tests.architecture.source_tree import PROJECT
from tests.run.conftest import shipped_scenario

#: What an agent speaks that does not speak the first guess.
SPEAKS = {"google_adk": "@gemini-generate-content"}
#: The scenario of most turns: what a session holds grows, and with it what could differ.
LONGEST = "provider-transient/outage-window"
#: Where agents are that stand in no file of `fixtures/agents`.
ELSEWHERE: dict[str, str] = {}


@cache
def agent(name: str) -> Binding:
    """Return a fixture's agent, prepared once."""
    usual = f"{PROJECT}/fixtures/agents/{name}_agent.py:agent"
    return prepare(f"{ELSEWHERE.get(name, usual)}{SPEAKS.get(name, '')}")


@cache
def played(name: str, scenario: str, seed: int = 0) -> Trace:
    """Return a run of an agent in a shipped scenario, made once."""
    return played_by(agent(name), scenario, seed)


def played_by(binding: Binding, scenario: str, seed: int = 0) -> Trace:
    """Return a run of a subject in a shipped scenario."""
    return run_one(shipped_scenario(scenario), binding, seed, isolate=True)


def kinds(trace: Trace, *wanted: str) -> list[str]:
    """Return which of these kinds of events a run has, in order."""
    return [event.kind for event in trace.of_kind(*wanted)]


def its_tools_are_found(name: str) -> None:
    """Each with its schema; one needs a yes, and one only reads."""
    tools = {tool.name: tool for tool in agent(name).own_tools or ()}
    assert sorted(tools) == ["get_weather", "send_mail", "write_note"]
    assert [tools[tool].gated for tool in sorted(tools)] == [False, True, False]
    assert [tools[tool].reads for tool in sorted(tools)] == [True, False, False]
    assert "to" in tools["send_mail"].input_schema["properties"]


def its_function_is_called(name: str) -> None:
    """The model hears what the user's function returned, as a result or in a text."""
    trace = played(name, "rate-limits/limited-after-a-tool")
    (reply,) = trace.of_kind("tool.replied")
    assert reply.payload["ok"]
    request = list(trace.of_kind("http.request"))[-1].payload
    told = (id_ for words in request.get("in_words", ()) for id_ in words["tool_call_ids"])
    if reply.payload["tool_call"] in told:
        return
    last = request["messages"][-1]
    assert last["role"] == "tool"
    assert last["tool_call_id"] == reply.payload["tool_call"]
    assert "written to notes.txt" in last["content"]


def a_denied_call_is_not_made(name: str) -> None:
    """The person is asked about the model's call, and the model hears of the no."""
    trace = played(name, "shared/approval-denied")
    assert kinds(trace, "interaction.shown", "tool.called") == ["interaction.shown"]
    assert kinds(trace, "call.returned", "call.raised")[-1] == "call.returned"


def an_approved_call_is_made_after_the_yes(name: str) -> None:
    """And not before."""
    trace = played(name, "approvals/timer-starts-with-the-execution")
    wanted = ("interaction.shown", "interaction.answered", "tool.called")
    assert kinds(trace, *wanted) == list(wanted)


def its_session_is_resumed(name: str) -> None:
    """A fresh process sends the model what was said before."""
    trace = played(name, "resume-drift/closed-session-is-resumed")
    assert trace.footer.ending == "completed"
    lives = [event.payload["life"] for event in trace.of_kind("process.started")]
    assert lives == [1, 2]
    last = list(trace.of_kind("http.request"))[-1].payload["messages"]
    assert sum(message["role"] == "user" for message in last) == 2


def a_fault_is_met_at_the_seam(name: str) -> None:
    """A tool that fails has done nothing, whatever the framework makes of it."""
    trace = played(name, "shared/tool-fails")
    assert kinds(trace, "tool.called", "tool.effect") == ["tool.called"]


def equal_runs_give_equal_bytes(name: str) -> None:
    """With threads, approvals, four turns and two lives."""
    bytes_are_equal(
        name, "approvals/crash-while-open", "resume-drift/closed-session-is-resumed", LONGEST
    )


def bytes_are_equal(name: str, *scenarios: str) -> None:
    """Hold the traces of a fresh process with another hash seed to be those of this one."""
    here = {scenario: played(name, scenario).footer for scenario in scenarios}
    assert {footer.ending for footer in here.values()} == {"completed"}
    digests = {scenario: footer.digest for scenario, footer in here.items()}
    assert _digests(name, scenarios) == digests


def _digests(name: str, scenarios: tuple[str, ...]) -> dict[str, str]:
    target = f"{ELSEWHERE.get(name, f'fixtures/agents/{name}_agent.py:agent')}"
    command = [str(Path(sys.executable).parent / "faultclock"), "run", *scenarios, "--subject"]
    command += [f"{target}{SPEAKS.get(name, '')}", "--seeds", "1", "--quiet", "--json", "-"]
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True)
    assert done.returncode in {0, 1}, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert {run["ending"] for run in runs} == {"completed"}
    return {run["scenario"]: run["trace_digest"] for run in runs}


SENTENCES = (
    its_tools_are_found,
    its_function_is_called,
    a_denied_call_is_not_made,
    an_approved_call_is_made_after_the_yes,
    its_session_is_resumed,
    a_fault_is_met_at_the_seam,
    equal_runs_give_equal_bytes,
)


def an_option_mends(
    framework: str, requirement: str, scenario: str, texts: tuple[str, ...], folder: Path
) -> None:
    """Hold a framework's remedy for a requirement to what it does.

    Args:
        texts: a file with an agent that breaks the requirement, and the same with each option.
    """
    assert requirement in next(item for item in FRAMEWORKS if item.name == framework).remedies
    bare, *mended = (
        requirement in broken_by(folder / f"agent_{number}.py", text, scenario)
        for number, text in enumerate(texts)
    )
    assert bare
    assert mended
    assert not any(mended)


def broken_by(file: Path, text: str, scenario: str) -> set[str | None]:
    """Return the requirements of `common` that the agent in a file breaks in a scenario."""
    return broken_in(trace_of(file, text, scenario))


def broken_in(trace: Trace) -> set[str | None]:
    """Return the requirements of `common` that a run breaks."""
    return {item.requirement for item in findings_of(trace)}


def findings_of(trace: Trace) -> list[Finding]:
    """Return what a run does against `common`."""
    found = judge(load_error_model("common"), trace).findings
    return [item for item in found if item.verdict in (Verdict.FAIL, Verdict.WARN)]


def trace_of(file: Path, text: str, scenario: str) -> Trace:
    """Return a run of the agent that is written to a file."""
    file.write_text(text)
    # A loop without an end is a long run, and a loaded machine is no defect.
    binding = prepare(f"{file}:agent")
    return run_one(shipped_scenario(scenario), binding, 0, isolate=True, wall_limit_s=300.0)
