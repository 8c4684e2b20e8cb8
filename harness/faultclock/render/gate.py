"""A gate in words: what stands against it first, then what is known, with who answers for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from faultclock.model.cells import cell_of
from faultclock.model.report.beside_baseline import standing
from faultclock.model.report.finding import Report, Verdict
from faultclock.model.report.gate import Deviation, GateReport, Regression
from faultclock.render.wording import count, listed

#: Lines of one list that a summary shows; all of them are in the reports.
_LINES_MAX = 20


class GateRow(Struct, frozen=True, kw_only=True):
    """One regression, or one entry of the baseline."""

    scenario: str
    variant: str
    check: str
    requirement: str
    """Variant and requirement are empty where there is none."""
    says: str = ""
    """Of a regression: in how many runs it is, and the id of its first finding. Of an entry: its
    reason."""
    owner: str = ""
    expires: str = ""
    """Owner and last day are empty for a regression."""

    @property
    def where(self) -> str:
        """What it is about, in one line."""
        variant = f" ({self.variant})" if self.variant else ""
        requirement = f" ({self.requirement})" if self.requirement else ""
        return f"{self.scenario}{variant}: {self.check}{requirement}"


class GateList(Struct, frozen=True, kw_only=True):
    """One of the lists of a gate."""

    key: str
    title: str
    means: str
    is_against: bool
    """Whether anything in it shuts the gate."""
    rows: tuple[GateRow, ...]


class GateView(Struct, frozen=True, kw_only=True):
    """A gate, the lists that have entries first to last as one reads them."""

    baseline: str
    today: str
    verdict: Verdict
    """What stands: PASS where it is open."""
    headline: str
    lists: tuple[GateList, ...]


def make_gate(report: Report) -> GateView | None:
    """Return what the gate of `report` says; None without one."""
    gate = report.gate
    if gate is None:
        return None
    verdict = standing(report)
    lists = tuple(
        GateList(
            key=key,
            title=f"{count(len(rows), *noun)} {title}".strip(),
            means=means,
            is_against=against,
            rows=rows,
        )
        for key, noun, title, means, against, rows in _lists(gate)
        if rows
    )
    return GateView(
        baseline=gate.baseline,
        today=gate.today.isoformat(),
        verdict=verdict,
        headline=_headline(gate, verdict),
        lists=lists,
    )


def gate_lines(report: Report, *, known: bool = True) -> Iterator[str]:
    """Yield the gate of `report` for a summary; nothing without one.

    Args:
        known: whether the entries that are borne out are listed one by one.
    """
    view = make_gate(report)
    if view is None:
        return
    yield f"gate {view.baseline} on {view.today}: {view.headline}"
    for item in view.lists:
        yield f"  {item.title}{f': {item.means}' if item.is_against else ''}"
        if not item.is_against and (not known or item.key == "not-run"):
            continue
        for row in item.rows[:_LINES_MAX]:
            yield f"    {row.where}{_said(row)}"
        if len(item.rows) > _LINES_MAX:
            yield f"    and {len(item.rows) - _LINES_MAX} more: see the report (--html, --json)"


def deviation_words(entry: Deviation) -> str:
    """Return what an entry is about, in one line."""
    return _row(entry).where


def _said(row: GateRow) -> str:
    if not row.owner:
        return f", {row.says}"
    return f"; {row.says} ({row.owner}, until {row.expires})"


def _headline(gate: GateReport, verdict: Verdict) -> str:
    if not gate.is_open:
        against = (
            (gate.regressions, "something fails that is not known"),
            (gate.passing, "something known passes now"),
            (gate.overdue, "something known is overdue"),
            (gate.missing, "an entry names nothing"),
        )
        return f"shut, because {listed([words for found, words in against if found])}"
    if verdict is Verdict.FAIL:
        return "shut, because the report fails without saying of what"
    if verdict is Verdict.INCONCLUSIVE:
        return "nothing is new, but something is inconclusive, which is never known"
    if gate.known:
        return "open: it does not conform, and all that fails is known"
    return "open: nothing fails"


def _lists(
    gate: GateReport,
) -> Iterator[tuple[str, tuple[str, ...], str, str, bool, tuple[GateRow, ...]]]:
    entry = ("entry", "entries")
    regressions = ("regression", "regressions")
    yield "regressions", regressions, "", "no entry covers it", True, _regressions(gate.regressions)
    yield "passing", entry, "passing now", "remove what is mended", True, _rows(gate.passing)
    yield "overdue", entry, "overdue", "mend it, or decide anew", True, _rows(gate.overdue)
    yield (
        "missing",
        entry,
        "naming nothing",
        "there is no such scenario, variant, check or requirement",
        True,
        _rows(gate.missing),
    )
    known = _rows(item.deviation for item in gate.known)
    yield "known", ("known deviation",), "", "it fails, and its owner answers for it", False, known
    words = "nothing is known of it: not run here, or nothing could be judged"
    yield "not-run", entry, "not judged here", words, False, _rows(gate.not_run)


def _rows(entries: Iterable[Deviation]) -> tuple[GateRow, ...]:
    return tuple(map(_row, entries))


def _row(entry: Deviation) -> GateRow:
    return GateRow(
        scenario=entry.scenario,
        variant=entry.variant or "",
        check=entry.check,
        requirement=entry.requirement or "",
        says=" ".join(entry.reason.split()),
        owner=entry.owner,
        expires=entry.expires.isoformat(),
    )


def _regressions(found: Sequence[Regression]) -> tuple[GateRow, ...]:
    groups: dict[tuple[str, str, str, str], list[Regression]] = {}
    for item in found:
        cell = cell_of(item.variant) or ""
        key = (item.scenario, cell, item.check, item.requirement or "")
        groups.setdefault(key, []).append(item)
    return tuple(
        GateRow(scenario=key[0], variant=key[1], check=key[2], requirement=key[3], says=_in(items))
        for key, items in groups.items()
    )


def _in(items: Sequence[Regression]) -> str:
    runs = {(item.variant, item.seed) for item in items}
    seeds = sorted({item.seed for item in items if item.seed is not None})
    if not seeds:
        words = "over all its seeds"
    elif len(runs) == 1:
        words = f"seed {seeds[0]}"
    else:
        words = count(len(runs), "run")
    ids = [item.finding for item in items if item.finding]
    return f"{words}, {ids[0]}" if ids else words
