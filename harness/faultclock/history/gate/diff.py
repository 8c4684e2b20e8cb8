"""Compares two reports run by run: the same scenario, variant and seed, check by check.

A run that is in one of them only is compared with nothing: one that vanished is never better, since
nothing is known of it any more. The crash points of a sweep are compared as one, because they move
with every event that comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from faultclock.errors import InputError
from faultclock.history.gate.facts import Key, facts_of, fold, settings_of
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.model.report.report_diff import (
    ChangeKind,
    CheckChange,
    ReportDiff,
    RequirementChange,
    RunsChange,
    StillFailing,
)

_SWEEP = "crash everywhere"
#: Check and requirement.
_Line = tuple[str, str | None]
_JUDGED = (Verdict.FAIL, Verdict.WARN, Verdict.PASS)
_SHOWN = ("tested", "failed")


class _Side(Struct):
    """What a run, or a group of seeds, came to in one of the reports."""

    runs: list[RunReport] = field(default_factory=list)
    lines: dict[_Line, list[Finding]] = field(default_factory=dict)

    def add(self, findings: Iterable[Finding]) -> None:
        """Take more findings."""
        for finding in findings:
            self.lines.setdefault((finding.check, finding.requirement), []).append(finding)

    def verdict(self, line: _Line) -> Verdict | None:
        """Return what a check came to; None where it had nothing to judge."""
        found = fold(finding.verdict for finding in self.lines.get(line, ()))
        if found is None and line[1] is None:
            # A violation may cite no sentence; once it is mended, the check passes those it judges.
            of_check = (item for (check, _), item in self.lines.items() if check == line[0])
            whole = fold(finding.verdict for items in of_check for finding in items)
            found = whole if whole in (Verdict.PASS, Verdict.WARN) else None
        return None if found is Verdict.NOT_APPLICABLE else found

    def said(self, line: _Line) -> str:
        """Return what the finding says that decided it."""
        worst = fold(finding.verdict for finding in self.lines.get(line, ()))
        telling = (item for item in self.lines.get(line, ()) if item.verdict is worst)
        finding = next(telling, None)
        return "" if finding is None else finding.observed or finding.reason


def difference(before: Report, after: Report) -> ReportDiff:
    """Return what changed from one report to a later one.

    Raises:
        InputError: they are about different error models.
    """
    if before.model != after.model:
        raise InputError(
            f"one report is about the error model {before.model}, the other about {after.model}",
            hint="compare reports of one error model",
        )
    old, new = _sides(before), _sides(after)
    both = [key for key in new if key in old]
    single = [key for key in both if key.seed is not None]
    changes = _changes(both, old, new)
    runs = tuple(_runs(old, new))
    requirements = tuple(_requirements(before, after))
    inconclusive = sum(_is_inconclusive(run) for run in after.runs)
    inconclusive += sum(item.verdict is Verdict.INCONCLUSIVE for item in after.seeds_findings)
    kinds = {change.kind for change in changes}
    worse = "newly failing" in kinds or any(item.after is Verdict.FAIL for item in runs)
    unclear = (
        bool(kinds & {"not judged any more", "newly inconclusive"})
        or any(item.after is None for item in runs)
        or any(_judged(old[key]) and not _judged(new[key]) for key in single)
        or any(item.before in _SHOWN and item.after not in _SHOWN for item in requirements)
        or inconclusive > 0
        or after.verdict is Verdict.INCONCLUSIVE
    )
    return ReportDiff(
        model=after.model,
        verdict="worse" if worse else "unclear" if unclear else "not worse",
        settings=settings_of(before, after),
        changes=changes,
        runs=runs,
        still_failing=tuple(_still_failing(single, old, new)),
        requirements=requirements,
        compared=len(single),
        failing=sum(_fails(old[key]) and _fails(new[key]) for key in single),
        inconclusive=inconclusive,
    )


def _sides(report: Report) -> dict[Key, _Side]:
    """Return what each run came to, and each group of seeds, in an order that does not matter."""
    sides: dict[Key, _Side] = {}
    for run in report.runs:
        variant = run.variant
        if run.crash_point is not None:
            cell = cell_of(variant)
            variant = _SWEEP if cell is None else f"{cell}, {_SWEEP}"
        side = sides.setdefault(Key(run.scenario, variant, run.seed), _Side())
        side.runs.append(run)
        side.add(run.findings)
    for finding in report.seeds_findings:
        key = Key(finding.scenario or "", finding.variant, None)
        sides.setdefault(key, _Side()).add((finding,))
    return {key: sides[key] for key in sorted(sides, key=Key.order)}


def _changes(
    both: list[Key], old: Mapping[Key, _Side], new: Mapping[Key, _Side]
) -> tuple[CheckChange, ...]:
    groups: dict[tuple[object, ...], list[tuple[Key, CheckChange]]] = {}
    judged = {line for side in new.values() for line in side.lines if side.verdict(line) in _JUDGED}
    for key in both:
        for line in dict.fromkeys((*old[key].lines, *new[key].lines)):
            was, now = old[key].verdict(line), new[key].verdict(line)
            kind = _kind(was, now, is_lost=line not in judged)
            if kind is None:
                continue
            change = CheckChange(
                kind=kind,
                scenario=key.scenario,
                variant=key.variant,
                seeds=(),
                check=line[0],
                requirement=line[1],
                before=was,
                after=now,
                said=_said(old[key], new[key], line),
            )
            place = (key.scenario, key.variant, key.seed is None, line, was, now)
            groups.setdefault(place, []).append((key, change))
    return tuple(
        members[0][1].model_copy(
            update={"seeds": tuple(key.seed for key, _ in members if key.seed is not None)}
        )
        for members in groups.values()
    )


def _said(old: _Side, new: _Side, line: _Line) -> str:
    """Return what the worse side says, or why there was nothing to judge."""
    was, now = old.verdict(line), new.verdict(line)
    if now is None:
        return new.said(line) or new.said((line[0], None))
    return (old if was is not None and fold((was, now)) is was else new).said(line)


def _kind(was: Verdict | None, now: Verdict | None, *, is_lost: bool) -> ChangeKind | None:
    """Return what a change is called, None where there is none.

    Args:
        is_lost: the later report has no run in which this was judged.
    """
    if was is now:
        return None
    if now is Verdict.FAIL:
        return "newly failing"
    if was in _JUDGED and now not in _JUDGED:
        return "not judged any more" if is_lost or now is not None else "does not apply any more"
    if was is Verdict.FAIL:
        return "fixed"
    if was not in _JUDGED:
        if now in _JUDGED:
            return "judged now"
        return "newly inconclusive" if now is not None else "no longer inconclusive"
    return "newly warning" if now is Verdict.WARN else "no longer warning"


def _runs(old: Mapping[Key, _Side], new: Mapping[Key, _Side]) -> Iterator[RunsChange]:
    for here, there, is_gone in ((old, new, True), (new, old, False)):
        groups: dict[tuple[str, str | None], list[Key]] = {}
        for key in here:
            if key.seed is not None and key not in there:
                groups.setdefault((key.scenario, key.variant), []).append(key)
        elsewhere = {(key.scenario, key.variant) for key in there if key.seed is not None}
        for (scenario, variant), keys in groups.items():
            whole = (scenario, variant) not in elsewhere
            verdicts = [run.verdict for key in keys for run in here[key].runs]
            seeds = here.get(Key(scenario, variant, None))
            if whole and seeds is not None:
                verdicts += [item.verdict for items in seeds.lines.values() for item in items]
            worst = fold(verdicts)
            yield RunsChange(
                scenario=scenario,
                variant=variant,
                seeds=tuple(key.seed for key in keys if key.seed is not None),
                whole=whole,
                before=worst if is_gone else None,
                after=None if is_gone else worst,
            )


def _still_failing(
    keys: list[Key], old: Mapping[Key, _Side], new: Mapping[Key, _Side]
) -> Iterator[StillFailing]:
    for key in keys:
        lines = [
            line
            for line in old[key].lines
            if old[key].verdict(line) is Verdict.FAIL and new[key].verdict(line) is Verdict.FAIL
        ]
        facts = facts_of(old[key].runs, new[key].runs, lines) if lines else ()
        if facts and key.seed is not None:
            yield StillFailing(
                scenario=key.scenario,
                variant=key.variant,
                seed=key.seed,
                checks=tuple(dict.fromkeys(check for check, _ in lines)),
                facts=facts,
            )


def _requirements(before: Report, after: Report) -> Iterator[RequirementChange]:
    old = {item.id: item.status for item in before.coverage}
    new = {item.id: item.status for item in after.coverage}
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield RequirementChange(requirement=name, before=old.get(name), after=new.get(name))


def _judged(side: _Side) -> bool:
    return fold(run.verdict for run in side.runs) in _JUDGED


def _fails(side: _Side) -> bool:
    return any(run.verdict is Verdict.FAIL for run in side.runs)


def _is_inconclusive(run: RunReport) -> bool:
    return run.verdict is Verdict.INCONCLUSIVE or any(
        finding.verdict is Verdict.INCONCLUSIVE for finding in run.findings
    )
