"""Small pieces of Markdown that every generated page is made of."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

#: The widest line of prose.
WIDTH = 100
GENERATED = "<!-- Written by `python -m tests.docs.reference`; a test says when it is stale. -->"


def prose(text: str, *, first: str = "", rest: str = "") -> list[str]:
    """Return a paragraph in lines, the first and the others behind these words."""
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table."""
    return [
        f"| {' | '.join(head)} |",
        "|---" * len(head) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
    ]


def cell(text: str) -> str:
    """Return a text as one cell of a table, with nothing in it that Markdown would read."""
    joined = " ".join(text.split())
    parts = re.split(r"(`[^`]*`)", joined)
    kept = (
        part if part.startswith("`") else re.sub(r"([<>*_\[\]])", r"\\\1", part) for part in parts
    )
    return "".join(kept).replace("|", "\\|")


def code(text: str) -> str:
    """Return a text as code inside a cell."""
    escaped = text.replace("|", "\\|")
    return f"`` {escaped} ``" if "`" in text else f"`{escaped}`"


def listed(names: Iterable[str]) -> str:
    """Return names as code, one after another."""
    return ", ".join(f"`{name}`" for name in names)


def anchor(heading: str) -> str:
    """Return what a link to a heading ends with."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
