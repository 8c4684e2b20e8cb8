"""From traces to a report: what was run for a level is judged here, and judged again by one who
doubts it.

Nothing comes from anywhere but the traces, the model and the set, so that what a certificate says
can be worked out anew from the files beside it. A trace is held against what it claims to be, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from faultclock.certify.levels.selection import Selection, select
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import Objection, RequirementSet
from faultclock.model.report.coordinates import Coordinates
from faultclock.model.report.evidence import Evidence, Judged, StoredTrace
from faultclock.model.report.finding import Finding, RunReport
from faultclock.model.scenario.scenario import Scenario, scenario_digest
from faultclock.model.trace.trace import CUT_SHORT, SubjectInfo, Trace
from faultclock.oracle.judge import Judge, judge_seeds
from faultclock.run.expand import crash_event, crash_points, variant_of
from faultclock.run.report import assemble, over_seeds, replay_command, run_report
from faultclock.run.suite import crossed


def stored(name: str, trace: Trace) -> StoredTrace:
    """Return the entry of a trace that is kept under `name`."""
    header = trace.header
    return StoredTrace(
        name=name,
        scenario=header.scenario.id,
        variant=header.scenario.variant,
        seed=header.seed,
        digest=trace.footer.digest,
    )


def judged(
    evidence: Evidence,
    trace_of: Callable[[str], Trace],
    *,
    model: ErrorModel,
    set_: RequirementSet,
) -> Judged:
    """Return what the traces of `evidence` come to.

    Args:
        trace_of: returns the trace that is kept under a name.

    Raises:
        InputError: model or scenarios are not those of the set, or a trace cannot be read.
    """
    judging = Judging(
        selection=select(set_, model, evidence.role, evidence.dialects),
        model=model,
        subject=evidence.subject,
        subject_spec=evidence.subject_spec,
        hardened=evidence.level == "hardened",
    )
    for entry in evidence.traces:
        judging.take(entry, trace_of(entry.name))
    return judging.result(evidence.traces)


@dataclass(slots=True, kw_only=True)
class Judging:
    """Takes traces one by one, in any order; keeps of each no more than has to be.

    Args:
        subject_spec: how the subject is named in replay commands.
        hardened: whether what the level `hardened` has run is there as well.
    """

    selection: Selection
    model: ErrorModel
    subject: SubjectInfo
    subject_spec: str
    hardened: bool
    _judge: Judge = field(init=False)
    _runs: dict[str, RunReport] = field(default_factory=dict)
    _misfits: dict[str, tuple[Objection, ...]] = field(default_factory=dict)
    _groups: dict[tuple[str, str | None], dict[int, Trace]] = field(default_factory=dict)
    _points: dict[tuple[str, str | None, int], frozenset[int]] = field(default_factory=dict)
    _contract: set[str] = field(default_factory=set)
    _versions: dict[str, str] | None = None

    def __post_init__(self) -> None:
        self._judge = Judge(self.model)

    def take(self, entry: StoredTrace, trace: Trace) -> None:
        """Judge one trace."""
        # Its notes are in no certificate, and what one says must come from its traces alone.
        trace = replace(trace, notes=None)
        header = trace.header
        scenario = header.scenario
        replay = replay_command(
            scenario.id, self.subject_spec, self.model.id, {}, header.seed, scenario
        )
        self._misfits[entry.name] = tuple(
            Objection(what=entry.name, because=because) for because in self._odd(entry, trace)
        )
        self._runs[entry.name] = run_report(
            trace,
            self._judge.judge(trace),
            replay=replay,
            trace_file=f"traces/{entry.name}.jsonl",
            coordinates=lambda: self._coordinates(trace),
        )
        for event in trace.of_kind("contract.declared"):
            contract = event.payload.get("contract") or {}
            self._contract |= {f"contract.{name}" for name, value in contract.items() if value}
        written = self._written(scenario)
        if written is None or crash_event(scenario) is not None:
            return
        if written.id in self.selection.of.hardening.crash_sweep and self.hardened:
            points = frozenset(crash_points(trace))
            self._points[written.id, written.variant, header.seed] = points
        if len(self._seeds(written)) > 1:
            self._groups.setdefault((scenario.id, scenario.variant), {})[header.seed] = trace

    def result(self, order: tuple[StoredTrace, ...]) -> Judged:
        """Return what all of them come to.

        Args:
            order: in which the report has the runs.
        """
        runs = tuple(self._runs[entry.name] for entry in order)
        report = assemble(
            model=self.model,
            readings={},
            subject=self.subject,
            runs=runs,
            seeds_findings=tuple(self._over_seeds(order)),
            crossings=tuple(crossed(item, list(runs)) for item in self.selection.crossings),
            passed_over=self.selection.passed_over,
        )
        misfits = [item for entry in order for item in self._misfits[entry.name]]
        return Judged(
            report=report,
            misfits=(*misfits, *_twice(order), *self._unswept(order)),
            contract=tuple(sorted(self._contract)),
        )

    def _over_seeds(self, order: tuple[StoredTrace, ...]) -> Iterator[Finding]:
        for key in dict.fromkeys((entry.scenario, entry.variant) for entry in order):
            by_seed = self._groups.get(key, {})
            group = tuple(by_seed[seed] for seed in sorted(by_seed))
            if group:
                yield from over_seeds(judge_seeds(self.model, group), group[0])

    def _unswept(self, order: tuple[StoredTrace, ...]) -> Iterator[Objection]:
        """Yield where a sweep is not whole."""
        made = {(run.scenario, run.variant, run.seed) for run in order}
        for (id_, variant, seed), points in self._points.items():
            written = self.selection.written[id_, variant]
            missing = [
                point
                for point in sorted(points)
                if (id_, self.selection.played(written, point).variant, seed) not in made
            ]
            if not points:
                yield Objection(what=id_, because="there is no event to crash after")
            elif missing:
                yield Objection(
                    what=id_,
                    because=f"{len(missing)} of {len(points)} crash points were not swept,"
                    f" the first after event {missing[0]}",
                )

    def _written(self, scenario: Scenario) -> Scenario | None:
        return self.selection.written.get((scenario.id, variant_of(scenario)))

    def _seeds(self, written: Scenario) -> range:
        return self.selection.seeds(written, hardened=self.hardened)

    def _coordinates(self, trace: Trace) -> Coordinates:
        header = trace.header
        written = self._written(header.scenario)
        return Coordinates(
            scenario=header.scenario.id,
            scenario_digest=scenario_digest(written or header.scenario),
            variant=header.scenario.variant,
            subject=header.subject.id,
            seed=header.seed,
            tape=header.tape,
        )

    def _odd(self, entry: StoredTrace, trace: Trace) -> Iterator[str]:
        """Yield in words why this is not the trace that it is said to be."""
        header, footer = trace.header, trace.footer
        if entry != stored(entry.name, trace):
            yield "the trace of this name is of another run"
        if footer.digest != trace.digest:
            yield "the digest in its footer is not that of the trace"
        if not trace.is_virtual:
            yield "it was not made in virtual time"
        if footer.ending in CUT_SHORT:
            yield f"it came to no end of its own: {footer.ending.replace('_', ' ')}"
        if header.subject != self.subject:
            yield "it is of another subject, or of another version of it"
        self._versions = header.versions if self._versions is None else self._versions
        if header.versions != self._versions:
            yield "it was made with other versions of Faultclock, Python or a library"
        yield from self._odd_scenario(trace)

    def _odd_scenario(self, trace: Trace) -> Iterator[str]:
        header = trace.header
        written = self._written(header.scenario)
        if written is None:
            yield "the set has no such scenario for this subject"
            return
        point = crash_event(header.scenario)
        swept = self.hardened and written.id in self.selection.of.hardening.crash_sweep
        if point is not None and not swept:
            yield "the set has no crash there"
        played = self.selection.played(written, point)
        if header.scenario != played or header.scenario_digest != scenario_digest(played):
            yield "its scenario is not what the set has frozen"
        seeds = self._seeds(written)
        if point is not None:
            seeds = self.selection.seeds(written, hardened=False)
        if header.seed not in seeds:
            yield f"the set has no run with the seed {header.seed}"
        if not header.tape.is_blank and written.tape.is_blank:
            yield "choices were played that the scenario does not make"


def _twice(order: tuple[StoredTrace, ...]) -> Iterator[Objection]:
    seen: set[tuple[str, str | None, int]] = set()
    for entry in order:
        key = (entry.scenario, entry.variant, entry.seed)
        if key in seen:
            yield Objection(what=entry.name, because="another trace is of the same run")
        seen.add(key)
