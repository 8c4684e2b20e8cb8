"""Edits the text of a baseline in place: what is not changed stays as its author wrote it.

Entries of a list in block style are added and removed as whole lines, with the comment that
stands right above them. Entries of a list in flow style are added and removed with their comma.
No other line changes. The new text is read again and has to say exactly what it should.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any

import yaml

from faultclock.errors import InternalError, SourceError
from faultclock.load.baseline import parse_baseline
from faultclock.load.baseline_layout import (
    ENTRIES,
    Change,
    Layout,
    changed,
    end_line,
    entry_lines,
    layout_of,
)
from faultclock.load.located.words import plain_value
from faultclock.load.scenario_file import OwnDumper
from faultclock.model.report.gate import Baseline, Deviation

#: Nothing is wrapped: a line that is longer than others is easier to merge than one in pieces.
_WIDTH = 1 << 20
_HEAD = """\
# Known deviations: each may fail until its last day, and is removed once it passes.
"""
_EMPTY_LIST = re.compile(r"\s*\[\s*\]")
#: The comma behind an entry in flow style, and what may stand between.
_COMMA = re.compile(r"(?:\s|#.*)*,")
#: The end of a line that has no more values.
_REST_OF_LINE = re.compile(r"[ \t]*(?:#.*)?(?:\r\n|[\n\r\x85\u2028\u2029])")


def new_baseline(baseline: Baseline) -> str:
    """Return the text of a file that has not been there."""
    facts: dict[str, Any] = {"subject": baseline.subject, "model": baseline.model}
    facts[ENTRIES] = [_facts(entry) for entry in baseline.deviations]
    return _checked(_HEAD + _dumped(facts), baseline)


def edited_baseline(
    text: str,
    path: str,
    *,
    remove: Iterable[int],
    renew: Mapping[int, date],
    add: tuple[Deviation, ...],
) -> str:
    """Return `text` with some entries removed, some with another last day, and some more.

    Args:
        text: of a baseline file.
        path: for messages.
        remove: 0-based indexes of entries.
        renew: new last days by index.
        add: new entries, behind all others.

    Raises:
        SourceError: the text is no baseline.
    """
    before = parse_baseline(text.encode(), path)
    gone = frozenset(remove)
    kept = tuple(
        entry.model_copy(update={"expires": renew[index]}) if index in renew else entry
        for index, entry in enumerate(before.deviations)
        if index not in gone
    )
    after = before.model_copy(update={"deviations": (*kept, *add)})
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    layout = layout_of(text.removeprefix(mark))
    changes = [
        *_renewed(layout, {index: day for index, day in renew.items() if index not in gone}),
        *(_listed(layout, gone, add) if gone or add else ()),
    ]
    made = mark + changed(layout.text, changes)
    if not _says(made, after):
        # A spelling that nobody writes, such as `? deviations`: the list is written anew.
        made = mark + changed(layout.text, _rewritten(layout, after.deviations))
    return _checked(made, after)


def _says(text: str, wanted: Baseline) -> bool:
    try:
        return parse_baseline(text.encode(), "the new baseline") == wanted
    except SourceError:
        return False


def _checked(text: str, wanted: Baseline) -> str:
    if not _says(text, wanted):
        raise InternalError("the edit of the baseline failed its check: nothing was written")
    return text


# ---------------------------------------------------------------------- new entries


class _Writer(OwnDumper):
    """Writes plain texts where YAML 1.1 and 1.2 both read a text, and single quotes elsewhere."""


def _text_node(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    try:
        style = None if plain_value(text) == text else "'"
    except ValueError:
        style = "'"
    if "\n" in text:
        # Escapes show where its lines end.
        style = '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Writer.add_representer(str, _text_node)


def _facts(entry: Deviation) -> dict[str, Any]:
    # A date as such is written without quotes; None stands for what is not said.
    return {name: value for name, value in dict(entry).items() if value is not None}


def _dumped(value: object, *, flow: bool = False) -> str:
    made: str = yaml.dump(
        value,
        Dumper=_Writer,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=flow,
    )
    return made


def _block_entry(entry: Deviation, dash: int, column: int, ending: str) -> Iterator[str]:
    """Yield the lines of an entry whose dash and first key stand in these 0-based columns."""
    head = " " * dash + "-" + " " * (column - dash - 1)
    for line in _dumped(_facts(entry)).splitlines():
        yield (head + line).rstrip() + ending
        head = " " * column


def _flow_entry(entry: Deviation) -> str:
    return _dumped(_facts(entry), flow=True).rstrip("\n")


# ---------------------------------------------------------------------- changes


def _renewed(layout: Layout, renew: Mapping[int, date]) -> Iterator[Change]:
    for index, day in renew.items():
        entry = layout.entries[index]
        node = next(value for key, value in entry.value if key.value == "expires")
        quote = node.style if node.style in ("'", '"') else ""
        start, end = node.start_mark.index, node.end_mark.index
        # The end of a block scalar is the beginning of the next line.
        end = start + len(layout.text[start:end].rstrip())
        yield Change(start, end, f"{quote}{day}{quote}")


def _listed(layout: Layout, gone: frozenset[int], add: tuple[Deviation, ...]) -> Iterator[Change]:
    """Yield the changes that remove and add entries."""
    column, listed = layout.root.start_mark.column, layout.listed
    if listed is not None and not listed.flow_style:
        yield from _in_block(layout, gone, add)
        return
    block = [
        line for entry in add for line in _block_entry(entry, column + 2, column + 4, layout.ending)
    ]
    if listed is None:
        if layout.root.flow_style:
            at = layout.root.value[-1][1].end_mark.index
            new = ", ".join(map(_flow_entry, add))
            yield Change(at, at, f", {ENTRIES}: [{new}]")
        else:
            head = f"{' ' * column}{ENTRIES}:{layout.ending}"
            yield layout.inserted(end_line(layout, layout.root), [head, *block])
        return
    end = listed.end_mark.index
    if not layout.root.flow_style and _EMPTY_LIST.fullmatch(layout.text, layout.colon, end):
        yield Change(layout.colon, end, "")
        yield layout.inserted(min(listed.end_mark.line + 1, len(layout.lines)), block)
    else:
        yield from _in_flow(layout, listed, gone, add)


def _rewritten(layout: Layout, entries: Iterable[Deviation]) -> Iterator[Change]:
    """Yield the change that writes the whole list anew, in flow style."""
    listed = layout.listed
    if listed is None:
        return
    new = f"[{', '.join(map(_flow_entry, entries))}]"
    start, end = listed.start_mark, listed.end_mark.index
    if not listed.flow_style:
        # In the first column a list in flow style would be no value of its key.
        new = f"{new if start.column else f' {new}'}{layout.ending}"
        end = layout.starts[end_line(layout, listed)]
    yield Change(start.index, end, new)


def _in_block(layout: Layout, gone: frozenset[int], add: tuple[Deviation, ...]) -> Iterator[Change]:
    lines, first = layout.lines, layout.entries[0]
    entries = entry_lines(layout)
    dash, column = lines[entries[0].start].find("-"), first.start_mark.column
    spaced = any(not lines[second.comment - 1].strip() for _, second in itertools.pairwise(entries))
    kept = [entry for index, entry in enumerate(entries) if index not in gone]
    at = kept[-1].end if kept else entries[0].comment
    # A blank line would belong to a text above that keeps its end.
    blank = [layout.ending] if spaced else []
    new = blank if kept and lines[at - 1].strip() else []
    for number, entry in enumerate(add):
        new = [*new, *(blank if number else []), *_block_entry(entry, dash, column, layout.ending)]
    if add:
        yield layout.inserted(at, new)
    elif not kept:
        yield Change(layout.colon, layout.colon, " []")
    spans = (range(entries[index].comment, entries[index].end) for index in gone)
    drop = set(itertools.chain.from_iterable(spans))
    held = {number for entry in kept for number in range(entry.start, entry.end)}
    for number in drop | (_needless_blanks(lines, drop) - held):
        yield Change(layout.starts[number], layout.starts[number + 1], "")


def _needless_blanks(lines: tuple[str, ...], drop: set[int]) -> set[int]:
    """Return the blank lines above what is dropped that would be doubled, or be the last ones."""
    found: set[int] = set()
    for start in sorted(number for number in drop if number - 1 not in drop):
        end = next(number for number in itertools.count(start) if number not in drop)
        if end < len(lines) and lines[end].strip():
            continue
        above = start - 1
        while above >= 0 and not lines[above].strip():
            found.add(above)
            above -= 1
    return found


def _in_flow(
    layout: Layout, listed: yaml.SequenceNode, gone: frozenset[int], add: tuple[Deviation, ...]
) -> Iterator[Change]:
    """Yield the changes of a list in flow style."""
    text = layout.text
    kept = [node for index, node in enumerate(listed.value) if index not in gone]
    for index in gone:
        yield from _without(layout, listed.value[index])
    new = [_flow_entry(entry) for entry in add]
    if not kept:
        at = listed.start_mark.index + 1
        yield Change(at, at, ", ".join(new))
        return
    last = kept[-1]
    end = last.end_mark.index
    comma = _COMMA.match(text, end)
    if add:
        start = layout.starts[last.start_mark.line]
        indent = text[start : last.start_mark.index]
        apart = f",{layout.ending}{indent}" if start and not indent.strip() else ", "
        yield Change(end, end, "".join(apart + entry for entry in new))
    elif comma is not None and _COMMA.match(text, listed.value[-1].end_mark.index) is None:
        # The last one that is left has a comma behind it if the last one of all had.
        yield Change(comma.end() - 1, comma.end(), "")


def _without(layout: Layout, node: yaml.Node) -> Iterator[Change]:
    """Yield the changes that remove an entry in flow style with its comma.

    One that stands on lines of its own goes with them and with the comment right above it.
    """
    text, start, end = layout.text, node.start_mark.index, node.end_mark.index
    comma = _COMMA.match(text, end)
    behind = end if comma is None else comma.end()
    line = node.start_mark.line
    rest = _REST_OF_LINE.match(text, behind)
    is_near = comma is None or not text[end : behind - 1].strip()
    if is_near and rest is not None and not text[layout.starts[line] : start].strip():
        while line and layout.lines[line - 1].lstrip().startswith("#"):
            line -= 1
        yield Change(layout.starts[line], rest.end(), "")
        return
    before = text[:start].rstrip(" \t")
    if comma is None or not before.endswith("["):
        start = len(before)
    yield Change(start, end, "")
    if comma is not None:
        blanks = len(text[behind:]) - len(text[behind:].lstrip(" \t"))
        yield Change(behind - 1, behind + (blanks if before.endswith("[") else 0), "")
