"""Sessions and runs that nobody made: each is a function of its numbers."""

from __future__ import annotations

import hashlib
from typing import Any

from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.exploration import FailureMark, NoResult, Reached, Tried
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.report.session import SessionScenario, SessionSettings
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import SubjectInfo

ID = "family/one"
DIGEST = "d1"


def subject(id_: str = "mine", **fields: Any) -> SubjectInfo:
    """Return a subject of a person's own file."""
    fields = {"source_digest": "5" * 64, "distributions": {"openai": "3.52.0"}, **fields}
    return SubjectInfo(id=id_, role="provider_adapter", style="async", **fields)


def settings(**fields: Any) -> SessionSettings:
    """Return the settings of an exploration of one scenario; `fields` differ."""
    usual: dict[str, Any] = {
        "command": "explore",
        "subject": subject(),
        "versions": {"faultclock": "0.1.0", "python": "3.11.2"},
        "build": "b" * 64,
        "model": "stud-cli",
        "model_revision": "1",
        "model_digest": "e" * 64,
        "seed": 0,
        "runs": 100,
        "options": {"schedules": "random, pct, fifo"},
        "scenarios": (SessionScenario(scenario=ID, digest=DIGEST),),
    }
    return SessionSettings(**{**usual, **fields})


def made_up(number: int, **fields: Any) -> tuple[Tried, Reached]:
    """Return run `number`: every third fails, with a tape; `fields` of the `Tried` differ."""
    failed = fields.get("verdict", Verdict.PASS if number % 3 else Verdict.FAIL) is Verdict.FAIL
    usual: dict[str, Any] = {
        "number": number,
        "scenario": ID,
        "seed": number * 7,
        "schedule": ("fifo", "random", "pct")[number % 3],
        "verdict": Verdict.FAIL if failed else Verdict.PASS,
        "ending": "completed",
        "events": 20 + number,
        "virtual_ns": number * 1_000_000_007,
        "trace_digest": hashlib.sha256(str(number).encode()).hexdigest(),
    }
    if failed:
        usual["tape"] = Tape.of({"schedule/0/call": {number % 5: 1}, "vary/x": {0: 1 + number}})
        usual["failures"] = (_mark(number % 2),)
    if usual["number"] % 5 == 4:
        usual["no_result"] = NoResult(check="evidence.whole", reason=f"cut {number}", spoils=True)
    reached = Reached(
        checks=("backoff.retry-after", f"check-{number % 4}"),
        requirements=("R1",) if number % 2 else (),
        faults=(f"{ID}#limited",),
        pairs=tuple(f"kind-{place} > kind-{place + number % 3}" for place in range(number % 7)),
    )
    return Tried(**{**usual, **fields}), reached


def outcomes(first: int, last: int) -> list[tuple[Tried, Reached]]:
    """Return runs `first` to `last`, both included."""
    return [made_up(number) for number in range(first, last + 1)]


def unsteady(number: int = 1) -> Unsteady:
    """Return what is kept of a run that was not the same twice."""
    where = Coordinates(scenario=ID, scenario_digest=DIGEST, subject="mine", seed=number)
    return Unsteady(
        coordinates=where,
        first_digest="1" * 64,
        second_digest="2" * 64,
        differs_at=17,
        was='{"a": 1}',
        now='{"a": 2}',
        difference=("payload.a is 1 in the first and 2 in the second",),
        leaks=("open at x.py:3",),
    )


def _mark(which: int) -> FailureMark:
    finding = Finding(
        check="backoff.retry-after",
        verdict=Verdict.FAIL,
        requirement="R1",
        expected="a wait of 7 s",
        observed="a wait of 1 s — too short",
        events=(3, 9),
    )
    return FailureMark(fingerprint=f"f-{which:012x}", finding=finding)
