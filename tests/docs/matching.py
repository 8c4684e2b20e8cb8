"""Compares what a page shows with what a command printed.

`…` or `...` stands for anything within its line, and for any lines where it stands alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ANYTHING = re.compile(r"…|\.\.\.")
_ANY_LINES = r"(?:.*\n)*?"
#: What `…` in a word of a command may stand for: a name, an id, a token.
_IN_A_WORD = r"[\w.+/=-]+"


def fits(shown: Sequence[str], printed: str) -> bool:
    """Return whether the lines that a page shows are those that were printed."""
    return bool(re.fullmatch(_pattern(shown), _lines(printed)))


def stands_in(shown: Sequence[str], text: str) -> bool:
    """Return whether the lines that a page shows are some of the text, one after another."""
    return bool(re.search(rf"^{_pattern(shown)}", _lines(text), re.MULTILINE))


def fitting_words(word: str, texts: Sequence[str]) -> list[str]:
    """Return what the word of a command with an ellipsis may be, as it stands in the texts."""
    parts = [re.escape(part) for part in _ANYTHING.split(word)]
    pattern = rf"(?<![\w-]){_IN_A_WORD.join(parts)}"
    return [match for text in texts for match in re.findall(pattern, text)]


def _pattern(shown: Sequence[str]) -> str:
    return "".join(
        _ANY_LINES
        if _ANYTHING.fullmatch(line.strip())
        else ".*".join(re.escape(part) for part in _ANYTHING.split(line.rstrip())) + r"\n"
        for line in shown
    )


def _lines(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())
