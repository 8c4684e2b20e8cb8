"""The cross table as a page of Markdown: figures first, then every difference by its sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from faultclock.model.report.cross_table import Cell, Difference
from faultclock.model.report.finding import Verdict

_INTRODUCTION = """\
# Five subjects, five models

Each reference runtime runs the same scenarios (`scenarios/shared`), and every error model judges
what it did. By its own model a reference has nothing against it. By another, it breaks the
sentences in which the two documents differ: each is listed below with the first thing that broke
it.

A cell says in how many scenarios the subject fails, out of those that this model has an opinion
on, and how many sentences it breaks. *Unproven* are scenarios in which a planned fault was never
met.
"""


def cross_table_page(cells: Sequence[Cell]) -> str:
    """Return the page. It names requirements and scenarios, and holds nothing of a machine."""
    return "\n".join([_INTRODUCTION, *_table(cells), "", *_differences(cells)])


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    models = list(dict.fromkeys(cell.model for cell in cells))
    yield f"| subject | {' | '.join(models)} |"
    yield f"|---|{'---|' * len(models)}"
    for subject in dict.fromkeys(cell.subject for cell in cells):
        row = {cell.model: _figures(cell) for cell in cells if cell.subject == subject}
        yield f"| {subject} | {' | '.join(row[model] for model in models)} |"


def _figures(cell: Cell) -> str:
    runs = sum(cell.totals.values())
    failed = cell.totals.get(Verdict.FAIL, 0) + cell.totals.get(Verdict.WARN, 0)
    unproven = cell.totals.get(Verdict.INCONCLUSIVE, 0)
    rest = f", {unproven} unproven" if unproven else ""
    if not failed:
        return f"**none of {runs}**{rest}"
    return f"{failed} of {runs}, {len(cell.differences)} sentences{rest}"


def _differences(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        if not cell.differences:
            continue
        yield f"## {cell.subject} by {cell.model}"
        yield ""
        for difference in cell.differences:
            yield from _difference(difference)
        yield ""


def _difference(difference: Difference) -> Iterator[str]:
    requirement = difference.requirement
    where = f"**{requirement.id}** ({requirement.level}), {requirement.place}"
    yield from _wrapped(f"- {where}: {_quoted(difference)}")
    yield from _wrapped(
        f"  In `{difference.scenario}`: expected {_inline(difference.expected)};"
        f" observed {_inline(difference.observed)}."
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, 98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _quoted(difference: Difference) -> str:
    requirement = difference.requirement
    text = _inline(requirement.sentence)
    return f'"{text}"' if requirement.wording == "quoted" else text


def _inline(text: str) -> str:
    """Return `text` on one line, with nothing in it that Markdown would act on."""
    line = " ".join(text.split())
    for sign in ("\\", "`", "*", "_", "<", "|"):
        line = line.replace(sign, f"\\{sign}")
    return line
