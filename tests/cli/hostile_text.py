"""Texts that try to be obeyed by a terminal or a build server, and whether one is."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import strategies as st

#: One of each kind: colours, a link, a title, C1, bidi, CR, a line of its own with an order.
NASTY = (
    "a\x1b[31m\x1b]8;;http://x.test\x07\x9b1m\u202e\r\x00\u2028"
    "\n::error file=x::PWN\n  ::add-mask::y\n##[error]z\n##vso[task.complete]w ::set-output::"
)
_PIECES = (
    "\x1b]8;;http://x.test\x1b\\",
    "\n::error file=x::PWN",
    "::set-output name=a::b",
    "\u00a0::add-mask::x",
    "##[error]",
    "##vso[task.complete result=Failed]",
    "##teamcity[x]",
    "\r",
    "\n",
    "\t",
    "\u202e",
    "\x9b31m",
    "\x85",
    "\u2028",
    ":",
    "#",
    "[",
    " ",
    "word " * 9,
)
_ORDER = re.compile(r"^[^!-~\n]*::|##(?:vso|teamcity)?\[", re.M)


def hostile_texts(without: str = "") -> st.SearchStrategy[str]:
    """Return texts of any characters but those in `without`, many of them hostile."""
    any_text = st.text(
        st.characters(exclude_characters=without, exclude_categories=["Cs"]), max_size=8
    )
    pieces = st.sampled_from([piece for piece in _PIECES if not set(piece) & set(without)])
    return st.lists(pieces | any_text, min_size=1, max_size=5).map("".join)


def obeyed(printed: str) -> list[str]:
    """Return what of a printed text is not shown but obeyed."""
    controls = [
        ascii(char)
        for char in printed
        if (unicodedata.category(char) == "Cc" and char != "\n")
        or char in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    ]
    return [*controls, *(match.group() for match in _ORDER.finditer(printed))]
