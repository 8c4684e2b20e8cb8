"""Reads a page of the documentation: its blocks, what is said about them, and their commands.

What stands in a comment right before a block is for the test and not for the reader:

    <!-- file: NAME -->           the block is the content of this file
    <!-- shows: NAME -->          the block is a part of a file that a command above it wrote
    <!-- exits: 0 1 -->           exit codes of the block's commands, or one for all of them
    <!-- given: NAME = PATH -->   (anywhere) PATH of the checkout is there as NAME
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tests.architecture.source_tree import PROJECT

#: Every page that a reader may follow: its commands are executed.
PAGES = sorted(
    path.relative_to(PROJECT).as_posix()
    for path in [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]
)
_FENCE = "```"
_OPENING = re.compile(r"^```([\w-]*)$")
#: What marks where a program writes (`<!-- figures: begin -->`) is for that program.
_COMMENT = re.compile(r"^<!-- (\w+): (.*) -->$")
_KNOWN = {"file", "shows", "exits", "given"}
_MARKS = {"begin", "end"}
_PROMPT = "$ "


class PageError(Exception):
    """A page breaks the conventions, or does not do what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a console block.

    Attributes:
        text: as a shell takes it, over several lines maybe.
        line: the line of its prompt, from 1.
        output: the lines that the page shows below it; None where it shows none.
        exits: what it has to exit with.
    """

    text: str
    line: int
    output: tuple[str, ...] | None
    exits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block.

    Attributes:
        language: the word behind the fence.
        line: the line of the opening fence, from 1.
        text: what stands in it.
        file: the file that it is the content of.
        shows: the file that it is a part of.
        commands: those of a console block.
    """

    language: str
    line: int
    text: str
    file: str | None = None
    shows: str | None = None
    commands: tuple[Command, ...] = ()


@dataclass(slots=True, kw_only=True)
class Page:
    """A page, in the order in which it is read.

    Attributes:
        name: its path in the checkout.
        text: all of it.
        blocks: its fenced blocks.
        given: what is copied from the checkout, by the name that it gets.
    """

    name: str
    text: str
    blocks: list[Block] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)


def read_page(name: str, text: str | None = None) -> Page:
    """Return a page of the checkout, or the one that `text` is.

    Raises:
        PageError: a comment or a block is none that this module knows.
    """
    text = (PROJECT / name).read_text("utf-8") if text is None else text
    page = Page(name=name, text=text)
    said: dict[str, str] = {}
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        comment = _COMMENT.match(line)
        if comment and comment[2] in _MARKS:
            continue
        if comment:
            key, value = comment[1], comment[2].strip()
            if key not in _KNOWN:
                raise PageError(f"{name}:{number}: nobody knows what {key!r} says")
            if key == "given":
                wanted, _, source = (part.strip() for part in value.partition("="))
                page.given[wanted] = source
            else:
                said[key] = value
            continue
        if _FENCE in line:
            opening = _OPENING.match(line)
            if not opening:
                raise PageError(f"{name}:{number}: a fence stands at the margin, with one word")
            end = lines.index(_FENCE, number)
            page.blocks.append(_block(name, opening[1], number, lines[number:end], said))
            number = end + 1
        if line.strip():
            said = {}
    return page


def _block(name: str, language: str, line: int, body: list[str], said: dict[str, str]) -> Block:
    return Block(
        language=language,
        line=line,
        text="".join(f"{text}\n" for text in body),
        file=said.get("file"),
        shows=said.get("shows"),
        commands=_commands(name, line, body, said.get("exits")) if language == "console" else (),
    )


def _commands(name: str, line: int, body: list[str], exits: str | None) -> tuple[Command, ...]:
    found: list[tuple[int, str, list[str]]] = []
    continued = False
    for number, text in enumerate(body, start=line + 1):
        if continued:
            last = found[-1]
            found[-1] = (last[0], f"{last[1]}\n{text}", [])
        elif text.startswith(_PROMPT):
            found.append((number, text.removeprefix(_PROMPT), []))
        elif found:
            found[-1][2].append(text)
        else:
            raise PageError(f"{name}:{number}: a console block begins with a command")
        continued = text.endswith("\\") and (continued or text.startswith(_PROMPT))
    codes = _codes(name, line, len(found), exits)
    return tuple(
        Command(text=text, line=number, output=tuple(_trimmed(output)) or None, exits=code)
        for (number, text, output), code in zip(found, codes, strict=True)
    )


def _codes(name: str, line: int, count: int, exits: str | None) -> list[int]:
    codes = [int(word) for word in (exits or "0").split()]
    if len(codes) == 1:
        return codes * count
    if len(codes) != count:
        raise PageError(f"{name}:{line}: {count} commands, and {len(codes)} exit codes")
    return codes


def _trimmed(lines: list[str]) -> list[str]:
    """Leave out the empty lines that only keep two commands apart."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return lines
