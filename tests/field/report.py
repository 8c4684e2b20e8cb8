"""The field report: agents of real frameworks, in situations that every agent meets.

An agent of each framework (`fixtures/agents`) is run in each situation twice, with two seeds. What
it did is read off the trace, and judged by `common`. A cell whose two runs differ in kind says so
and claims nothing.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from faultclock.load.error_model import load_error_model
from faultclock.model.duration import format_duration
from faultclock.model.report.finding import Verdict, verdict_of
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.bind_scenario import agent_lacks
from faultclock.run.prepare import prepare
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding
from tests.architecture.source_tree import PROJECT
from tests.run.conftest import shipped_scenario

PAGE = PROJECT / "docs" / "field-report.md"
MEASURED = Path(__file__).parent / "measured"
#: What was measured where `make field-report` does not reach, with its sources.
BY_HAND = Path(__file__).parent / "by_hand.md"
#: Name of the fixture to the framework, and the distributions that a claim is about.
AGENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "agno": ("Agno", ("agno", "openai")),
    "autogen": ("AutoGen", ("autogen-agentchat", "autogen-ext", "openai")),
    "crewai": ("CrewAI", ("crewai", "openai")),
    "google_adk": ("Google ADK", ("google-adk", "google-genai")),
    "langgraph": ("LangGraph", ("langgraph", "langchain", "langchain-openai", "openai")),
    "llama_index": ("LlamaIndex", ("llama-index-core", "llama-index-llms-openai", "openai")),
    "openai_agents": ("OpenAI Agents SDK", ("openai-agents", "openai")),
    "pydantic_ai": ("Pydantic AI", ("pydantic-ai-slim", "openai")),
    "smolagents": ("smolagents", ("smolagents", "openai")),
    "strands": ("Strands", ("strands-agents", "openai")),
}
#: What happens, and the scenario in which it does.
SITUATIONS = {
    "a 429 to every request": "common/limited-for-ever",
    "`Retry-After` of an hour": "common/closed-for-an-hour",
    "a used-up quota, as a 429": "rate-limits/quota-as-429",
    "no answer, ever": "provider-transient/silent-for-ever",
    "a page in place of an answer": "common/page-in-place-of-an-answer",
    "a cancel in a backoff": "common/cancelled-in-a-backoff",
    "a tool that never replies": "shared/tool-times-out",
    "a tool that raises": "shared/tool-throws",
    "a tool that does not exist": "shared/tool-unknown",
    "a tool that acts, then fails": "tools/commit-then-fail",
    "a model that asks for a tool again and again": "tools/loop-bound",
    "a call that the person denies": "shared/approval-denied",
    "a crash between a tool's effect and its result": "resume-drift/effect-is-not-repeated",
    "a crash while an approval is open": "approvals/crash-while-open",
}
#: What a situation asks, where to pass in all else would say too much.
_ASKED = {"resume-drift/effect-is-not-repeated": "COMMON-EFFECT-02"}
_SEEDS = (0, 1)
#: Digits of a time in ns that say nothing: 10 ms are enough.
_SHOWN_DIGITS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one agent did in one situation.

    Attributes:
        did: in words, such as `3 requests, raises after 1.4 s`.
        broken: ids of the requirements of `common` that it breaks, serious ones first.
        said: what was observed of the first of them.
        steady: whether both runs broke the same requirements.
    """

    scenario: str
    did: str
    verdict: str
    broken: tuple[str, ...] = ()
    said: str = ""
    steady: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One agent in all situations."""

    agent: str
    versions: dict[str, str]
    on: str
    cells: tuple[Cell, ...]

    @classmethod
    def read(cls, path: Path) -> Measured:
        """Return what was measured before."""
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        cells = tuple(Cell(**{**cell, "broken": tuple(cell["broken"])}) for cell in data["cells"])
        return cls(**{**data, "cells": cells})

    def written(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"


def measure(name: str, *, on: date, situations: tuple[str, ...] = tuple(SITUATIONS)) -> Measured:
    """Run an agent whose framework is installed here in each situation."""
    binding = prepare(f"{PROJECT}/fixtures/agents/{name}_agent.py:agent")
    return Measured(
        agent=name,
        versions={item: version(item) for item in AGENTS[name][1]},
        on=on.isoformat(),
        cells=tuple(_cell(binding, SITUATIONS[item]) for item in situations),
    )


def installed(name: str) -> bool:
    """Return whether the framework of an agent is installed here."""
    try:
        return all(version(item) for item in AGENTS[name][1])
    except PackageNotFoundError:
        return False


def _cell(binding: Binding, id_: str) -> Cell:
    scenario = shipped_scenario(id_)
    lacking = agent_lacks(scenario, binding)
    if lacking is not None:
        return Cell(scenario=id_, did=f"not asked: it needs {lacking}", verdict="none")
    judge = Judge(load_error_model("common"))
    traces = [run_one(scenario, binding, seed, isolate=True) for seed in _SEEDS]
    judged = [judge.judge(trace) for trace in traces]
    found = [
        [item for item in one.findings if item.verdict in (Verdict.FAIL, Verdict.WARN)]
        for one in judged
    ]
    broken = [tuple(sorted({item.requirement or "" for item in one})) for one in found]
    first = found[0][0] if found[0] else None
    asked = _ASKED.get(id_)
    is_judged = asked is None or any(item.requirement == asked for item in judged[0].findings)
    return Cell(
        scenario=id_,
        did=_did(traces[0]),
        verdict=verdict_of(judged[0].findings).value.lower() if is_judged else "none",
        broken=broken[0],
        said="" if first is None else _shortened(first.observed),
        steady=broken[0] == broken[1],
    )


def _shortened(observed: str) -> str:
    """Return what was observed without what each thread waited for."""
    return observed.partition("; ")[0]


def _did(trace: Trace) -> str:
    """Return what became of the last turn, and what it cost."""
    requests = sum(1 for it in trace.of_kind("http.request") if not it.payload.get("counts"))
    effects = sum(1 for _ in trace.of_kind("tool.effect"))
    parts = [f"{requests} request{'' if requests == 1 else 's'}"]
    if effects:
        parts.append(f"{effects} effect{'' if effects == 1 else 's'}")
    turns = [item for item in trace.of_kind("call.started") if item.payload["do"] == "turn"]
    call = turns[-1].payload["call"]
    ends = ("call.returned", "call.raised", "call.cancelled")
    end = next((item for item in trace.of_kind(*ends) if item.payload["call"] == call), None)
    if end is None:
        after = format_duration(trace.footer.ended_at_ns)
        is_cut = trace.footer.ending == "virtual_time_limit"
        return f"{', '.join(parts)}, {f'goes on after {after}' if is_cut else 'never ends'}"
    lasted = format_duration(round(end.at_ns - turns[-1].at_ns, -_SHOWN_DIGITS))
    if end.kind == "call.raised":
        kind = str(end.payload["chain"][0]["type"]).rpartition(".")[2]
        return f"{', '.join(parts)}, raises `{kind}` after {lasted}"
    return f"{', '.join(parts)}, returns after {lasted}"


# ---------------------------------------------------------------------- the page

_INTRODUCTION = """\
# Agents of real frameworks, in trouble

One small agent of each framework, as its own documentation writes it, in the situations that every
agent meets. Nothing of a framework is configured: these are its defaults, and most of what is
marked here can be changed with an option. Each agent was run twice, with two seeds, and judged by
the [common model](error-models.md). ✗ breaks a MUST, ! a SHOULD; – is not judged, such as an effect
that comes again because the whole turn was lost with the process.

`make field-report` measures again what is installed, and writes this page.
"""
_MARKS = {"pass": "✓", "warn": "!", "fail": "✗"}


def page(measured: tuple[Measured, ...]) -> str:
    """Return the page."""
    figures = [_INTRODUCTION, *_versions(measured), "", *_table(measured), *_lists(measured)]
    return "\n".join([*figures, BY_HAND.read_text("utf-8")])


def _versions(measured: tuple[Measured, ...]) -> Iterator[str]:
    for item in measured:
        libraries = ", ".join(f"{name} {number}" for name, number in item.versions.items())
        said = f"- **{AGENTS[item.agent][0]}**: {libraries}; {item.on}"
        yield textwrap.fill(said, 100, subsequent_indent="  ", break_on_hyphens=False)


def _table(measured: tuple[Measured, ...]) -> Iterator[str]:
    yield f"| | {' | '.join(AGENTS[item.agent][0] for item in measured)} |"
    yield "|---" * (len(measured) + 1) + "|"
    for place, situation in enumerate(SITUATIONS):
        cells = [item.cells[place] for item in measured]
        shown = " | ".join(f"{_mark(cell)} {cell.did}".strip() for cell in cells)
        yield f"| {situation} | {shown} |"
    yield ""


def _mark(cell: Cell) -> str:
    return _MARKS.get(cell.verdict, "–") if cell.steady else "?"


def _lists(measured: tuple[Measured, ...]) -> Iterator[str]:
    model = {item.id: item for item in load_error_model("common").requirements}
    for item in measured:
        yield f"## {AGENTS[item.agent][0]}\n"
        for situation, cell in zip(SITUATIONS, item.cells, strict=True):
            if not cell.broken or not cell.steady:
                continue
            ids = ", ".join(cell.broken)
            sentence = model[cell.broken[0]].sentence
            said = f"- **{situation}** ({ids}): {cell.said}. *{sentence}*"
            yield textwrap.fill(said, 100, subsequent_indent="  ", break_on_hyphens=False) + "\n"
        yield "Each is shown again, with its timeline, by\n"
        yield "```text"
        agent = f"fixtures/agents/{item.agent}_agent.py:agent"
        yield f"faultclock run SCENARIO --subject {agent} --html report.html"
        yield "```\n"
        rows = ", ".join(f"`{cell.scenario}`" for cell in item.cells if cell.broken)
        yield textwrap.fill(f"with one of {rows}.", 100, break_on_hyphens=False) + "\n"
