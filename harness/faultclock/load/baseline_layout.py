"""Where the entries of a baseline stand in its text, and changes of that text by place.

Indexes of characters and numbers of lines are 0-based here. The places are those of PyYAML's own
nodes, which know where a value ends and how it is written; the strict reader has read the text
before, so that it has no tags, no anchors and no bottomless depth.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import yaml
from msgspec import Struct

#: The key of the list of entries.
ENTRIES = "deviations"


class Change(Struct, frozen=True):
    """The characters from `start` to before `end` (0-based) become `new`."""

    start: int
    end: int
    new: str


class Layout(Struct, frozen=True, kw_only=True):
    """The places of a baseline in its text.

    Attributes:
        lines: with their ends.
        starts: 0-based index of the first character of each line, and of the end of the text.
        ending: of lines that are added.
        key: of the list of entries; None where there is no list.
    """

    text: str
    lines: tuple[str, ...]
    starts: tuple[int, ...]
    ending: str
    root: yaml.MappingNode
    key: yaml.Node | None
    listed: yaml.SequenceNode | None

    @property
    def entries(self) -> list[yaml.MappingNode]:
        """Return the nodes of the entries."""
        return [] if self.listed is None else self.listed.value

    @property
    def colon(self) -> int:
        """Return the index behind the colon of the list's key."""
        assert self.key is not None
        return self.text.index(":", self.key.end_mark.index) + 1

    def inserted(self, line: int, new: Iterable[str]) -> Change:
        """Return the change that puts lines before the line `line` (0-based)."""
        at = self.starts[line]
        unended = at == len(self.text) and not self.lines[-1].endswith(("\n", "\r"))
        return Change(at, at, (self.ending if unended else "") + "".join(new))


def layout_of(text: str) -> Layout:
    """Return the layout of a text that is a baseline."""
    # Ends of lines as libyaml counts them: the reader refuses the others that Python knows.
    lines = tuple(text.splitlines(keepends=True))
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    assert isinstance(root, yaml.MappingNode), "it is a baseline"
    key, listed = next((pair for pair in root.value if pair[0].value == ENTRIES), (None, None))
    return Layout(
        text=text,
        lines=lines,
        starts=(0, *itertools.accumulate(map(len, lines))),
        ending=next((end for end in ("\r\n", "\r") if lines[0].endswith(end)), "\n"),
        root=root,
        key=key,
        listed=listed,
    )


def changed(text: str, changes: Iterable[Change]) -> str:
    """Return `text` with changes of it, which do not overlap."""
    for change in sorted(changes, key=lambda item: (item.start, item.end), reverse=True):
        text = text[: change.start] + change.new + text[change.end :]
    return text


def end_line(layout: Layout, node: yaml.Node) -> int:
    """Return the 0-based number of the line behind the last one of a value."""
    lines, mark = layout.lines, node.end_mark
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        # The end of a block is the beginning of what comes next.
        end = mark.line if mark.column == 0 else mark.line + 1
        header = lines[node.start_mark.line][node.start_mark.column :].split()[0]
        while "+" not in header and not lines[end - 1].strip():
            end -= 1
        return end
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return min(mark.line + 1, len(lines))
    last = node.value[-1]
    return end_line(layout, last[1] if isinstance(last, tuple) else last)


class EntryLines(Struct, frozen=True):
    """The lines of one entry: from the comment right above it to its last one (0-based, open)."""

    comment: int
    start: int
    end: int


def entry_lines(layout: Layout) -> list[EntryLines]:
    """Return the lines of each entry of a list in block style."""
    assert layout.key is not None
    lines, found = layout.lines, list[EntryLines]()
    last = first = layout.key.end_mark.line + 1
    for node in layout.entries:
        start = node.start_mark.line
        while start > first and not lines[start].lstrip().startswith("-"):
            # The dash may stand on a line of its own.
            start -= 1
        comment = start
        while comment > last and lines[comment - 1].lstrip().startswith("#"):
            comment -= 1
        last = end_line(layout, node)
        found.append(EntryLines(comment, start, last))
    return found
