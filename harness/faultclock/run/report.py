"""Folds traces and judgements into a Report. Pure: no file, no clock, no verdict of its own."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import faultclock
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.coverage import Coverage
from faultclock.model.report.finding import (
    CrossingReport,
    Finding,
    Judgement,
    PassedOver,
    Report,
    RequirementCoverage,
    RunReport,
    Shard,
    SourcePlace,
    Verdict,
    overall,
    verdict_of,
)
from faultclock.model.report.token import token_of
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.run.expand import crash_event, variant_of
from faultclock.run.kill_matrix import check_entries
from faultclock.run.report_places import shown_notes, source_of
from faultclock.run.timeline import timeline

#: What is shown in full, and can be asked for by its id.
_TELLING = (Verdict.FAIL, Verdict.WARN, Verdict.INCONCLUSIVE)
_ID_DIGITS = 10


def replay_command(
    selector: str,
    subject: str,
    model: str,
    readings: Mapping[str, str],
    seed: int,
    scenario: Scenario | None = None,
    limits: Sequence[str] = (),
) -> str:
    """Return the command line that runs exactly one scenario, subject and seed again.

    Args:
        selector: what selects the scenario's file.
        scenario: the one that was run, where the file stands for more than one.
        limits: options that say when a run is ended.
    """
    words = ["faultclock", "run", selector, "--subject", subject, "--model", model]
    for switch, option in sorted(readings.items()):
        words += ["--reading", f"{switch}={option}"]
    words += ["--seed", str(seed), "--seeds", "1"]
    if scenario is not None:
        if (variant := variant_of(scenario)) is not None:
            words += ["--variant", variant]
        if (seq := crash_event(scenario)) is not None:
            words += ["--crash-at-event", str(seq)]
        elif scenario.is_swept:
            words.append("--no-crash-everywhere")
    words += limits
    return shlex.join(words)


def run_report(
    trace: Trace,
    judgement: Judgement,
    *,
    replay: str,
    trace_file: str | None,
    coordinates: Callable[[], Coordinates] | None = None,
    confirmed: bool = False,
) -> RunReport:
    """Return the report of one run.

    Args:
        coordinates: has what leads to the run again; asked where it is not green. None: a stored
            trace is judged, which can itself be run again, or a log, which cannot.
        confirmed: it was made once more, and was the same.
    """
    scenario = trace.header.scenario
    crash_point = crash_event(scenario)
    verdict = verdict_of(judgement.findings)
    marks, cut = timeline(trace, _cited(judgement))
    if crash_point is not None and verdict is Verdict.PASS:
        # A sweep has hundreds of these, all alike: their events are in the traces.
        marks, cut = (), len(trace.events)
    telling = any(finding.verdict in _TELLING for finding in judgement.findings)
    token = token_of(coordinates()) if telling and coordinates is not None else ""
    found = _with_places(trace, judgement)
    asked = [event.payload.get("stream") for event in trace.of_kind("http.request")]
    ends = [call.ended_ns for call in judgement.calls if call.ended_ns is not None]
    return RunReport(
        scenario=scenario.id,
        title=scenario.title,
        why=scenario.why,
        variant=scenario.variant,
        crash_point=crash_point,
        resumes=sum(1 for event in trace.of_kind("process.started") if event.payload.get("resume")),
        seed=trace.header.seed,
        verdict=verdict,
        ending=trace.footer.ending,
        ending_detail=trace.footer.detail,
        # After the last call the world only waits for stragglers: that time is not the subject's.
        virtual_ns=max(ends, default=trace.footer.ended_at_ns),
        time_base=trace.header.time_base,
        trace_digest=trace.footer.digest,
        streamed=bool(asked) and all(asked),
        # Of a failure every report takes that for granted.
        made_twice=confirmed and verdict is not Verdict.FAIL,
        trace_file=trace_file,
        replay=replay,
        token=token,
        findings=_with_ids(found, trace) if trace.is_virtual else found,
        calls=judgement.calls,
        waits=judgement.waits,
        timeline=marks,
        timeline_cut=cut,
        unanswered=tuple(
            (str(event.host), f"{event.method} {str(event.target).partition('?')[0]}")
            for event in trace.of_kind("service.unanswered")
        ),
        # A report of hundreds of runs must stay small: what is green needs no line.
        notes=shown_notes(trace.notes) if telling else None,
    )


def over_seeds(findings: tuple[Finding, ...], trace: Trace) -> tuple[Finding, ...]:
    """Return the verdicts on a group of seeds with what they are about, and with ids.

    Args:
        trace: of one run of the group.
    """
    header = trace.header
    scenario, variant = header.scenario.id, header.scenario.variant
    about = {"scenario": scenario, "variant": variant}
    placed = tuple(finding.model_copy(update=about) for finding in findings)
    return _named(placed, (scenario, variant, header.subject.id, "seeds"))


def assemble(
    *,
    model: ErrorModel,
    readings: Mapping[str, str],
    subject: SubjectInfo,
    runs: tuple[RunReport, ...],
    seeds_findings: tuple[Finding, ...],
    crossings: tuple[CrossingReport, ...] = (),
    passed_over: tuple[PassedOver, ...] = (),
    shard: Shard | None = None,
    source: SourcePlace | None = None,
    scenario_files: Mapping[str, str] | None = None,
    inline: bool = False,
    remedies: Mapping[str, str] | None = None,
    proved: bool = True,
) -> Report:
    """Return the report of all runs of one subject against one model.

    Args:
        remedies: what of the subject's framework mends a broken requirement, by the id of that.
        proved: it names the miniatures that fail each check.
    """
    verdicts = [run.verdict for run in runs]
    coverage = Coverage.of(runs, seeds_findings)
    return Report(
        faultclock=faultclock.__version__,
        model=model.id,
        model_title=model.title,
        model_revision=model.revision,
        readings=dict(sorted(readings.items())),
        switches=model.switches,
        subject=subject,
        source=source,
        inline=inline,
        scenario_files=dict(sorted((scenario_files or {}).items())),
        verdict=overall((*verdicts, *(finding.verdict for finding in seeds_findings))),
        totals=dict(Counter(verdict.value for verdict in verdicts)),
        seeds_findings=seeds_findings,
        runs=runs,
        coverage=tuple(
            _covered(requirement, coverage, (remedies or {}).get(requirement.id, ""))
            for requirement in model.requirements
        ),
        crossings=crossings,
        passed_over=passed_over,
        shard=shard,
        checks=check_entries(model, proved=proved),
    )


def _with_places(trace: Trace, judgement: Judgement) -> tuple[Finding, ...]:
    """Return the findings, each that is not green with the line that it points at."""
    if trace.notes is None:
        return judgement.findings
    return tuple(
        finding.model_copy(update={"source": source_of(finding, trace, judgement)})
        if finding.verdict in _TELLING
        else finding
        for finding in judgement.findings
    )


def _with_ids(findings: tuple[Finding, ...], trace: Trace) -> tuple[Finding, ...]:
    """Return `findings` with an id for each that is not green.

    It follows from which run it was and from what was found, so a report that is made again has
    the same, also with another version of the subject.
    """
    header = trace.header
    run = (
        header.scenario.id,
        header.scenario.variant,
        header.subject.id,
        header.seed,
        header.tape.model_dump_json(),
    )
    return _named(findings, run)


def _named(findings: tuple[Finding, ...], of: tuple[object, ...]) -> tuple[Finding, ...]:
    counted: Counter[tuple[str, str | None, str | None]] = Counter()
    named = []
    for finding in findings:
        if finding.verdict in _TELLING:
            key = (finding.check, finding.requirement, finding.call)
            counted[key] += 1
            text = repr((*of, *key, counted[key]))
            digest = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
            finding = finding.model_copy(update={"id": f"F-{digest[:_ID_DIGITS]}"})
        named.append(finding)
    return tuple(named)


def _cited(judgement: Judgement) -> frozenset[int]:
    """Return the `seq` of every event that proves something that is not a pass."""
    return frozenset(
        seq
        for finding in judgement.findings
        if finding.verdict in _TELLING
        for seq in finding.events
    )


def _covered(requirement: Requirement, coverage: Coverage, remedy: str) -> RequirementCoverage:
    status, judged = coverage.status(requirement.id, excluded=requirement.excluded is not None)
    return RequirementCoverage(
        id=requirement.id,
        level=requirement.level,
        place=requirement.place,
        sentence=requirement.sentence,
        document=requirement.document,
        paraphrased=requirement.wording == "paraphrased",
        status=status,
        excluded=requirement.excluded,
        checks=requirement.checks,
        judged=judged,
        harm=requirement.harm,
        does=requirement.does,
        change=f"{requirement.change} {remedy}".strip(),
        shown_with=requirement.shown_with,
        sources=requirement.sources,
    )
