"""Edits the text of a baseline in place: what is not changed stays as its author wrote it.

Entries of a list in block style are added and removed as whole lines, with the comment that
stands right above them, so that no other line changes. Any other spelling of the list (in flow
style, empty, or not there) is left to ruamel.yaml, which keeps comments and quotes too. Whatever
the way, the new text is read again and has to say exactly what it should.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from faultclock.errors import InternalError, Problem, SourceError
from faultclock.load.baseline import parse_baseline
from faultclock.model.report.gate import Baseline, Deviation

_LIST = "deviations"
#: Nothing is wrapped: a line that is longer than others is easier to merge than one in pieces.
_WIDTH = 1 << 20
_HEAD = """\
# Known deviations: each may fail until its last day, and is removed once it passes.
"""


def new_baseline(baseline: Baseline) -> str:
    """Return the text of a file that has not been there."""
    facts: dict[str, Any] = {"subject": baseline.subject, "model": baseline.model}
    facts[_LIST] = [_facts(entry) for entry in baseline.deviations]
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
    body = text.removeprefix(mark)
    try:
        body = _renewed(body, renew)
        if gone or add:
            listed = _list_of(body)
            if listed is None or listed.node.flow_style or not listed.node.value:
                body = _round_trip(body, gone, add)
            else:
                made = _by_lines(body, listed, gone, add)
                # Strange line ends (U+2028) are not counted alike everywhere.
                body = made if _says(made, after) else _round_trip(body, gone, add)
    except MarkedYAMLError as error:
        raise SourceError((_not_editable(path, error),)) from None
    return _checked(mark + body, after)


def _not_editable(path: str, error: MarkedYAMLError) -> Problem:
    """Say what the stricter of the two parsers refuses, such as a tab inside a plain word."""
    mark = error.problem_mark or error.context_mark
    return Problem(
        path=path,
        line=1 if mark is None else mark.line + 1,
        column=1 if mark is None else mark.column + 1,
        message=f"the file can be read but not edited: {error.problem or error.context}",
        hint="put the value in quotes",
    )


def _says(text: str, wanted: Baseline) -> bool:
    try:
        return parse_baseline(text.encode(), "the new baseline") == wanted
    except SourceError:
        return False


def _checked(text: str, wanted: Baseline) -> str:
    if not _says(text, wanted):
        raise InternalError("the edit of the baseline failed its check: nothing was written")
    return text


def _facts(entry: Deviation) -> dict[str, Any]:
    # A date as such is written without quotes; None stands for what is not said.
    return {name: value for name, value in dict(entry).items() if value is not None}


def _writer() -> YAML:
    writer = YAML()
    writer.preserve_quotes = True
    writer.width = _WIDTH
    # Two entries with one day are not one value in two places.
    writer.representer.ignore_aliases = lambda _: True
    writer.indent(mapping=2, sequence=4, offset=2)
    return writer


def _dumped(value: object) -> str:
    out = io.StringIO()
    _writer().dump(value, out)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class _Listed:
    """The list of entries with its places.

    Attributes:
        first: number of the line behind its key.
        end: of its key: where in the text a value could be written.
    """

    first: int
    end: int
    node: SequenceNode


def _list_of(text: str) -> _Listed | None:
    """Return the list of entries, None where there is none."""
    root = YAML(typ="safe", pure=True).compose(text)
    assert isinstance(root, MappingNode), "it is a baseline"
    for key, value in root.value:
        if key.value == _LIST:
            assert isinstance(value, SequenceNode), "it is a baseline"
            colon = text.index(":", key.end_mark.index)
            return _Listed(key.end_mark.line + 1, colon + 1, value)
    return None


def _renewed(text: str, renew: Mapping[int, date]) -> str:
    listed = _list_of(text) if renew else None
    if listed is None:
        return text
    places = []
    for index, day in renew.items():
        entry = listed.node.value[index]
        node = next(value for key, value in entry.value if key.value == "expires")
        quote = node.style or ""
        places.append((node.start_mark.index, node.end_mark.index, f"{quote}{day}{quote}"))
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _round_trip(text: str, gone: frozenset[int], add: tuple[Deviation, ...]) -> str:
    writer = _writer()
    root = writer.load(text)
    listed = root.get(_LIST)
    entries = [] if listed is None else [item for i, item in enumerate(listed) if i not in gone]
    made = CommentedSeq([*entries, *(CommentedMap(_facts(entry)) for entry in add)])
    if entries or not add:
        made.fa.set_flow_style()
    root[_LIST] = made
    out = io.StringIO()
    writer.dump(root, out)
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of one entry: from the comment right above it to its last one (0-based, open)."""

    comment: int
    start: int
    end: int


def _by_lines(text: str, listed: _Listed, gone: frozenset[int], add: tuple[Deviation, ...]) -> str:
    lines = text.splitlines(keepends=True)
    ending = "\r\n" if lines[0].endswith("\r\n") else "\n"
    if not lines[-1].endswith(("\n", "\r")):
        lines[-1] += ending
    entries = _entries(lines, listed)
    column = listed.node.value[0].start_mark.column
    dash = lines[entries[0].start].index("-")
    spaced = any(not lines[second.comment - 1].strip() for _, second in itertools.pairwise(entries))
    new: list[str] = []
    for number, entry in enumerate(add):
        if spaced and (number or len(gone) < len(entries)):
            new.append(ending)
        block = _dumped(_facts(entry)).splitlines()
        head = " " * dash + "-" + " " * (column - dash - 1)
        new.append(head + block[0] + ending)
        new += [(" " * column + line).rstrip() + ending for line in block[1:]]
    kept = [entry for index, entry in enumerate(entries) if index not in gone]
    at = kept[-1].end if kept else entries[0].comment
    spans = (range(entries[index].comment, entries[index].end) for index in gone)
    drop = set(itertools.chain.from_iterable(spans))
    drop |= _needless_blanks(lines, drop)
    out: list[str] = []
    for number, line in enumerate([*lines, ""]):
        if number == at:
            out += new
        if number not in drop:
            out.append(line)
    if not kept and not add:
        out_text = "".join(out)
        return f"{out_text[: listed.end]} []{out_text[listed.end :]}"
    return "".join(out)


def _entries(lines: list[str], listed: _Listed) -> list[_Lines]:
    found: list[_Lines] = []
    last = listed.first
    for node in listed.node.value:
        start = node.start_mark.line
        while not lines[start].lstrip().startswith("-"):
            # The dash may stand on a line of its own.
            start -= 1
        comment = start
        while comment > last and lines[comment - 1].lstrip().startswith("#"):
            comment -= 1
        last = _end(lines, node)
        found.append(_Lines(comment, start, last))
    return found


def _end(lines: list[str], node: Node) -> int:
    """Return the number of the line behind the last one of a value."""
    line: int = node.end_mark.line
    if isinstance(node, ScalarNode):
        end = line + 1
        if node.style in ("|", ">"):
            # Its end is the beginning of what comes next.
            end = line if node.end_mark.column == 0 else end
            while not lines[min(end, len(lines)) - 1].strip():
                end -= 1
        return min(end, len(lines))
    if getattr(node, "flow_style", False) or not node.value:
        return line + 1
    last = node.value[-1]
    return _end(lines, last[1] if isinstance(last, tuple) else last)


def _needless_blanks(lines: list[str], drop: set[int]) -> set[int]:
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
