"""A baseline is edited in any layout: the rows are what was asked for, and other lines stay."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultclock.load.baseline import parse_baseline
from faultclock.load.baseline_edit import edited_baseline
from faultclock.model.report.gate import Deviation
from tests.history.drawn import TODAY, deviation

REASONS = (
    "a reason",
    "it: is # so, [1]",
    "größer als 1 😀",
    "two\nlines",
    "first\n# no comment\n\n- no entry",
    "kept\n\n",
)
DAY = TODAY + timedelta(days=99)


@dataclass(slots=True)
class Line:
    """A line of a baseline.

    Attributes:
        owner: index of the entry that it goes with; None: it stays.
        fixed: whether it stays as it is where its owner stays.
    """

    text: str
    owner: int | None = None
    fixed: bool = True


def plain(text: str) -> bool:
    """Return whether a text can stand without quotes."""
    return text.replace(" ", "").replace("/", "").replace(".", "").isascii() and not (
        set(text) & set(":#,[]\n")
    )


@st.composite
def values(draw: st.DrawFn, value: Any, column: int) -> list[str]:
    """Draw the lines of a value whose key stands in a 0-based column."""
    text = str(value)
    ways = [json.dumps(text, ensure_ascii=False)]
    if plain(text):
        ways += [text, f"'{text}'"]
    if value is not text:
        # A date.
        return [draw(st.sampled_from(ways)) + draw(st.sampled_from(("", "  # soon")))]
    way = draw(st.sampled_from((*ways, "|")))
    if way != "|":
        return [way + draw(st.sampled_from(("", " # why")))]
    chomp = "+" if text.endswith("\n") else "-"
    body = text.split("\n")[: -1 if text.endswith("\n") else None]
    return [f"|{chomp}", *(f"{' ' * (column + 2)}{line}".rstrip() for line in body)]


def facts(entry: Deviation) -> list[tuple[str, Any]]:
    """Return what an entry says."""
    return [(key, value) for key, value in dict(entry).items() if value is not None]


@st.composite
def block_entries(draw: st.DrawFn, entry: Deviation, index: int, dash: int) -> list[Line]:
    """Draw the lines of an entry whose dash stands in a 0-based column."""
    made = [Line(f"{' ' * dash}# of {index}", index) for _ in range(draw(st.integers(0, 2)))]
    gap = draw(st.sampled_from((" ", "   ", "")))
    column = dash + 1 + (len(gap) or 2)
    if not gap:
        made.append(Line(f"{' ' * dash}-", index))
    head = f"{' ' * dash}-{gap}" if gap else " " * column
    for key, value in draw(st.permutations(facts(entry))):
        first, *more = draw(values(value, column))
        made.append(Line(f"{head}{key}: {first}", index, key != "expires"))
        made += [Line(line, index) for line in more]
        head = " " * column
        if draw(st.integers(0, 5)) == 0 and not first.startswith("|"):
            made.append(Line(f"{head}# between", index))
    last = len(made)
    while made[last - 1].text.strip().startswith("# between"):
        # What stands behind the last value is the comment of what follows.
        last -= 1
    return made[:last]


@st.composite
def flow_entries(draw: st.DrawFn, entry: Deviation) -> str:
    """Draw an entry on one line."""
    ways = [
        f"{key}: {json.dumps(str(value), ensure_ascii=False)}"
        for key, value in draw(st.permutations(facts(entry)))
    ]
    return "{" + ", ".join(ways) + draw(st.sampled_from(("}", ",}", " }")))


@st.composite
def blocks(draw: st.DrawFn, entries: list[Deviation]) -> list[Line]:
    """Draw a list in block style."""
    dash = draw(st.sampled_from((0, 2, 3)))
    lines = [Line(draw(st.sampled_from(("deviations:", '"deviations" :', "deviations:  # ours"))))]
    for index, entry in enumerate(entries):
        if draw(st.booleans()):
            lines.append(Line(""))
        if draw(st.integers(0, 3)) == 0:
            lines += [Line(f"{' ' * dash}# --- heading {index}"), Line("")]
        lines += draw(block_entries(entry, index, dash))
    return lines


@st.composite
def flows(draw: st.DrawFn, entries: list[Deviation]) -> list[Line]:
    """Draw a list in flow style, on one line or with a line for each entry."""
    written = [draw(flow_entries(entry)) for entry in entries]
    trailing = "," if entries and draw(st.booleans()) else ""
    if draw(st.booleans()):
        return [Line(f"deviations: [{', '.join(written)}{trailing}]  # ours", fixed=False)]
    lines = [Line("deviations: [", fixed=bool(entries))]
    for index, text in enumerate(written):
        lines += [Line(f"  # of {index}", index) for _ in range(draw(st.integers(0, 2)))]
        comma = "," if index < len(entries) - 1 else trailing
        note = draw(st.sampled_from(("", " # here")))
        lines.append(Line(f"  {text}{comma}{note}", index, fixed=False))
    return [*lines, Line("]", fixed=bool(entries))]


@st.composite
def baselines(draw: st.DrawFn) -> tuple[list[Deviation], list[Line], str]:
    """Draw entries, the lines of their file and the end of a line."""
    entries = [
        deviation(f"f/{index}", reason=draw(st.sampled_from(REASONS)))
        for index in range(draw(st.integers(0, 3)))
    ]
    styles = (blocks, flows) if entries else (flows,)
    listed = draw(draw(st.sampled_from(styles))(entries))
    head = [Line("# Ours."), Line("subject: s"), Line("model: 'm'  # here")]
    tail = [Line("# The end.")] if draw(st.booleans()) else []
    lines = [*listed, *head] if draw(st.booleans()) else [*head, *listed, *tail]
    return entries, lines, draw(st.sampled_from(("\n", "\r\n")))


@pytest.mark.parametrize("newline_at_end", [True, False])
@given(drawn=baselines(), data=st.data())
def test_the_rows_are_what_was_asked_for_and_other_lines_stay(
    drawn: tuple[list[Deviation], list[Line], str], data: st.DataObject, newline_at_end: bool
) -> None:
    """Comments, quotes, line ends, order and indentation of what is not touched."""
    entries, lines, ending = drawn
    text = ending.join(line.text for line in lines) + (ending if newline_at_end else "")
    before = parse_baseline(text.encode(), "b").deviations
    # Blank lines behind a text that keeps its end belong to it.
    assert [entry.scenario for entry in before] == [entry.scenario for entry in entries]
    indexes = range(len(entries))
    gone = {index for index in indexes if data.draw(st.booleans(), label=f"remove {index}")}
    late = {index for index in indexes if data.draw(st.booleans(), label=f"renew {index}")}
    add = tuple(deviation(f"f/new{number}") for number in range(data.draw(st.integers(0, 2))))
    renew = dict.fromkeys(late - gone, DAY)
    made = edited_baseline(text, "b.yaml", remove=gone, renew=renew, add=add)
    kept = [
        entry.model_copy(update={"expires": DAY}) if index in late else entry
        for index, entry in enumerate(before)
        if index not in gone
    ]
    assert parse_baseline(made.encode(), "b").deviations == (*kept, *add)
    is_emptied = bool(entries) and len(gone) == len(entries)
    found = iter(made.splitlines(keepends=True))
    for line in lines if newline_at_end else lines[:-1]:
        changes = not line.fixed and (line.owner in late or line.owner is None or "{" in line.text)
        if line.owner in gone or not line.text or changes:
            continue
        if line.text[:1] in ('"', "d") and is_emptied:
            continue
        assert f"{line.text}{ending}" in found, line.text
