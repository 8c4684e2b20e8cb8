"""Explorations made by hand, for the tests of what is rendered of them."""

from __future__ import annotations

from typing import Any

from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.exploration import (
    Coverage,
    Divergence,
    DivergenceRow,
    Exploration,
    ExploredScenario,
    FailureGroup,
    NoResult,
    NoResultGroup,
    Shrunk,
    Size,
)
from faultclock.model.report.finding import Finding, Verdict
from faultclock.model.scenario.scenario import scenario_of
from faultclock.model.tape import Tape
from faultclock.model.trace.trace import SubjectInfo
from tests.render.sample_report import HOSTILE

MS_NS = 1_000_000
REFRESH, TWICE = "exploration/token-refresh", "exploration/approved-twice"
SCRIPT = """\
# Made smaller from exploration/token-refresh; the failure is f-0123456789ab.
id: exploration/token-refresh
title: Two calls meet an expired token
provider:
  faults:
    - id: expired
      when: {attempts: 1}
      then: {kind: http_error, status: 401, error: invalid_api_key}
"""
#: Text fields that a test may fill with anything.
NAMES = ("title", "text", "check", "scenario", "file", "requirement", "line")


def exploration(**more: Any) -> Exploration:
    """Return an exploration of one scenario in which nothing failed."""
    return Exploration.model_validate(
        {
            "faultclock": "0.1.0",
            "model": "stud-cli",
            "model_title": "stud-cli Error Model",
            "model_revision": "1",
            "subject": SubjectInfo(
                id="token-racer", role="runtime", style="async", distributions={"openai": "3.52.0"}
            ),
            "seed": 7,
            "scenarios": (explored(REFRESH, PASS=200),),
            **more,
        }
    )


def explored(scenario: str, **totals: int) -> ExploredScenario:
    """Return a scenario with runs that came to this."""
    runs = sum(totals.values())
    return ExploredScenario(
        scenario=scenario,
        title="Two calls meet an expired token",
        digest="d" * 64,
        totals=totals,
        schedules={"random": runs - runs // 4, "pct": runs // 4 - 1, "fifo": 1},
        as_written=Verdict.PASS,
    )


def coordinates(scenario: str = REFRESH, **more: Any) -> Coordinates:
    """Return what leads to a run of the sample subject."""
    return Coordinates(
        scenario=scenario, scenario_digest="d" * 64, subject="token-racer", seed=41, **more
    )


def size(**more: int) -> Size:
    """Return how large a run is that has been made small."""
    values = dict.fromkeys(Size.model_fields, 1) | {"tools": 0, "virtual_ns": 250 * MS_NS}
    return Size.model_validate(values | more)


def parting(**more: Any) -> Divergence:
    """Return a divergence with a row of each kind."""
    rows = (
        _row(4, 4, 20, "c1 connects to api.openai.com:443", agrees=True),
        _row(5, None, 40, "fault expired (http error)", "", agrees=False),
        _row(6, 5, 40, "answers 401, invalid_api_key", "answers 200", agrees=False),
        _row(None, 6, 41, "", "ask/1 returned", agrees=False),
        _row(7, None, 50, "ask/1 raised AuthError", "the run has ended: completed", agrees=False),
    )
    return Divergence(
        **{
            "nearest": "the same without the fault expired",
            "agree": 4,
            "rows": rows,
            "first": 1,
            "cut": 12,
            "times_part": 3,
            **more,
        }
    )


def group(**more: Any) -> FailureGroup:
    """Return a failure that was made smaller, with all that belongs to one."""
    return FailureGroup.model_validate(
        {
            "fingerprint": "f-0123456789ab",
            "scenario": REFRESH,
            "finding": finding(),
            "runs": 12,
            "first": 17,
            "coordinates": coordinates(tape=Tape.of({"schedule/1/loop": {3: 1}})),
            "token": "fc2.eNqrVkrOSy1RslJQKk7OyC8q0U0rzUtR0lFQKkstKs7MzwOJlBbnFykY1gIAb3EMYw",
            "shrunk": shrunk(),
            "script": SCRIPT,
            "files": ("found/f-0123456789ab.yaml", "found/test_f_0123456789ab.py"),
            "command": "faultclock run found/f-0123456789ab.yaml --subject token-racer",
            "divergence": parting(),
            **more,
        }
    )


def finding(**more: Any) -> Finding:
    """Return a failure with all of its words."""
    return Finding.model_validate(
        {
            "check": "backoff.attempts",
            "verdict": Verdict.FAIL,
            "requirement": "STUD-RL-02",
            "level": "MUST",
            "place": "Error Model › Rate-limit default",
            "sentence": "At most six attempts are made.",
            "call": "ask/1",
            "expected": "one refresh of the token",
            "observed": "two refreshes, and the second one is refused",
            "hint": "hold a lock while `refresh()` waits",
            "events": (5, 6, 7),
            "judged": 1,
            **more,
        }
    )


def shrunk(**more: Any) -> Shrunk:
    """Return what shrinking came to."""
    return Shrunk.model_validate(
        {
            "scenario": scenario_of(
                {"id": REFRESH, "title": "Smaller", "why": "It shows the failure."}
            ),
            "before": size(
                faults=4, tasks=3, tools=2, choices=19, events=214, virtual_ns=9 * 10**9
            ),
            "after": size(faults=1, tasks=1, events=24),
            "runs": 143,
            "is_minimum": True,
            "removed": ("the fault slow-start", "the task other", "18 choices of the order"),
            **more,
        }
    )


def sample_exploration() -> Exploration:
    """Return one that has something in every part of the page."""
    stopped = group(
        fingerprint="f-ba9876543210",
        scenario=TWICE,
        finding=finding(check="approvals.once", requirement=None, sentence=None, call=None),
        runs=1,
        first=88,
        shrunk=shrunk(is_minimum=False, stopped="the time of 10 s is over", removed=()),
        elsewhere=(REFRESH,),
        again=f"faultclock replay fc2.short --subject mine.py:racer --scenario {TWICE}.yaml",
        files=(),
        script="",
        command="",
        divergence=parting(by_time=True, times_part=None, cut=0, first=0, agree=4),
    )
    return exploration(
        readings={"unspecified-jitter": "twenty"},
        complete=False,
        scenarios=(
            explored(REFRESH, PASS=186, FAIL=12, UNSTEADY=2),
            explored(TWICE, PASS=99, FAIL=1, INCONCLUSIVE=20).model_copy(
                update={"no_results": (no_result(runs=18), no_result(spoils=True, runs=2))}
            ),
            explored("exploration/quiet", PASS=40, WARN=2, INCONCLUSIVE=3).model_copy(
                update={"no_results": (no_result(),)}
            ),
        ),
        groups=(group(), stopped, group(shrunk=None, divergence=None, runs=1)),
        unsteady=(
            Unsteady(
                coordinates=coordinates(),
                first_digest="1" * 64,
                second_digest="2" * 64,
                differs_at=23,
                was='{"kind":"sleep"}',
                now='{"kind":"http.request"}',
                difference=("event 22: subject sleep", "kind: first sleep, second http.request"),
                leaks=("a real thread at racer.py:12",),
            ),
            Unsteady(
                coordinates=coordinates(variant="crash after event 3"),
                first_digest="1" * 64,
                second_digest="",
                differs_at=None,
            ),
        ),
        coverage=Coverage(
            checks={"backoff.attempts": 300, "approvals.once": 1},
            checks_never=("breaker.opens",),
            requirements={"STUD-RL-02": 120},
            requirements_never=tuple(f"STUD-RL-{number:02}" for number in range(3, 12)),
            faults={f"{REFRESH}#expired": 170},
            pairs={"http.request > fault.fired": 170, "net.sent > http.request": 1_300},
            pairs_never=("fault.fired > http.request",),
        ),
    )


def no_result(*, spoils: bool = False, runs: int = 3, **more: Any) -> NoResultGroup:
    """Return runs that are inconclusive."""
    unmet = "evidence.faults-met", "no request met it, so the situation never came about"
    idle = "evidence.exercised", "it raised KeyError without a single attempt, so nothing was shown"
    check, reason = idle if spoils else unmet
    return NoResultGroup.model_validate(
        {
            "why": NoResult(check=check, reason=reason, spoils=spoils),
            "runs": runs,
            "first": 4,
            "token": "fc2.eNqrVkrOSy1RslJQKk7OyC8q0U0rzUtR0lFQKkstKs7MzwO",
            **more,
        }
    )


def passing_exploration() -> Exploration:
    """Return one in which nothing failed."""
    return exploration()


def empty_exploration() -> Exploration:
    """Return one in which nothing was run."""
    return exploration(scenarios=(), complete=False)


def hostile_exploration() -> Exploration:
    """Return one whose texts are markup and control characters."""
    return strange_exploration(**dict.fromkeys(NAMES, HOSTILE))


def strange_exploration(
    *, title: str, text: str, check: str, scenario: str, file: str, requirement: str, line: str
) -> Exploration:
    """Return one with these texts wherever a subject or a scenario may put a text."""
    said = finding(
        check=check,
        requirement=requirement,
        call=text,
        sentence=text,
        place=text,
        document=text,
        expected=text,
        observed=text,
        hint=text,
        reason=line,
    )
    strange = group(
        scenario=scenario,
        variant=title,
        finding=said,
        token=line,
        command=line,
        again=text,
        elsewhere=(line,),
        files=(file,),
        script=text,
        coordinates=coordinates(scenario),
        shrunk=shrunk(removed=(line,), stopped=line, is_minimum=False),
        divergence=parting(
            nearest=line,
            rows=(_row(1, 1, 0, text, line, agrees=False), _row(2, None, 1, line, agrees=False)),
            first=0,
        ),
    )
    unsteady = Unsteady(
        coordinates=coordinates(scenario, variant=title),
        first_digest=line,
        second_digest=line,
        differs_at=1,
        was=text,
        now=line,
        difference=(text,),
        leaks=(line,),
    )
    why = NoResult(check=check, reason=text, spoils=True)
    open_ = no_result(why=why, token=line, again=line)
    reached = {text: 1}
    return exploration(
        model=text,
        model_title=title,
        model_revision=line,
        readings={title: line},
        subject=SubjectInfo(id=line, role=text, style="sync", distributions={title: line}),
        scenarios=(
            explored(scenario, FAIL=1, INCONCLUSIVE=1).model_copy(
                update={"title": title, "variant": title, "no_results": (open_,)}
            ),
        ),
        groups=(strange,),
        unsteady=(unsteady,),
        coverage=Coverage(
            checks=reached, checks_never=(line,), requirements={requirement: 1}, pairs=reached
        ),
    )


def _row(
    failing: int | None,
    passing: int | None,
    at_ms: int,
    here: str,
    there: str | None = None,
    *,
    agrees: bool,
) -> DivergenceRow:
    return DivergenceRow(
        failing=failing,
        passing=passing,
        failing_ns=None if failing is None else at_ms * MS_NS,
        passing_ns=None if passing is None else at_ms * MS_NS,
        failing_text=here,
        passing_text=here if there is None else there,
        agrees=agrees,
    )
