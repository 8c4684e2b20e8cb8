"""One mutant in one scenario: whether anything changes, and which rules it kills.

A run that proves nothing kills nothing; what a kill is, `model.kill_matrix` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from faultclock.kills.mutant import Mutant
from faultclock.model.report.finding import Verdict, overall
from faultclock.model.report.kill_matrix import (
    Rule,
    broken_rules,
    kept_rules,
    killed_rules,
    unproven_rules,
)
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.judge import Judge, SeedsJudge
from faultclock.run.bind_scenario import bind_scenario
from faultclock.run.execute import sealed, trace_header
from faultclock.run.process.hosting import make_run
from faultclock.run.run_request import RunRequest
from faultclock.subjects.binding import Binding

#: How a trace ends of which nothing, or not all, is left.
_LOST = ("watchdog", "harness_error")
_DIFFERS = "two runs of the subject with one seed differ, so none shows what a mutant changes"


class Played(Struct, frozen=True, kw_only=True):
    """A scenario as the subject itself plays it.

    Attributes:
        traces: one for each seed, in order.
        broken: rules that it breaks; None of them can be killed.
        by_run: rules that its first run keeps.
        by_seeds: further rules that only all of its seeds show to hold.
        why_not: why it shows nothing; empty where it does.
        idle: check to the reason why it has nothing to judge here.
    """

    scenario: Scenario
    traces: tuple[Trace, ...]
    broken: frozenset[Rule]
    by_run: frozenset[Rule]
    by_seeds: frozenset[Rule]
    why_not: str
    idle: dict[str, str]

    @property
    def kept(self) -> frozenset[Rule]:
        """The rules that can be killed here."""
        return (self.by_run | self.by_seeds) - self.broken


class Trial(Struct, frozen=True, kw_only=True):
    """What became of a mutant in a scenario.

    Attributes:
        kills: rules.
        unproven: rules that findings against it are about, and cite other sentences.
        is_noticed: something is against it that is not against the subject.
        is_changed: its traces differ from those of the subject.
        is_proof: its runs prove anything.
        is_lost: a run hung, or ended its process.
    """

    scenario: str
    variant: str | None
    kills: frozenset[Rule] = frozenset()
    unproven: frozenset[Rule] = frozenset()
    is_noticed: bool = False
    is_changed: bool = False
    is_proof: bool = True
    is_lost: bool = False


def play(
    judge: Judge, binding: Binding, scenario: Scenario, *, wall_limit_s: float | None = None
) -> Played:
    """Run the subject itself through a scenario, with all its seeds."""
    traces = tuple(
        run_mutant(scenario, binding, seed, None, wall_limit_s=wall_limit_s)
        for seed in range(scenario.seed, scenario.seed + scenario.seeds)
    )
    by_trace = [judge.judge(trace).findings for trace in traces]
    of_seeds = _group(judge, traces).findings()
    findings = (*chain(*by_trace), *of_seeds)
    by_run = kept_rules(by_trace[0])
    why_not = ""
    if overall(tuple(finding.verdict for finding in findings)) is Verdict.INCONCLUSIVE:
        reasons = (item.reason for item in findings if item.verdict is Verdict.INCONCLUSIVE)
        why_not = next(reasons, "it proves nothing")
    else:
        again = run_mutant(scenario, binding, scenario.seed, None, wall_limit_s=wall_limit_s)
        why_not = "" if _facts(again) == _facts(traces[0]) else _DIFFERS
    return Played(
        scenario=scenario,
        traces=traces,
        broken=broken_rules(findings),
        by_run=by_run,
        by_seeds=kept_rules(findings) - by_run,
        why_not=why_not,
        idle={
            item.check: item.reason for item in findings if item.verdict is Verdict.NOT_APPLICABLE
        },
    )


def run_mutant(
    scenario: Scenario,
    binding: Binding,
    seed: int,
    mutant: Mutant | None,
    *,
    wall_limit_s: float | None = None,
) -> Trace:
    """Run a mutant where the subject is loaded, and end it there after the wall limit.

    One that is bound with `inline` shares a process with other runs, as the subject itself does.

    Args:
        mutant: one with a `change`; None: the subject itself.
    """
    bound = bind_scenario(scenario, binding)
    asked = RunRequest(
        scenario=bound,
        seed=seed,
        isolate=not binding.inline,
        wall_limit_s=wall_limit_s,
    )
    shown = binding if mutant is None or mutant.binding is None else mutant.binding
    made = make_run(binding, asked, None if mutant is None else mutant.change)
    return sealed(trace_header(bound, shown, seed), made)


def try_mutant(
    judge: Judge,
    binding: Binding,
    mutant: Mutant,
    played: Played,
    *,
    all_seeds: bool,
    wall_limit_s: float | None = None,
) -> Trial:
    """Return what a mutant comes to in a scenario.

    Args:
        all_seeds: judge what only the runs of all seeds show, too.
    """
    traces: list[Trace] = []
    is_changed = False
    for right in played.traces if all_seeds else played.traces[:1]:
        wrong = _wrong(binding, mutant, right, played.scenario, wall_limit_s)
        if wrong is not None and _facts(wrong) != _facts(right):
            is_changed = True
        traces.append(right if wrong is None else wrong)
    trial = Trial(scenario=played.scenario.id, variant=played.scenario.variant)
    if not is_changed:
        return trial
    judgements = [judge.judge(trace) for trace in traces]
    group = _group(judge, traces)
    findings = (*chain.from_iterable(one.findings for one in judgements), *group.findings())
    exercised = group.exercised().union(*(one.exercised for one in judgements))
    against = broken_rules(findings) - played.broken
    verdict = overall(tuple(finding.verdict for finding in findings))
    return Trial(
        scenario=trial.scenario,
        variant=trial.variant,
        kills=killed_rules(played.broken, findings),
        unproven=unproven_rules(played.kept, findings, exercised),
        is_noticed=bool(against),
        is_changed=True,
        is_proof=bool(against) or verdict is not Verdict.INCONCLUSIVE,
        is_lost=any(trace.footer.ending in _LOST for trace in traces),
    )


def _facts(trace: Trace) -> list[TraceEvent]:
    """Return the events of a trace, but for how often a clock was read and the like."""
    return [event for event in trace.events if event.kind != "world.touched"]


def _wrong(
    binding: Binding,
    mutant: Mutant,
    right: Trace,
    scenario: Scenario,
    wall_limit_s: float | None,
) -> Trace | None:
    if mutant.edit is not None:
        return mutant.edit(right)
    return run_mutant(scenario, binding, right.header.seed, mutant, wall_limit_s=wall_limit_s)


def _group(judge: Judge, traces: Sequence[Trace]) -> SeedsJudge:
    """Return the judge over the seeds of a scenario; one trace shows nothing of them."""
    group = SeedsJudge(judge.model)
    for trace in traces if len(traces) > 1 else ():
        group.add(trace)
    return group
