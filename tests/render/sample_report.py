"""Sample reports: every verdict, seeds, a crowd, nothing at all, and hostile text everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultclock.model.error_model.error_model import Switch, SwitchOption
from faultclock.model.report.finding import Report, RequirementCoverage, RunReport, Verdict, overall
from faultclock.model.trace.trace import SubjectInfo
from tests.render.sample_runs import (
    crowd,
    hung,
    late_date,
    nothing_applicable,
    quota_retried,
    reference_six,
    reset_twice,
    retry_after,
    sdk_schedule,
)
from tests.render.sample_story import WORDS, broken, passed, silent

__all__ = [
    "HOSTILE",
    "crowd",
    "empty_report",
    "hostile_report",
    "hung",
    "large_report",
    "late_date",
    "nothing_applicable",
    "passed",
    "quota_retried",
    "reference_report",
    "reference_six",
    "report",
    "reset_twice",
    "retry_after",
    "sdk_report",
    "sdk_schedule",
    "silent",
]

#: What a page must neither obey nor lose: markup, quotes, controls, overrides, another script.
HOSTILE = (
    "</script></title><img src=x onerror=alert(1)> '\"`{{7*7}}&amp; \x1b[31m \u202e ]]>\x00 é漢🙂"
)
SWITCHES = (
    Switch(
        id="schedule-length",
        question="Six attempts have five waits, yet six waits are listed. Which number holds?",
        default="six-attempts",
        because="The page says “6 attempts total”, which leaves no room for a sixth wait.",
        options=(
            SwitchOption(id="six-attempts", means="6, 3 and 3 attempts, so 5, 2 and 2 waits."),
            SwitchOption(id="six-waits", means="6, 3 and 3 waits, so 7, 4 and 4 attempts."),
        ),
    ),
    Switch(
        id="unspecified-jitter",
        question="How wide is the jitter that the page only calls “with jitter”?",
        default="twenty",
        because="It is the only width that the page states anywhere.",
        options=(
            SwitchOption(id="twenty", means="±20 %, as for RateLimited."),
            SwitchOption(id="fifty", means="±50 %."),
        ),
    ),
)
COVERAGE = (
    RequirementCoverage(
        id="STUD-FLOW-04",
        level="MUST",
        place="Error Model › diagram › tool transient",
        sentence="tool transient → retry per tool policy",
        status="excluded",
        excluded="needs a tool port, which this version has not",
    ),
    RequirementCoverage(
        id="STUD-CLASS-02",
        level="MUST",
        place="Error Model › Classes and handlers › Provider transient",
        sentence="Provider transient (5xx, network blip) | Yes | Retry per the provider's policy.",
        status="tested",
        checks=("classification.disposition",),
        judged=9,
    ),
    *(
        RequirementCoverage(
            id=id_,
            level="MUST",
            place=place,
            sentence=sentence,
            status="failed" if id_ in {"STUD-RL-02", "STUD-RL-03"} else "tested",
            checks=("backoff.wait", "backoff.attempts"),
            judged=4,
        )
        for id_, (place, sentence) in WORDS.items()
        if id_ != "STUD-AUDIT-01"
    ),
    RequirementCoverage(
        id="STUD-AUDIT-01",
        level="SHOULD",
        place=WORDS["STUD-AUDIT-01"][0],
        sentence=WORDS["STUD-AUDIT-01"][1],
        status="not exercised",
        checks=("ordering.retry-audited",),
    ),
)


def report(runs: Sequence[RunReport], **more: Any) -> Report:
    """Return a report of `runs`, with totals and verdict that agree with them."""
    runs = [_with_ids(item) for item in runs]
    totals: dict[str, int] = {}
    for item in runs:
        totals[item.verdict.value] = totals.get(item.verdict.value, 0) + 1
    values: dict[str, Any] = {
        "faultclock": "0.1.0",
        "model": "stud-cli",
        "model_title": "stud-cli Error Model",
        "model_revision": "1",
        "readings": {"schedule-length": "six-attempts", "unspecified-jitter": "fifty"},
        "switches": SWITCHES,
        "subject": SubjectInfo(
            id="openai-async",
            role="provider_adapter",
            style="async",
            distributions={"openai": "3.52.0", "httpx2": "2.16.2"},
        ),
        "verdict": overall(tuple(item.verdict for item in runs)),
        "totals": totals,
        "runs": tuple(runs),
        "coverage": COVERAGE,
    }
    return Report(**{**values, **more})


def _with_ids(run: RunReport) -> RunReport:
    """Return `run` with an id for each finding that a real report has one for."""
    green = {Verdict.PASS, Verdict.NOT_APPLICABLE}
    findings = tuple(
        item
        if item.verdict in green or item.id
        else item.model_copy(update={"id": f"F-{run.scenario}-{run.seed}-{number}"})
        for number, item in enumerate(run.findings)
    )
    return run.model_copy(update={"findings": findings})


def sdk_report() -> Report:
    """Return what the unmodified SDK might get: every verdict, seeds, a crowd, a deadlock."""
    jitter = broken(
        "backoff.jitter",
        "STUD-RL-02",
        "first waits that vary over 8 seeds",
        "8 different waits for rate-limits/no-header",
        verdict=Verdict.PASS,
        judged=8,
    )
    fixed = broken(
        "backoff.jitter",
        "STUD-RL-02",
        "first waits that vary over 8 seeds",
        "the same wait of 870 ms in all 8 seeds of provider-transient/reset-mid-response",
        judged=8,
        hint="Seed-independent waits mean that the jitter is missing or constant.",
    )
    runs = [
        *(sdk_schedule(seed) for seed in range(3)),
        retry_after(),
        late_date(),
        quota_retried(),
        crowd(),
        hung(),
        reset_twice(),
        nothing_applicable(),
    ]
    return report(runs, seeds_findings=(fixed, jitter))


def reference_report() -> Report:
    """Return a report in which everything passes."""
    runs = [*(reference_six(seed) for seed in range(8)), retry_after(), reset_twice()]
    subject = SubjectInfo(
        id="reference",
        role="provider_adapter",
        style="async",
        declares=("errors", "audit"),
    )
    return report(runs, subject=subject)


def empty_report() -> Report:
    """Return a report of nothing."""
    return report([], verdict=Verdict.INCONCLUSIVE, coverage=(), switches=(), readings={})


def large_report(scenarios: int = 40) -> Report:
    """Return a report of many scenarios, one of them a crowd."""
    makers = [sdk_schedule, retry_after, late_date, quota_retried, reset_twice, reference_six]
    runs = [crowd()]
    for index in range(scenarios - 1):
        made = makers[index % len(makers)]()
        runs.append(made.model_copy(update={"scenario": f"{made.scenario}-{index}"}))
    return report(runs)


def hostile_report() -> Report:
    """Return a report in which every text is `HOSTILE`."""
    hostile = _poisoned(sdk_report().model_dump(mode="json"))
    return Report.model_validate(hostile)


#: Texts that are ids of a fixed set or formats, so that a hostile one could not be there.
_TYPED = {"verdict", "level", "style", "ending", "lane", "applies_to", "status"}


def _poisoned(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _poisoned(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item, key) for item in value]
    if isinstance(value, str) and key not in _TYPED:
        return value + HOSTILE
    return value
