"""What a report changes about a baseline: entries that are new, stale, or renewed.

An entry is about a scenario and a check, with the sentence and the cell of the matrix. Seeds and
crash points are not named: they come and go, and the deviation stays the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from msgspec import Struct

from faultclock.errors import InputError
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import Report
from faultclock.model.report.gate import Baseline, Deviation, Regression


class Words(Struct, frozen=True, kw_only=True):
    """What a person says of new entries: the report cannot know it.

    Reason and owner may be empty where entries are renewed only, which keep their own.
    """

    reason: str
    owner: str
    expires: date


class Removal(Struct, frozen=True, kw_only=True):
    """An entry that goes, by its 0-based index in the baseline."""

    index: int
    entry: Deviation
    because: str


class Update(Struct, frozen=True, kw_only=True):
    """What is to change.

    Attributes:
        added: in the order of scenarios and checks.
        renewed: index to entry, as it was.
        overdue: entries that stay as they are, so that the gate stays shut.
    """

    added: tuple[Deviation, ...] = ()
    removed: tuple[Removal, ...] = ()
    renewed: tuple[tuple[int, Deviation], ...] = ()
    overdue: tuple[Deviation, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to change."""
        return not (self.added or self.removed or self.renewed)


def updated(
    report: Report, baseline: Baseline, words: Words | None, *, renew: bool = False
) -> Update:
    """Return what is to change so that the gate of `report` opens.

    No expiry is ever put off by itself: entries that are overdue stay, unless they are renewed.

    Args:
        report: with the gate that it comes to beside `baseline`.
        words: what is said of new entries; the last day is that of renewed ones, too.
        renew: whether overdue entries that still fail get the new last day.

    Raises:
        InputError: something is new, or to be renewed, and nothing is said of it; or the last day
            is over already.
    """
    gate = report.gate
    assert gate is not None, "a baseline is updated from its own gate"
    if words is not None and words.expires < gate.today:
        raise InputError(
            f"the last day {words.expires} is over: today is {gate.today}",
            hint="name a day by which it should be mended",
        )
    removed = [
        Removal(index=index, entry=entry, because=because)
        for index, entry in enumerate(baseline.deviations)
        for because, gone in (("passes now", gate.passing), ("does not exist", gate.missing))
        if entry in gone
    ]
    overdue = [
        (index, entry) for index, entry in enumerate(baseline.deviations) if entry in gate.overdue
    ]
    still, new = _split(gate.regressions, overdue)
    is_said = words is not None and words.reason and words.owner
    if (new and not is_said) or (renew and still and words is None):
        raise InputError(
            f"{len(new) or len(still)} {'new' if new else 'overdue'} "
            f"{'entry' if len(new or still) == 1 else 'entries'}, without a reason, owner and day",
            hint="give --reason, --owner and --expires; for different ones, edit the "
            "file afterwards"
            if new
            else "say --expires DATE: the new last day",
        )
    added = tuple(
        Deviation(
            scenario=scenario,
            check=check,
            requirement=requirement,
            variant=variant,
            reason=words.reason,
            owner=words.owner,
            expires=words.expires,
        )
        for scenario, check, requirement, variant in new
        if words is not None
    )
    gone = {item.index for item in removed}
    renewed = tuple(still) if renew else ()
    for index, entry in enumerate(baseline.deviations):
        if index not in gone and any(item.includes(entry) for item in added):
            removed.append(Removal(index=index, entry=entry, because="a new entry covers it"))
    gone = {item.index for item in removed}
    kept = {index for index, _ in renewed}
    return Update(
        added=added,
        removed=tuple(sorted(removed, key=lambda item: item.index)),
        renewed=tuple(item for item in renewed if item[0] not in gone),
        overdue=tuple(entry for index, entry in overdue if index not in gone | kept),
    )


_Entry = tuple[int, Deviation]
#: Scenario, check, requirement and cell.
_Failing = tuple[str, str, str | None, str | None]


def _split(
    regressions: Iterable[Regression], overdue: list[_Entry]
) -> tuple[list[_Entry], list[_Failing]]:
    """Return the overdue entries that are still borne out, and what else fails."""
    places: dict[tuple[str, str], list[_Entry]] = {}
    for index, entry in overdue:
        places.setdefault((entry.scenario, entry.check), []).append((index, entry))
    still: set[int] = set()
    wanted: dict[tuple[str, str], set[_Failing]] = {}
    for item in regressions:
        if not item.scenario:
            raise InputError(
                "the report does not say of which scenario a verdict over seeds is: an earlier"
                " Faultclock wrote it",
                hint="make the report again",
            )
        key = (item.scenario, item.check)
        old = [
            index
            for index, entry in places.get(key, ())
            if entry.covers(item.requirement, item.variant)
        ]
        still.update(old)
        if not old:
            wanted.setdefault(key, set()).add((*key, item.requirement, cell_of(item.variant)))
    new = [item for group in wanted.values() for item in _widest(group)]
    return [item for item in overdue if item[0] in still], sorted(new, key=_order)


def _widest(group: set[_Failing]) -> Iterator[_Failing]:
    """Yield those of a group that no other one covers."""
    for item in group:
        _, _, requirement, cell = item
        wider = {(None, cell), (requirement, None), (None, None)} - {(requirement, cell)}
        if not any((*item[:2], *others) in group for others in wider):
            yield item


def _order(item: _Failing) -> tuple[str, ...]:
    scenario, check, requirement, cell = item
    return (scenario, cell or "", check, requirement or "")
