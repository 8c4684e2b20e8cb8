"""A difference of two reports, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from faultclock.model.report.report_diff import (
    CheckChange,
    Fact,
    ReportDiff,
    RunsChange,
    StillFailing,
)
from faultclock.render.verdict_words import LOOKS
from faultclock.render.wording import clipped, count

ItemT = TypeVar("ItemT")
#: Lines of one list; all of it is in the JSON.
_LINES_MAX = 20
_FACTS_MAX = 6
_TEXT_MAX = 150
_HEADLINES = {
    "worse": "got worse",
    "unclear": "cannot be told: nothing fails that did not, but something is not judged",
    "not worse": "nothing got worse",
}
#: Worst first.
_TITLES = {
    "newly failing": "newly failing",
    "newly inconclusive": "newly inconclusive, which proves nothing",
    "not judged any more": "not judged any more, which is no pass",
    "fixed": "fixed",
    "does not apply any more": "nothing to judge any more, but judged in other runs",
    "newly warning": "newly warning",
    "no longer warning": "no longer warning",
    "judged now": "judged now",
    "no longer inconclusive": "no longer inconclusive",
}


def diff_lines(diff: ReportDiff) -> Iterator[str]:
    """Yield what changed, the worst first."""
    yield f"{diff.model}: {_HEADLINES[diff.verdict]}"
    counted = f"  {count(diff.compared, 'run')} compared, {diff.failing} of them failing in both"
    yield f"{counted}, {diff.inconclusive} inconclusive now" if diff.inconclusive else counted
    if diff.is_empty:
        yield "  nothing changed"
    yield from _listed("changed beside the verdicts", diff.settings, _fact)
    yield from _listed("new, and failing", [r for r in diff.runs if _fails(r)], _runs)
    yield from _of_kind(diff, "newly failing")
    yield from _listed("gone, which is never better", [r for r in diff.runs if _gone(r)], _runs)
    for kind in _TITLES:
        if kind != "newly failing":
            yield from _of_kind(diff, kind)
    yield from _still(diff.still_failing)
    others = [item for item in diff.runs if not _fails(item) and not _gone(item)]
    yield from _listed("new", others, _runs)
    yield from _listed(
        "requirements",
        diff.requirements,
        lambda item: (
            f"{item.requirement}: {item.before or 'no such one'} -> {item.after or 'no such one'}"
        ),
    )


def _of_kind(diff: ReportDiff, kind: str) -> Iterator[str]:
    """Yield the changes of one kind: what a scenario's checks have in common is told once."""
    groups: dict[tuple[object, ...], list[CheckChange]] = {}
    for item in diff.changes:
        if item.kind == kind:
            key = (item.scenario, item.variant, item.seeds, item.before, item.after)
            own = item if kind in ("newly failing", "fixed") else item.said
            groups.setdefault((*key, own), []).append(item)
    yield from _listed(_TITLES[kind], list(groups.values()), _change)


def _change(items: Sequence[CheckChange]) -> str:
    item = items[0]
    checks = ", ".join(
        other.check if other.requirement is None else f"{other.check} ({other.requirement})"
        for other in items
    )
    was, now = (
        "nothing to judge" if verdict is None else LOOKS[verdict].word
        for verdict in (item.before, item.after)
    )
    said = f": {clipped(item.said, _TEXT_MAX)}" if item.said else ""
    where = _where(item.scenario, item.variant, item.seeds)
    return f"{where}: {clipped(checks, _TEXT_MAX)}, {was} -> {now}{said}"


def _fails(item: RunsChange) -> bool:
    return item.after is not None and LOOKS[item.after].key == "fail"


def _gone(item: RunsChange) -> bool:
    return item.after is None


def _runs(item: RunsChange) -> str:
    verdict = item.before if item.after is None else item.after
    word = "nothing" if verdict is None else LOOKS[verdict].word
    part = "" if item.whole else ", other seeds are in both"
    was = "was" if item.after is None else "is"
    return f"{_where(item.scenario, item.variant, item.seeds)}: {was} {word}{part}"


def _still(items: Sequence[StillFailing]) -> Iterator[str]:
    if items:
        yield f"  still failing, and not alike ({len(items)})"
    for item in items[:_LINES_MAX]:
        where = _where(item.scenario, item.variant, (item.seed,))
        yield f"    {where}: {', '.join(item.checks)}"
        for fact in item.facts[:_FACTS_MAX]:
            yield f"      {_fact(fact)}"
        if len(item.facts) > _FACTS_MAX:
            yield f"      and {len(item.facts) - _FACTS_MAX} more: see --json"
    yield from _more(items)


def _fact(fact: Fact) -> str:
    before, after = (clipped(text, _TEXT_MAX) or "none" for text in (fact.before, fact.after))
    return f"{fact.what}: {before} -> {after}"


def _where(scenario: str, variant: str | None, seeds: Sequence[int]) -> str:
    name = (scenario or "a scenario") + (f" ({variant})" if variant else "")
    if not seeds:
        return f"{name}, over all seeds"
    if len(seeds) == 1:
        return f"{name}, seed {seeds[0]}"
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{name}, seeds {seeds[0]}-{seeds[-1]}"
    return f"{name}, {len(seeds)} seeds from {seeds[0]} to {seeds[-1]}"


def _listed(title: str, items: Sequence[ItemT], line: Callable[[ItemT], str]) -> Iterator[str]:
    if items:
        yield f"  {title} ({len(items)})"
    for item in items[:_LINES_MAX]:
        yield f"    {line(item)}"
    yield from _more(items)


def _more(items: Sequence[object]) -> Iterator[str]:
    if len(items) > _LINES_MAX:
        yield f"    and {len(items) - _LINES_MAX} more: see --json"
