"""Runs, findings and requirements as values: a check is put together without a run."""

from __future__ import annotations

from typing import Any

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.checkup import CheckUp, LeftOut, Trait
from faultclock.model.report.finding import (
    CallReport,
    EventMark,
    Finding,
    Report,
    RequirementCoverage,
    RunReport,
    SourcePlace,
    Verdict,
    verdict_of,
)
from faultclock.model.report.taken_for import TakenFor
from faultclock.model.trace.notes import Frame, OutputLine, RaisedError, RunNotes, WaitingPlace
from faultclock.model.trace.trace import SubjectInfo

#: The user's line in which a header is read.
FRAME = Frame(
    file="client.py", line=14, function="ask", code='wait = float(headers["retry-after"])'
)
#: A small error model's requirements: id to level and harm.
RULES: dict[str, tuple[str, Harm]] = {
    "T-EFFECT-01": ("SHOULD", Harm.EFFECT),
    "T-CRASH-01": ("MUST", Harm.CRASH),
    "T-ANSWER-01": ("MUST", Harm.WRONG_ANSWER),
    "T-RETRY-01": ("MUST", Harm.WAITING),
    "T-RETRY-02": ("SHOULD", Harm.WAITING),
    "T-WAIT-01": ("SHOULD", Harm.WAITING),
    "T-SECRET-01": ("MUST", Harm.SECRET),
    "T-END-01": ("MUST", Harm.HANG),
}


def model() -> ErrorModel:
    """Return an error model with the requirements of RULES, which judges nothing by itself."""
    requirements = tuple(
        Requirement.model_validate(
            {
                "id": id_,
                "level": level,
                "place": "Tests",
                "sentence": f"The sentence of {id_}.",
                "wording": "own",
                "harm": harm,
                "does": f"What breaking {id_} does.",
                "change": f"What mends {id_}.",
                "sources": (f"A source of {id_}: https://example.com/{id_}", "Another source"),
                "checks": ("handler.crash",),
            }
        )
        for id_, (level, harm) in RULES.items()
    )
    return load_error_model("common").model_copy(update={"requirements": requirements})


def finding(requirement: str, observed: str = "it went wrong", **more: Any) -> Finding:
    """Return a deviation from a requirement of RULES, with an id of its own words."""
    level = RULES[requirement][0]
    values: dict[str, Any] = {
        "check": f"check.{requirement.lower()}",
        "verdict": Verdict.FAIL if level == "MUST" else Verdict.WARN,
        "requirement": requirement,
        "level": level,
        "call": "ask/1",
        "observed": observed,
        "expected": "something else",
        "events": (1,),
        "judged": 1,
        "id": f"F-{requirement}-{observed}",
        **more,
    }
    return Finding.model_validate(values)


def raised(message: str = "could not convert 'soon'", **more: Any) -> RaisedError:
    """Return an exception that left the first call."""
    values = {"call": "ask/1", "type": "ValueError", "message": message, "frames": (FRAME,), **more}
    return RaisedError.model_validate(values)


def slept_at(line: int) -> tuple[RunNotes, SourcePlace]:
    """Return notes of a wait at that line of the user's file, and the line."""
    frame = Frame(file="client.py", line=line, function="ask", code="time.sleep(wait)")
    wait = WaitingPlace(call="ask/1", from_ns=0, until_ns=1, frames=(frame,))
    return RunNotes(waits=(wait,)), SourcePlace(file="client.py", line=line)


def run(name: str, *findings: Finding, calls: int = 1, **more: Any) -> RunReport:
    """Return a run of the scenario `tests/<name>`, unless the name has a family."""
    id_ = name if "/" in name else f"tests/{name}"
    shown = findings or (finding("T-RETRY-01", verdict=Verdict.PASS, id=""),)
    values: dict[str, Any] = {
        "scenario": id_,
        "title": f"Situation {name}",
        "why": "It happens.",
        "seed": 0,
        "verdict": verdict_of(shown),
        "ending": "completed",
        "virtual_ns": 1_000_000_000,
        "trace_digest": "0" * 64,
        "replay": f"faultclock run {id_} --subject client.py:ask --model common --seed 0 --seeds 1",
        "findings": shown,
        "calls": tuple(
            CallReport(
                call=f"ask/{number}", task="ask", started_ns=0, ended_ns=1, outcome="returned"
            )
            for number in range(1, calls + 1)
        ),
        "timeline": (
            EventMark(seq=1, at_ns=0, lane="subject", kind="call.started", text="the call begins"),
        ),
        **more,
    }
    return RunReport.model_validate(values)


def report(*runs: RunReport, seeds_findings: tuple[Finding, ...] = ()) -> Report:
    """Return a report of these runs."""
    broken = {item.requirement for each in runs for item in each.findings if item.id}
    failed = {item for item in broken if item is not None} if runs else set()
    return Report(
        faultclock="1.0",
        model="common",
        model_title="What anybody would demand",
        model_revision="1",
        subject=SubjectInfo(id="client:ask", role="provider_adapter", style="sync"),
        verdict=Verdict.PASS,
        seeds_findings=seeds_findings,
        runs=runs,
        coverage=tuple(
            RequirementCoverage(
                id=id_,
                level=level,  # type: ignore[arg-type]
                place="Tests",
                sentence=f"The sentence of {id_}.",
                status="failed" if id_ in failed else "tested",
                harm=harm,
                does=f"What breaking {id_} does.",
                change=f"What mends {id_}.",
                sources=(f"A source of {id_}: https://example.com/{id_}", "Another source"),
            )
            for id_, (level, harm) in RULES.items()
        ),
    )


def checkup(*runs: RunReport, **more: Any) -> CheckUp:
    """Return the answer that these runs come to."""
    from faultclock.model.report.problems import problems_of

    values: dict[str, Any] = {
        "faultclock": "1.0",
        "taken_for": TakenFor(
            target="client.py:ask",
            kind="a blocking function of a prompt",
            because="its parameter is called 'prompt'",
            otherwise="--as messages",
            dialect="openai-chat",
        ),
        "does": (Trait(name="attempts", text="4 after 429, 500-504; 1 after 400"),),
        "problems": problems_of(runs, (), model().requirements),
        "left_out": (
            LeftOut(what="streams", why="the target never asks for a stream", scenarios=17),
        ),
        "report": report(*runs),
        **more,
    }
    return CheckUp(**values)


def noted(*lines: str) -> RunNotes:
    """Return notes of an exception, with lines that were logged before it."""
    output = tuple(
        OutputLine(at_ns=number, stream="log", text=text, call="ask/1", level="WARNING")
        for number, text in enumerate(lines)
    )
    return RunNotes(raised=(raised(),), output=output)
