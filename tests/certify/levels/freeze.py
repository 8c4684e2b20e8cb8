"""Freezes the requirement sets: what each role is answerable for, seen on its shipped reference.

    python -m tests.certify.levels.freeze [MODEL]... [--jobs N] [--check]

The reference of each role is run through all shipped scenarios for its role and model. What it is
seen to keep is what the role is answerable for. Where that, the model or a scenario differs from
the set that is there, a set of the next revision takes its place, and the old one is remembered by
its digest. A set is written only if its reference then reaches the level `hardened`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import yaml
from msgspec.structs import replace

from faultclock.certify.levels.appraisal import appraise
from faultclock.certify.levels.evidence import gather
from faultclock.load.error_model import load_error_model, model_ids
from faultclock.load.requirement_set import (
    load_requirement_set,
    model_digest,
    requirement_digest,
    scenarios_digest,
    set_digest,
    set_ids,
)
from faultclock.load.resources import requirement_sets_root
from faultclock.load.scenario import LoadedScenario, find_scenarios
from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.conformance import (
    Hardening,
    PastSet,
    RequirementSet,
    RoleSet,
    SetRequirement,
    SetScenario,
)
from faultclock.model.report.finding import Finding, Report, Verdict
from faultclock.model.scenario.scenario import Role, Scenario
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.oracle.judge import Judge, judge_seeds
from faultclock.run.execute import seal
from faultclock.run.prepare import prepare
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding
from faultclock.subjects.registry import catalog

_HEAD = """\
# Frozen: written by `python -m tests.certify.levels.freeze`, never by hand.
"""
_EXPLORATION_RUNS = 1_000
_JITTER_SEEDS = 64
#: What a contract says of a field that its author leaves out.
_LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "tool": {"retry": None, "output_schema": None},
    "extension": {"capabilities": [], "config_schema": {}},
}
#: Checks of what a subject does only if it is made so. Whoever does not cannot do it wrong, and
#: need not be built otherwise to conform.
_OCCASIONS = {"wrapping.identity": "no typed error was wrapped in another error of the subject's"}
_GOOD = (Verdict.PASS, Verdict.NOT_APPLICABLE)

#: A requirement, and a check that judges it.
Pair = tuple[str, str]


def references_of(model_id: str) -> dict[Role, str]:
    """Return the shipped reference of each role of a model: the first that is listed."""
    found: dict[Role, str] = {}
    for entry in catalog():
        if entry.kind == "reference" and entry.model == model_id:
            found.setdefault(entry.role, entry.id)
    return found


def scenarios_for(
    found: Iterable[LoadedScenario], role: Role, model_id: str
) -> tuple[LoadedScenario, ...]:
    """Return those of `found` that are for a role and a model."""
    return tuple(
        item
        for item in found
        if item.scenario.role == role
        and (not item.scenario.models or model_id in item.scenario.models)
    )


def facts_of(items: Iterable[LoadedScenario]) -> tuple[SetScenario, ...]:
    """Return scenarios as a set has them."""
    return tuple(
        SetScenario(
            id=item.scenario.id,
            digest=scenarios_digest(item.runnable),
            variants=len(item.runnable),
            seed=item.scenario.seed,
            seeds=item.scenario.seeds,
        )
        for item in items
    )


# ------------------------------------------------------------------ seen on the reference


class _Seen:
    """What one reference does in all scenarios for its role and model."""

    def __init__(
        self,
        model: ErrorModel,
        subject: str,
        items: tuple[LoadedScenario, ...],
        jitter_seeds: int,
    ) -> None:
        self.jitter_seeds = jitter_seeds
        self.model = model
        self.subject = subject
        self.scenarios = tuple(scenario for item in items for scenario in item.runnable)
        self.binding = prepare(subject)
        self.traces: list[Trace] = []
        self.judge = Judge(model)

    def run(self, jobs: int) -> Report:
        """Run it, and keep the traces."""
        report = run_suite(
            _request(self.model, self.binding, self.subject, self.scenarios, jobs=jobs),
            on_trace=self._keep,
        )
        bad = sorted(
            {f"{run.scenario}: {run.verdict}" for run in report.runs if run.verdict not in _GOOD}
            | {
                f"{item.scenario}: {item.verdict}"
                for item in report.seeds_findings
                if item.verdict not in _GOOD
            }
        )
        if bad:
            raise SystemExit(f"{self.subject} is no reference: {'; '.join(bad)}")
        return report

    def _keep(self, trace: Trace) -> str:
        self.traces.append(trace)
        return trace.header.scenario.id

    def pairs(self, traces: Iterable[Trace]) -> frozenset[Pair]:
        """Return which requirements are seen to be kept in `traces`, each with its checks."""
        found: set[Pair] = set()
        groups: dict[tuple[str, str | None], list[Trace]] = {}
        for trace in traces:
            found |= _kept(self.judge.judge(trace).findings)
            scenario = trace.header.scenario
            groups.setdefault((scenario.id, scenario.variant), []).append(trace)
        for group in groups.values():
            found |= _kept(judge_seeds(self.model, tuple(group)))
        return frozenset(found)

    def declared(self, pairs: frozenset[Pair]) -> dict[str, tuple[str, ...]]:
        """Return for each requirement without which declarations less is seen of it."""
        needed: dict[str, list[str]] = {}
        for name in sorted(self.binding.declares):
            less = self.pairs(_without(trace, name) for trace in self.traces)
            for requirement in sorted({requirement for requirement, _ in pairs - less}):
                needed.setdefault(requirement, []).append(name)
        for field in sorted(_fields(self.traces)):
            less = self.pairs(_without_field(trace, field) for trace in self.traces)
            for requirement in sorted({requirement for requirement, _ in pairs - less}):
                needed.setdefault(requirement, []).append(f"contract.{field}")
        return {requirement: tuple(names) for requirement, names in needed.items()}


def _request(
    model: ErrorModel,
    binding: Binding,
    subject: str,
    scenarios: tuple[Scenario, ...],
    *,
    jobs: int = 1,
) -> SuiteRequest:
    return SuiteRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=subject,
        model=model,
        jobs=jobs,
        sweep=False,
    )


def _kept(findings: Iterable[Finding]) -> set[Pair]:
    return {
        (finding.requirement, finding.check)
        for finding in findings
        if finding.verdict is Verdict.PASS and finding.judged and finding.requirement is not None
    }


def _without(trace: Trace, name: str) -> Trace:
    """Return the trace of a subject that does not declare `name`."""
    subject = trace.header.subject
    kept = tuple(item for item in subject.declares if item != name)
    return _resealed(trace, subject.model_copy(update={"declares": kept}))


def _resealed(trace: Trace, subject: SubjectInfo) -> Trace:
    header = trace.header.model_copy(update={"subject": subject})
    footer = trace.footer
    return seal(header, trace.events, footer.ending, footer.detail, footer.ended_at_ns)


def _fields(traces: Iterable[Trace]) -> set[str]:
    """Return the fields of the contract that may be left out, and that the reference gives."""
    return {
        name
        for trace in traces
        for event in trace.of_kind("contract.declared")
        for name in _LEFT_OUT.get(trace.header.subject.role, {})
        if event.payload["contract"].get(name)
    }


def _without_field(trace: Trace, field: str) -> Trace:
    """Return the trace of a subject whose contract leaves `field` out."""
    left_out = {field: _LEFT_OUT[trace.header.subject.role][field]}
    events = tuple(
        replace(event, payload=event.payload | {"contract": event.payload["contract"] | left_out})
        if event.kind == "contract.declared"
        else event
        for event in trace.events
    )
    footer = trace.footer
    return seal(trace.header, events, footer.ending, footer.detail, footer.ended_at_ns)


# ------------------------------------------------------------------ what is repeated many times


def _jitter(seen: _Seen, report: Report, jobs: int) -> tuple[str, ...]:
    """Return scenarios over whose seeds jitter can be judged: those written for it, or one."""
    waiting = {run.scenario for run in report.runs if any("±" in w.basis for w in run.waits)}
    spread = {finding.scenario for finding in report.seeds_findings if finding.judged}
    several = [item for item in seen.scenarios if item.id in spread]
    others = [
        item
        for item in seen.scenarios
        if item.id in waiting and item.seeds == 1 and item.variant is None
    ]
    found = tuple(item.id for item in several if _spreads(seen, item, jobs))
    return found or tuple(item.id for item in islice(_spreading(seen, others, jobs), 1))


def _spreading(seen: _Seen, scenarios: Iterable[Scenario], jobs: int) -> Iterator[Scenario]:
    return (item for item in scenarios if _spreads(seen, item, jobs))


def _spreads(seen: _Seen, scenario: Scenario, jobs: int) -> bool:
    """Return whether every seed shows what the scenario is about, and jitter can be judged."""
    request = replace(
        _request(seen.model, seen.binding, seen.subject, (scenario,), jobs=jobs),
        seeds=seen.jitter_seeds,
    )
    report = run_suite(request)
    return all(run.verdict in _GOOD for run in report.runs) and any(
        item.verdict is Verdict.PASS for item in report.seeds_findings
    )


# ------------------------------------------------------------------ the set


def role_set_of(
    model: ErrorModel,
    subject: str,
    items: tuple[LoadedScenario, ...],
    *,
    jobs: int = 1,
    jitter_seeds: int = _JITTER_SEEDS,
    exploration_runs: int = _EXPLORATION_RUNS,
) -> RoleSet:
    """Return what a role is answerable for, seen on its reference in the scenarios `items`."""
    seen = _Seen(model, subject, items, jitter_seeds)
    report = seen.run(jobs)
    pairs = seen.pairs(seen.traces)
    # A rule may cite a sentence that the model leaves out: what judges others does not judge it.
    judgeable = {item.id for item in model.requirements if item.checks}
    kept = {requirement for requirement, _ in pairs if requirement in judgeable}
    declared = seen.declared(pairs)
    return RoleSet(
        reference=subject,
        requirements=tuple(
            SetRequirement(
                id=item.id,
                level=item.level,
                digest=requirement_digest(item),
                declares=declared.get(item.id, ()),
                occasion=_occasion(item),
            )
            for item in model.requirements
            if item.id in kept
        ),
        elsewhere=tuple(
            item.id for item in model.requirements if item.checks and item.id not in kept
        ),
        excluded=tuple(item.id for item in model.requirements if item.excluded is not None),
        scenarios=facts_of(items),
        hardening=Hardening(
            exploration_runs=exploration_runs,
            exploration_seed=0,
            crash_sweep=tuple(dict.fromkeys(item.id for item in seen.scenarios if item.is_swept)),
            jitter=_jitter(seen, report, jobs),
            jitter_seeds=jitter_seeds,
        ),
    )


def _occasion(requirement: Requirement) -> str:
    if not all(check in _OCCASIONS for check in requirement.checks):
        return ""
    return "; ".join(_OCCASIONS[check] for check in requirement.checks)


def successor(set_: RequirementSet) -> RequirementSet | None:
    """Return `set_` with its revision and history; None if it is the one that is there."""
    if set_.model not in set_ids():
        return set_
    old = load_requirement_set(set_.model)
    same = set_.model_copy(update={"revision": old.revision})
    if set_digest(same) == set_digest(old):
        return None
    past = (*old.history, PastSet(revision=old.revision, digest=set_digest(old)))
    return set_.model_copy(update={"revision": old.revision + 1, "history": past})


def _prove(set_: RequirementSet, model: ErrorModel, jobs: int) -> Iterator[str]:
    for role, of in set_.roles.items():
        started_s = time.monotonic()
        binding = prepare(of.reference)
        made = gather(binding, of.reference, model, set_, "hardened", jobs=jobs)
        appraisal = appraise(set_, model, made.evidence, made.judged)
        yield (
            f"  {role}: {of.reference} {'reaches' if appraisal.is_reached else 'DOES NOT REACH'}"
            f" hardened, {len(made.evidence.traces)} traces,"
            f" {time.monotonic() - started_s:.1f} s"
        )
        if not appraisal.is_reached:
            told = "\n".join(f"    {item.what}: {item.because}" for item in appraisal.objections)
            raise SystemExit(f"{set_.model}, {role}:\n{told}")


def _write(set_: RequirementSet) -> Path:
    path = requirement_sets_root() / f"{set_.model}.yaml"
    data: Mapping[str, Any] = set_.model_dump(mode="json")
    text = yaml.safe_dump(data, sort_keys=False, width=100, allow_unicode=True)
    path.write_text(_HEAD + text, encoding="utf-8")
    return path


def main(words: list[str]) -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.certify.levels.freeze")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="ids; the default is all")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if one differs")
    options = parser.parse_args(words)
    found = find_scenarios()
    stale = False
    for model_id in options.models or model_ids():
        started_s = time.monotonic()
        model = load_error_model(model_id)
        set_ = RequirementSet(
            model=model.id,
            model_revision=model.revision,
            revision=1,
            model_digest=model_digest(model),
            roles={
                role: role_set_of(
                    model, subject, scenarios_for(found, role, model.id), jobs=options.jobs
                )
                for role, subject in references_of(model.id).items()
            },
        )
        new = successor(set_)
        _say(f"{model_id}: {time.monotonic() - started_s:.1f} s to see what is kept")
        if new is None:
            _say(f"  as it is in revision {load_requirement_set(model_id).revision}")
            continue
        stale = True
        if not options.check:
            for line in _prove(new, model, options.jobs):
                _say(line)
            _say(f"  revision {new.revision}: {_write(new)}")
    return 1 if stale and options.check else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
