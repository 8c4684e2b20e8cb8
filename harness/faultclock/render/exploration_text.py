"""An exploration for a terminal: lines of text, as wide as they are asked to be.

The same words as on the page, in the order of attention: failures, then runs that were not the same
twice, then what was explored and reached. No line holds a control character. A token or a command
is never broken, however long it is.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from faultclock.model.report.coordinates import Unsteady
from faultclock.model.report.exploration import Divergence, Exploration
from faultclock.model.report.finding import Verdict
from faultclock.render.exploration_view import (
    GroupView,
    agreement,
    coverage_kinds,
    found_in,
    group_views,
    headline,
    minimum_words,
    nearest_words,
    never_words,
    no_result_rows,
    row_mark,
    scenario_rows,
    tie_words,
    unproved_words,
    unsteady_words,
)
from faultclock.render.finding_text import WIDTH_MAX, finding_lines, wrapped
from faultclock.render.passed_over import passed_over_lines
from faultclock.render.verdict_words import GLOSSARY, LOOKS
from faultclock.render.wording import clipped, count, exact_time, listed, short_digest, visible

_SYMBOLS = {Verdict.PASS: "✓", Verdict.FAIL: "✗", Verdict.WARN: "!"}
_INDENT = " " * 6
_MARKS = {"first": "▶ ", "differs": "≠ ", "": "  "}
_BETWEEN = " │ "
#: Columns that a run beside another one has at least.
_SIDE_MIN = 24
#: Lines of the first difference at most; the page has all of it.
_FIRST_LINES_MAX = 3
#: Failures that are shown in full; the reports show all.
_GROUPS_MAX = 6
#: Reasons of inconclusive runs that are shown; the reports show all.
_NO_RESULTS_MAX = 4
_LINE_MAX = 200


def exploration_lines(exploration: Exploration, width: int = WIDTH_MAX) -> Iterator[str]:
    """Yield all that a terminal shows of `exploration`, in lines of at most `width` columns."""
    groups = group_views(exploration)
    for shown in groups[:_GROUPS_MAX]:
        yield from _group_lines(shown, width)
        yield ""
    if len(groups) > _GROUPS_MAX:
        yield f"… and {count(len(groups) - _GROUPS_MAX, 'more failure')} (--html shows all)"
        yield ""
    for item in exploration.unsteady:
        yield from _unsteady_lines(item, width)
        yield ""
    yield from _explored_lines(exploration, width)
    yield ""
    yield from _reached_lines(exploration, width)
    yield ""
    symbol = _SYMBOLS.get(exploration.verdict, "?")
    yield f"{symbol} {headline(exploration)} (seed {exploration.seed})"
    if not exploration.groups:
        yield from (f"  not proved: {words}" for words in unproved_words(exploration))
    if not exploration.complete:
        yield "  ended before all requested runs were made"
    elif exploration.verdict is Verdict.INCONCLUSIVE:
        yield "  inconclusive is not a pass: the reason above has to go first"


def divergence_lines(found: Divergence, width: int = WIDTH_MAX) -> list[str]:
    """Return both runs beside each other, with a mark at the first event that differs."""
    side = max((width - len(_INDENT) - len(_BETWEEN) - 2) // 2, _SIDE_MIN)
    lines = [f"{_INDENT}  {'the run that fails'.ljust(side)}{_BETWEEN}the run that passes"]
    for place, row in enumerate(found.rows):
        mark = row_mark(found, place)
        here = _cell(row.failing, row.failing_ns, row.failing_text)
        there = _cell(row.passing, row.passing_ns, row.passing_text)
        if mark == "first":
            sides = _folded(here, side), _folded(there, side)
        else:
            sides = [clipped(here, side)], [clipped(there, side)]
        for number, (left, right) in enumerate(zip_longest(*sides, fillvalue="")):
            shown = _MARKS[mark] if number == 0 else "  "
            lines.append(f"{_INDENT}{shown}{left.ljust(side)}{_BETWEEN}{right}".rstrip())
    legend = "▶ the first difference"
    if any(row_mark(found, place) == "differs" for place in range(len(found.rows))):
        legend += ", ≠ further ones"
    if found.cut:
        legend += f"; {count(found.cut, 'row')} more"
    return [*lines, f"{_INDENT}{legend}"]


def _group_lines(shown: GroupView, width: int) -> Iterator[str]:
    group = shown.group
    where = f"{group.scenario}, {group.variant}" if group.variant else group.scenario
    yield from finding_lines(group.finding, where, width)
    found = f"{found_in(shown)}, first in run {group.first:,}"
    yield from _labelled(f"{found} ({group.fingerprint})", "found in", width)
    if group.elsewhere:
        yield from _labelled(listed(group.elsewhere), "also in", width)
    yield from _command(shown.replay, "again")
    if group.shrunk is not None:
        less = [f"{row.word} {row.before} → {row.after}" for row in shown.sizes if row.is_less]
        words = f"{', '.join(less) or 'nothing could be removed'}."
        yield from _labelled(f"{words} {minimum_words(group.shrunk)}", "reduced", width)
    if group.command:
        yield from _command(group.command, "smallest")
    for name, _ in shown.files:
        yield from _command(name, "written")
    if group.divergence is not None:
        found_at = f"{nearest_words(group.divergence)} {agreement(group.divergence)}"
        yield from _labelled(found_at, "differs", width)
        yield ""
        yield from divergence_lines(group.divergence, width)


def _unsteady_lines(item: Unsteady, width: int) -> Iterator[str]:
    place = item.coordinates
    where = f"{place.scenario}, {place.variant}" if place.variant else place.scenario
    yield f"NOT THE SAME TWICE  {where}, seed {place.seed}"
    words = "This is a fault of the harness and does not count against the subject."
    yield from _labelled(f"{unsteady_words(item)} {words}", "", width)
    first, second = (short_digest(one) for one in (item.first_digest, item.second_digest))
    digests = f"{first or 'none'}, then {second or 'none'}"
    yield from _labelled(digests, "digests", width)
    # The words of the difference are shorter than both lines.
    lines = () if item.difference else (("was", item.was), ("now", item.now))
    for label, text in (*lines, *(("differs", line) for line in item.difference)):
        yield from _labelled(clipped(text, _LINE_MAX), label, width)
    for leak in item.leaks:
        yield from _labelled(leak, "got in", width)


def _explored_lines(exploration: Exploration, width: int) -> Iterator[str]:
    rows = [("scenario", "as written", "runs", "of these")]
    ties: Counter[str] = Counter()
    for row in scenario_rows(exploration):
        totals = [
            f"{row.item.totals[verdict]:,} {LOOKS[verdict].word}"
            for verdict in GLOSSARY
            if row.item.totals.get(verdict)
        ]
        if row.unsteady:
            totals.append(f"{row.unsteady:,} not the same twice")
        where = f"{row.item.scenario}, {row.item.variant}" if row.item.variant else None
        rows.append(
            (
                where or row.item.scenario,
                row.as_written,
                f"{row.runs:,}",
                ", ".join(totals),
            )
        )
        ties.update(row.item.schedules)
    yield from _columns(rows, width)
    yield from _no_result_lines(exploration, width)
    if ties:
        yield f"Order of events at one instant: {tie_words(ties)}"
    yield from passed_over_lines(exploration.passed_over)


def _no_result_lines(exploration: Exploration, width: int) -> Iterator[str]:
    """Yield why runs are inconclusive, and how each is made again."""
    rows = no_result_rows(exploration)
    for row in rows[:_NO_RESULTS_MAX]:
        yield f"inconclusive  {row.where}"
        yield from _labelled(f"{row.why.reason} ({row.why.check})", "why", width)
        if row.again:
            yield from _command(row.again, "again")
    if len(rows) > _NO_RESULTS_MAX:
        yield f"… and {count(len(rows) - _NO_RESULTS_MAX, 'more reason')} (--html shows all)"


def _reached_lines(exploration: Exploration, width: int) -> Iterator[str]:
    for kind in coverage_kinds(exploration):
        text = f"{kind.title}: {len(kind.reached):,} reached, {len(kind.never):,} not reached"
        # The pairs are too many for a terminal.
        text += f" ({never_words(kind)})" if kind.never and kind.id != "pairs" else ""
        yield from textwrap.wrap(
            text, width, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> Iterator[str]:
    """Yield the lines of a table whose last column is folded where there is no room for it."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    room = max(width - sum(widths) - 2 * len(widths), _SIDE_MIN)
    for row in rows:
        cells = zip_longest(*[[cell] for cell in row[:-1]], _folded(row[-1], room), fillvalue="")
        for line in cells:
            padded = [cell.ljust(size) for cell, size in zip(line, widths, strict=False)]
            yield "  ".join([*padded, line[-1]]).rstrip()


def _labelled(text: str, label: str, width: int) -> list[str]:
    return wrapped(text, label, width=width)


def _command(text: str, label: str) -> list[str]:
    """Return one line, however long: what is copied must not be broken."""
    return [f"{_INDENT}{label.ljust(11)}{' '.join(text.split())}"]


def _cell(seq: int | None, at_ns: int | None, text: str) -> str:
    if seq is None or at_ns is None:
        return visible(text) or "–"
    return f"{seq} at {exact_time(at_ns)}: {visible(text)}"


def _folded(text: str, side: int) -> list[str]:
    lines = textwrap.wrap(text, side, break_on_hyphens=False) or [""]
    if len(lines) <= _FIRST_LINES_MAX:
        return lines
    return [*lines[: _FIRST_LINES_MAX - 1], clipped(" ".join(lines[_FIRST_LINES_MAX - 1 :]), side)]
