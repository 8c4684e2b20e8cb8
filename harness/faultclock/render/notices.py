"""What is not green in a report, once each: what every format for build servers tells.

Findings that say the same of one scenario are one notice, however many seeds, calls and crash
points show them: a reviewer wants one line for one deviation, and the same line tomorrow. Nothing
that is not green is left out, so a report that is not green has at least one notice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from urllib.parse import quote

from msgspec import Struct

from faultclock.model.cells import cell_of, named
from faultclock.model.report.finding import Finding, Report, RunReport, SourcePlace, Verdict
from faultclock.model.report.gate import Deviation, GateReport
from faultclock.render.wording import count, visible

#: The rule of what is told where nothing was run, or nothing of it was judged.
NOTHING = "report.empty"
_DIGEST_DIGITS = 32


class Gravity(StrEnum):
    """How bad a notice is; worst first."""

    FAILS = "fails"
    OPEN = "open"
    """It proves nothing, which fails a build like a failure."""
    WARNS = "warns"
    KNOWN = "known"
    """It fails, and the baseline knows of it."""


_GRAVITY = {
    Verdict.FAIL: Gravity.FAILS,
    Verdict.INCONCLUSIVE: Gravity.OPEN,
    Verdict.WARN: Gravity.WARNS,
}
_ORDER = tuple(Gravity)


class Showing(Struct, frozen=True, kw_only=True):
    """One finding that a notice stands for, and its run.

    Attributes:
        run: None for a verdict on a group of seeds.
        number: 0-based, of the finding in its run: the findings of many runs are not kept.
        of_seeds: the finding, where it is such a verdict.
    """

    run: RunReport | None = None
    number: int = 0
    of_seeds: Finding | None = None

    @property
    def finding(self) -> Finding:
        """The finding."""
        if self.run is not None:
            return self.run.findings[self.number]
        assert self.of_seeds is not None, "it is of a run or of seeds"
        return self.of_seeds


class Notice(Struct, frozen=True, kw_only=True):
    """One thing that is not green.

    Attributes:
        rule: id of the check, or one of ours: `baseline.…` and `report.…`.
        gravity: how bad it is.
        fingerprint: the same for the same deviation in every report; no two of a report are alike.
        summary: one sentence.
        scenario: its id; None where it is about the whole report.
        variant: the cell of the scenario's matrix.
        place: where to show it; None: in no file of the person's.
        showings: the findings, in the order of the report; empty where none is behind it.
        known: the entry of the baseline that knows of it.
        is_new: whether a baseline was asked and does not know of it.
    """

    rule: str
    gravity: Gravity
    fingerprint: str
    summary: str
    scenario: str | None = None
    variant: str | None = None
    place: SourcePlace | None = None
    showings: tuple[Showing, ...] = ()
    known: Deviation | None = None
    is_new: bool = False

    @property
    def finding(self) -> Finding | None:
        """The first finding that it stands for."""
        return self.showings[0].finding if self.showings else None

    @property
    def run(self) -> RunReport | None:
        """The run of the first finding that has one."""
        return next((item.run for item in self.showings if item.run is not None), None)

    @property
    def subject(self) -> str:
        """What it is about: the scenario and the cell of its matrix."""
        return named(self.scenario or "", self.variant)


def notices(report: Report) -> tuple[Notice, ...]:
    """Return what is not green in `report`, worst first."""
    found = [*_of_findings(report), *_of_silent_runs(report)]
    if report.gate is not None:
        found += _of_entries(report, report.gate)
    if not found and report.verdict not in (Verdict.PASS, Verdict.WARN):
        found.append(_of_nothing(report))
    return tuple(sorted(found, key=lambda notice: _ORDER.index(notice.gravity)))


def gravities(found: Iterable[Notice]) -> dict[Gravity, int]:
    """Return how many notices there are of each gravity."""
    counted = dict.fromkeys(_ORDER, 0)
    for notice in found:
        counted[notice.gravity] += 1
    return counted


def known_entry(
    gate: GateReport | None, finding: Finding, run: RunReport | None
) -> Deviation | None:
    """Return the entry of the baseline that knows of a finding; None where it is news.

    Args:
        run: None for a verdict on a group of seeds.
    """
    if gate is None or finding.verdict is not Verdict.FAIL:
        return None
    scenario, variant = _of_what(finding, run)
    for item in gate.known:
        entry = item.deviation
        # Not by the id: findings in real time have none.
        if (entry.scenario, entry.check) == (scenario, finding.check) and entry.covers(
            finding.requirement, variant
        ):
            return entry
    return None


def uri_of(place: SourcePlace) -> str:
    """Return the file of a place as a relative URI."""
    return quote(visible(place.file), safe="/._-~")


def _of_findings(report: Report) -> Iterator[Notice]:
    grouped: dict[tuple[str, str | None, str, str | None], dict[Gravity, list[Showing]]] = {}
    for showing, finding in _showings(report):
        name, variant = _of_what(finding, showing.run)
        key = (name, cell_of(variant), finding.check, finding.requirement)
        is_known = known_entry(report.gate, finding, showing.run) is not None
        gravity = Gravity.KNOWN if is_known else _GRAVITY[finding.verdict]
        grouped.setdefault(key, {}).setdefault(gravity, []).append(showing)
    for (name, variant, check, requirement), by_gravity in grouped.items():
        gravity = min(by_gravity, key=_ORDER.index)
        # What is worst is told; of a deviation that fails in some seeds, the others say no more.
        worst = tuple(by_gravity[gravity])
        yield Notice(
            rule=check,
            gravity=gravity,
            fingerprint=_digest(report, name, variant, check, requirement),
            summary=_summary(worst),
            scenario=name,
            variant=variant,
            place=_pointed_at(worst) or _place(report, name),
            showings=worst,
            known=known_entry(report.gate, worst[0].finding, worst[0].run),
            is_new=report.gate is not None and gravity is Gravity.FAILS,
        )


def _showings(report: Report) -> Iterator[tuple[Showing, Finding]]:
    for run in report.runs:
        if run.verdicts & _GRAVITY.keys():
            for number, finding in enumerate(run.findings):
                if finding.verdict in _GRAVITY:
                    yield Showing(run=run, number=number), finding
    for finding in report.seeds_findings:
        if finding.verdict in _GRAVITY:
            yield Showing(of_seeds=finding), finding


def _of_silent_runs(report: Report) -> Iterator[Notice]:
    """Yield one for each scenario with a run that is not green without a finding that says so."""
    seen: set[tuple[str, str | None]] = set()
    for run in report.runs:
        key = (run.scenario, cell_of(run.variant))
        if run.verdict not in (Verdict.FAIL, Verdict.INCONCLUSIVE) or key in seen:
            continue
        if run.verdict in run.verdicts:
            continue
        seen.add(key)
        detail = f": {'; '.join(run.ending_detail)}" if run.ending_detail else ""
        yield Notice(
            rule="report.run",
            gravity=_GRAVITY[run.verdict],
            fingerprint=_digest(report, *key, "report.run", None),
            summary=visible(f"the run is {run.verdict} and ended by {run.ending}{detail}"),
            scenario=run.scenario,
            variant=key[1],
            place=_place(report, run.scenario),
        )


def _of_entries(report: Report, gate: GateReport) -> Iterator[Notice]:
    """Yield one for each entry of the baseline that says what is not so, which fails the gate."""
    told = (
        ("baseline.passing", gate.passing, "does not fail any more: take it out of the baseline"),
        ("baseline.missing", gate.missing, "does not exist: take it out of the baseline"),
        ("baseline.overdue", gate.overdue, "was to be over by {expires}: fix it, or decide again"),
    )
    for rule, entries, words in told:
        for number, item in enumerate(entries):
            about = f"{item.check} in {named(item.scenario, item.variant)}"
            expires = item.expires.isoformat()
            yield Notice(
                rule=rule,
                gravity=Gravity.FAILS,
                fingerprint=_digest(
                    report, item.scenario, item.variant, rule, item.check, item.requirement
                )
                # An entry may stand there twice: each is told.
                + (f"-{number}" if item in entries[:number] else ""),
                summary=visible(f"{about} {words.format(expires=expires)} (owner: {item.owner})"),
                scenario=item.scenario,
                variant=item.variant,
                place=_place_of(gate.baseline),
            )


def _of_nothing(report: Report) -> Notice:
    said = "nothing was judged" if report.runs else "nothing was run"
    return Notice(
        rule=NOTHING,
        gravity=Gravity.OPEN,
        fingerprint=_digest(report, NOTHING),
        summary=f"{said}, so nothing is proved",
        place=report.source,
    )


def _of_what(finding: Finding, run: RunReport | None) -> tuple[str, str | None]:
    if run is not None:
        return run.scenario, run.variant
    return finding.scenario or "seeds", finding.variant


def _summary(showings: tuple[Showing, ...]) -> str:
    """Return one sentence about a group of findings that say the same."""
    first = showings[0].finding
    said = first.observed or first.reason or first.expected or f"the check is {first.verdict}"
    wanted = f"; expected {first.expected}" if first.expected and first.expected != said else ""
    runs = len({id(item.run) for item in showings})
    more = f" (in {count(runs, 'run')})" if runs > 1 else ""
    return visible(" ".join(f"{said}{wanted}{more}".split()))


def _pointed_at(showings: tuple[Showing, ...]) -> SourcePlace | None:
    """Return the line of the person's own code that one of the findings points at."""
    return next((item.finding.source for item in showings if item.finding.source), None)


def _place(report: Report, scenario: str) -> SourcePlace | None:
    """Return where a person looks who knows no line: at the subject, or at a scenario of theirs."""
    return report.source or _place_of(report.scenario_files.get(scenario))


def _place_of(file: str | None) -> SourcePlace | None:
    """Return the first line of `file`, unless it lies outside of the working folder."""
    if not file or file.startswith(("/", "~", "..")) or ":" in file or "\\" in file:
        return None
    return SourcePlace(file=file, line=1)


def _digest(report: Report, *parts: str | None) -> str:
    # The subject, too: a build may have several, and their reports are shown together.
    text = repr((report.model, report.subject.id, *parts)).encode("utf-8", "backslashreplace")
    return hashlib.sha256(text).hexdigest()[:_DIGEST_DIGITS]
