"""What the level `hardened` asks for beyond `full`: explored, swept, doubled, spread over seeds."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.cells import cell_of
from faultclock.model.report.conformance import Objection, RoleSet
from faultclock.model.report.evidence import Evidence
from faultclock.model.report.finding import Verdict

_NOT_TWICE = (
    "Real time or chance, the order of a set, or state on the disk got in: `faultclock doctor`."
)


def seen_while_hardening(evidence: Evidence) -> Iterator[Objection]:
    """Yield what stands against every level, if it was looked for at all.

    Failures that an exploration found are listed elsewhere, as what is broken.
    """
    digests = {entry.name: entry.digest for entry in evidence.traces}
    for double in evidence.doubles:
        if double.name not in digests:
            yield Objection(what=double.name, because="it was made twice, and there is no trace")
        elif double.digest != digests[double.name]:
            yield Objection(
                what=double.name,
                because="it was not the same in another process with another hash seed"
                if double.digest
                else "it was not made a second time: that process ended",
                hint=_NOT_TWICE,
            )
    if evidence.explored is None:
        return
    for unsteady in evidence.explored.exploration.unsteady:
        yield Objection(
            what="exploration",
            because=f"a run of {unsteady.coordinates.scenario} was not the same twice",
            hint=_NOT_TWICE,
        )
    for item in evidence.explored.exploration.scenarios:
        if item.spoilt:
            yield Objection(
                what="exploration", because=f"{item.spoilt} runs of {item.scenario} prove nothing"
            )
        if not item.spoilt and item.as_written in (None, Verdict.INCONCLUSIVE):
            yield Objection(
                what="exploration", because=f"{item.scenario} as it is written proves nothing"
            )


def hardened_objections(
    of: RoleSet, evidence: Evidence, passed_over: set[str]
) -> Iterator[Objection]:
    """Yield what was not made of all that the level asks for.

    Args:
        passed_over: scenarios that cannot be played for the subject.
    """
    doubled = {double.name for double in evidence.doubles}
    single = [entry.name for entry in evidence.traces if entry.name not in doubled]
    if single:
        yield Objection(
            what="doubles", because=f"{len(single)} runs were made once, such as {single[0]}"
        )
    yield from _swept(of, evidence, passed_over)
    yield from _jitter(of, evidence, passed_over)
    yield from _explored(of, evidence, passed_over)


def _swept(of: RoleSet, evidence: Evidence, passed_over: set[str]) -> Iterator[Objection]:
    crashed = {item.scenario for item in evidence.traces if item.variant != cell_of(item.variant)}
    for id_ in of.hardening.crash_sweep:
        if id_ not in crashed | passed_over:
            yield Objection(what="crash sweep", because=f"{id_} was not swept")


def _jitter(of: RoleSet, evidence: Evidence, passed_over: set[str]) -> Iterator[Objection]:
    wanted = of.hardening.jitter_seeds
    variants = {item.id: item.variants for item in of.scenarios}
    first = {item.id: item.seed for item in of.scenarios}
    for id_ in of.hardening.jitter:
        if id_ in passed_over:
            continue
        seeds = {
            (entry.variant, entry.seed)
            for entry in evidence.traces
            if entry.scenario == id_ and first[id_] <= entry.seed < first[id_] + wanted
        }
        if len(seeds) < wanted * variants[id_]:
            yield Objection(
                what="jitter",
                because=f"{id_} was run with {len(seeds)} seeds, not {wanted * variants[id_]}",
            )


def _explored(of: RoleSet, evidence: Evidence, passed_over: set[str]) -> Iterator[Objection]:
    if evidence.explored is None:
        yield Objection(what="exploration", because="nothing was explored")
        return
    exploration = evidence.explored.exploration
    same = (
        exploration.model == evidence.model
        and not exploration.readings
        and exploration.subject == evidence.subject
    )
    if not same:
        yield Objection(what="exploration", because="it is of another subject or model")
    if exploration.seed != of.hardening.exploration_seed:
        yield Objection(
            what="exploration",
            because=f"its seed is {exploration.seed}, not {of.hardening.exploration_seed}",
        )
    if not exploration.complete or exploration.runs < of.hardening.exploration_runs:
        yield Objection(
            what="exploration",
            because=f"{exploration.runs} runs were made of {of.hardening.exploration_runs}",
        )
    explored = {item.scenario for item in exploration.scenarios}
    missing = [item.id for item in of.scenarios if item.id not in explored | passed_over]
    if missing:
        yield Objection(what="exploration", because=f"{missing[0]} was not explored")
