"""Reports and baselines that hypothesis draws from a small world: three scenarios."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

from faultclock.model.report.coverage import Coverage
from faultclock.model.report.finding import (
    CheckEntry,
    Finding,
    Report,
    RequirementCoverage,
    RunReport,
    Verdict,
    overall,
    verdict_of,
)
from faultclock.model.report.gate import Baseline, Deviation, included_twice
from faultclock.model.trace.trace import SubjectInfo

TODAY = date(2027, 1, 31)
SCENARIOS = ("f/one", "f/two", "g/three")
VARIANTS = (None, "x=1", "x=1, crash after event 3", "crash after event 4")
CHECKS = ("backoff.wait", "backoff.jitter", "wrapping.identity")
REQUIREMENTS = ("R-1", "R-2")
#: As `gated` is told which scenarios there are.
KNOWN = dict.fromkeys(SCENARIOS, ("x=1", "x=2"))

_VERDICTS = (*Verdict,)


def finding(verdict: Verdict, check: str = CHECKS[0], **changes: Any) -> Finding:
    """Return a finding of a check, which judged something unless it says otherwise."""
    judged = int(verdict in (Verdict.PASS, Verdict.FAIL, Verdict.WARN))
    values: dict[str, Any] = {"check": check, "verdict": verdict, "judged": judged}
    return Finding(**(values | changes))


def run(scenario: str, *findings: Finding, seed: int = 0, **changes: Any) -> RunReport:
    """Return a run with an id for each finding that is not green."""
    variant = changes.get("variant")
    named = tuple(_named(item, scenario, variant, seed, n) for n, item in enumerate(findings))
    values: dict[str, Any] = {
        "scenario": scenario,
        "title": "A title",
        "why": "A reason",
        "seed": seed,
        "crash_point": 3 if variant is not None and "crash" in variant else None,
        "verdict": verdict_of(named),
        "ending": "completed",
        "virtual_ns": 5,
        "trace_digest": hashlib.sha256(repr((scenario, variant, seed)).encode()).hexdigest(),
        "replay": f"faultclock run {scenario} --seed {seed}",
        "findings": named,
    }
    return RunReport(**(values | changes))


def report_of(
    runs: Sequence[RunReport], seeds_findings: Sequence[Finding] = (), **changes: Any
) -> Report:
    """Return the report of these runs, in the order in which `run` has them."""
    ordered = sorted(runs, key=lambda item: item.scenario)
    seeds = sorted(
        (
            _named(item, item.scenario or "", item.variant, None, number)
            for number, item in enumerate(seeds_findings)
        ),
        key=lambda item: item.scenario or "",
    )
    findings = [*(item for each in ordered for item in each.findings), *seeds]
    verdicts = [item.verdict for item in ordered]
    values: dict[str, Any] = {
        "faultclock": "1",
        "model": "stud-cli",
        "model_title": "T",
        "model_revision": "1",
        "subject": SubjectInfo(id="s", role="provider_adapter", style="async"),
        "verdict": overall((*verdicts, *(item.verdict for item in seeds))),
        "totals": dict(Counter(verdict.value for verdict in verdicts)),
        "runs": tuple(ordered),
        "seeds_findings": tuple(seeds),
        "coverage": tuple(_coverage(name, findings) for name in REQUIREMENTS),
        "checks": tuple(CheckEntry(id=name, title="", says="", level="MUST") for name in CHECKS),
    }
    return Report(**(values | changes))


def deviation(scenario: str = SCENARIOS[0], check: str = CHECKS[0], **changes: Any) -> Deviation:
    """Return an entry that is good for a while."""
    values: dict[str, Any] = {
        "scenario": scenario,
        "check": check,
        "reason": "a reason",
        "owner": "an owner",
        "expires": TODAY + timedelta(days=1),
    }
    return Deviation(**(values | changes))


def reports(scenarios: Sequence[str] = SCENARIOS) -> st.SearchStrategy[Report]:
    """Draw reports of any runs of `scenarios`."""
    keys = st.tuples(st.sampled_from(scenarios), st.sampled_from(VARIANTS), st.integers(0, 2))
    runs = st.dictionaries(keys, st.lists(_findings(), max_size=3), max_size=5)
    seeds = st.lists(
        st.builds(
            lambda item, scenario: item.model_copy(update={"scenario": scenario}),
            _findings(),
            st.sampled_from(scenarios),
        ),
        max_size=2,
    )
    return st.builds(
        lambda made, over: report_of(
            [
                run(scenario, *findings, variant=variant, seed=seed)
                for (scenario, variant, seed), findings in sorted(made.items(), key=repr)
            ],
            over,
        ),
        runs,
        seeds,
    )


def baselines() -> st.SearchStrategy[Baseline]:
    """Draw baselines, stale and strange entries included, but none that says something twice."""
    entries = st.builds(
        deviation,
        st.sampled_from((*SCENARIOS, "f/gone")),
        st.sampled_from((*CHECKS, "no.such-check")),
        requirement=st.sampled_from((None, *REQUIREMENTS, "R-9")),
        variant=st.sampled_from((*VARIANTS, "x=9")),
        reason=st.sampled_from(("a reason", "see #41: it's so", 'two\nlines, "quoted"', "010")),
        expires=st.sampled_from((TODAY - timedelta(days=1), TODAY, TODAY + timedelta(days=9))),
    )
    return st.lists(entries, max_size=6).map(_without_repeats)


def _without_repeats(entries: list[Deviation]) -> Baseline:
    while twice := included_twice(entries):
        entries = [item for index, item in enumerate(entries) if index != twice[0][0]]
    return Baseline(subject="s", model="stud-cli", deviations=tuple(entries))


def _findings() -> st.SearchStrategy[Finding]:
    return st.builds(
        finding,
        st.sampled_from(_VERDICTS),
        st.sampled_from(CHECKS),
        requirement=st.sampled_from((None, *REQUIREMENTS)),
    )


def _named(
    item: Finding, scenario: str, variant: str | None, seed: int | None, number: int
) -> Finding:
    if item.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE) or item.id:
        return item
    text = repr((scenario, variant, seed, item.check, item.requirement, number))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return item.model_copy(update={"id": f"F-{digest[:10]}"})


def _coverage(name: str, findings: Sequence[Finding]) -> RequirementCoverage:
    cited = [item for item in findings if item.requirement == name]
    status, judged = Coverage.of((), cited).status(name, excluded=False)
    return RequirementCoverage(
        id=name, level="MUST", place="p", sentence="s", status=status, judged=judged
    )
