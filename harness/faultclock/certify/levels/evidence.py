"""Has everything run that a level asks for, and judges it on the way.

What a run comes to is worked out by `judging` from its trace alone, as the verifier of a
certificate does; what is added here is which runs there are, and that they can be had twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct

from faultclock.certify.levels.doubles import doubles_of
from faultclock.certify.levels.judging import Judging, stored
from faultclock.certify.levels.selection import Selection, select
from faultclock.errors import InputError
from faultclock.explore.engine import ExploreRequest, explore
from faultclock.load.requirement_set import set_digest
from faultclock.load.trace_file import stem_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import LevelName, RequirementSet
from faultclock.model.report.evidence import Double, Evidence, Explored, Judged, StoredTrace
from faultclock.model.report.exploration import Tried
from faultclock.model.report.finding import RunReport
from faultclock.model.scenario.scenario import Killable, Scenario
from faultclock.model.trace.trace import Trace
from faultclock.run.expand import crash_event, variant_of
from faultclock.run.process.confirm import REPEATABLE
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import Binding

__all__ = ["Evidence", "Gathered", "gather"]

#: Called with a step and how many of its runs are done, of how many.
OnProgress = Callable[[str, int, int], None]


class Gathered(Struct, frozen=True, kw_only=True):
    """What was made for a level, and what its traces come to."""

    evidence: Evidence
    judged: Judged


def gather(
    binding: Binding,
    subject_spec: str,
    model: ErrorModel,
    set_: RequirementSet,
    level: LevelName,
    *,
    jobs: int = 1,
    on_trace: Callable[[str, Trace], None] | None = None,
    on_progress: OnProgress | None = None,
    told_as: str | None = None,
) -> Gathered:
    """Make all runs that `level` asks for.

    Args:
        binding: of the subject, prepared.
        subject_spec: how it is loaded once more, in another process.
        jobs: worker processes; they change nothing in what is returned.
        on_trace: called with each trace and the name that it is kept under, in no fixed order.
        told_as: how it is named in replay commands; None: as `subject_spec` says.

    Raises:
        InputError: the set has no such role, the model or a scenario is not what was frozen, or
            nothing can be played for this subject.
    """
    selection = select(set_, model, binding.role, binding.dialects)
    if not selection.playable:
        first = selection.passed_over[0]
        raise InputError(
            f"no scenario of the requirement set fits {binding.id}: {first.because}",
            hint="choose another subject or model",
        )
    told_as = subject_spec if told_as is None else told_as
    hardened = level == "hardened"
    making = _Making(
        binding=binding,
        subject_spec=told_as,
        model=model,
        selection=selection,
        hardened=hardened,
        jobs=jobs,
        on_trace=on_trace or (lambda *_: None),
        on_progress=on_progress or (lambda *_: None),
    )
    making.make()
    traces = making.ordered()
    doubles: tuple[Double, ...] = ()
    explored: Explored | None = None
    if hardened:
        again = tuple((entry.name, *making.asked[entry.name]) for entry in traces)
        advance = partial(making.on_progress, "doubles")
        doubles = doubles_of(again, subject_spec, jobs=jobs, on_progress=advance)
        explored = _explored(making, subject_spec)
    evidence = Evidence(
        model=model.id,
        set_revision=set_.revision,
        set_digest=set_digest(set_),
        role=binding.role,
        level=level,
        subject=binding.info(),
        subject_spec=told_as,
        dialects=binding.dialects,
        passed_over=selection.passed_over,
        traces=traces,
        unsteady=tuple(entry.name for entry in traces if entry.name in making.unsteady),
        doubles=doubles,
        explored=explored,
    )
    return Gathered(evidence=evidence, judged=making.judging.result(traces))


@dataclass(slots=True, kw_only=True)
class _Making:
    """Makes the runs of one subject, each once."""

    binding: Binding
    subject_spec: str
    model: ErrorModel
    selection: Selection
    hardened: bool
    jobs: int
    on_trace: Callable[[str, Trace], None]
    on_progress: OnProgress
    judging: Judging = field(init=False)
    entries: dict[str, StoredTrace] = field(default_factory=dict)
    #: What was asked for, as it is asked for once more.
    asked: dict[str, tuple[Scenario, int]] = field(default_factory=dict)
    unsteady: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.judging = Judging(
            selection=self.selection,
            model=self.model,
            subject=self.binding.info(),
            subject_spec=self.subject_spec,
            hardened=self.hardened,
        )

    def make(self) -> None:
        """Make all runs but those of the exploration."""
        hardening = self.selection.of.hardening
        everything = tuple(self.selection.written.values())
        self._run("scenarios", everything)
        if not self.hardened:
            return
        self._run("jitter", self.selection.of_ids(hardening.jitter), seeds=hardening.jitter_seeds)
        swept = tuple(
            scenario.model_copy(update={"crash_everywhere": True})
            for scenario in self.selection.of_ids(hardening.crash_sweep)
            if isinstance(scenario, Killable)
        )
        self._run("crash sweep", swept)

    def ordered(self) -> tuple[StoredTrace, ...]:
        """Return the entries in the order of the set, the crashes of a sweep behind their run."""
        places = {key: place for place, key in enumerate(self.selection.written)}

        def place(entry: StoredTrace) -> tuple[int, bool, int, int]:
            scenario, seed = self.asked[entry.name]
            crash = crash_event(scenario)
            key = (scenario.id, variant_of(scenario))
            return places[key], crash is not None, seed, crash or 0

        return tuple(sorted(self.entries.values(), key=place))

    def _run(self, step: str, scenarios: tuple[Scenario, ...], seeds: int | None = None) -> None:
        if not scenarios:
            return
        total = sum(item.seeds if seeds is None else seeds for item in scenarios)
        done = 0

        def on_run(run: RunReport) -> None:
            nonlocal done, total
            done += 1
            # How many crash points there are is not known before.
            total = max(total, done)
            if run.trace_file and any(item.check == REPEATABLE for item in run.findings):
                self.unsteady.add(run.trace_file)
            self.on_progress(step, done, total)

        run_suite(
            SuiteRequest(
                scenarios=scenarios,
                binding=self.binding,
                subject_spec=self.subject_spec,
                model=self.model,
                seeds=seeds,
                jobs=self.jobs,
                sweep=step == "crash sweep",
            ),
            on_run=on_run,
            on_trace=self._take,
        )

    def _take(self, trace: Trace) -> str | None:
        header = trace.header
        scenario = header.scenario
        written = self.selection.written[scenario.id, variant_of(scenario)]
        crash = crash_event(scenario)
        name = stem_of(trace)
        if crash is None and scenario != self.selection.played(written):
            # The run that a sweep starts from is there already, as it is written.
            return None
        entry = stored(name, trace)
        if self.entries.setdefault(name, entry) is not entry:
            # Jitter is judged over many seeds, of which some were run before.
            return name
        self.asked[name] = (written if crash is None else scenario, header.seed)
        self.judging.take(entry, trace)
        self.on_trace(name, trace)
        return name


def _explored(making: _Making, subject_spec: str) -> Explored:
    hardening = making.selection.of.hardening
    scenarios = tuple(making.selection.written.values())
    each = -(-hardening.exploration_runs // len(scenarios))
    runs: dict[tuple[int, str, str], str] = {}

    def on_run(tried: Tried) -> None:
        runs[tried.number, tried.scenario, tried.variant or ""] = tried.trace_digest
        making.on_progress("exploration", len(runs), each * len(scenarios))

    exploration = explore(
        ExploreRequest(
            scenarios=scenarios,
            binding=making.binding,
            subject_spec=subject_spec,
            model=making.model,
            seed=hardening.exploration_seed,
            runs=each,
            workers=making.jobs,
            passed_over=making.selection.passed_over,
        ),
        on_run=on_run,
    )
    digests = "".join(f"{runs[key]}\n" for key in sorted(runs))
    return Explored(
        exploration=exploration, runs_digest=hashlib.sha256(digests.encode()).hexdigest()
    )
