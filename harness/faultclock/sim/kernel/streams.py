"""Named streams of chance: each draw follows from the seed, its stream's name and its number.

A world has one generator for what a subject draws. What the world itself leaves to chance comes
from here instead, so that one draw more in one place shifts nothing in another: a stream has no
position that others could move, and the caller says which draw it wants. Nothing depends on the
hash seed of the process, the order of the draws or the machine.

Every draw passes through `Streams.draw`, so a `Chooser` can note it, or answer in its place: that
is how a run's choices are recorded, varied and made smaller. Names in use:

    pace/<provider>/first-token       number: which answer of the provider that it paces, from 0
    pace/<provider>/token/<answer>    number: which token of that answer, from 0
    overload/<provider>               number: which request to the provider, from 0
    latency/<connection>/<side>       number: which delivery to that side, from 0

where `<provider>` is the id of a fallback, or `first`.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

#: A draw is a whole number of so many bits.
DRAW_BITS = 64


class Chooser(Protocol):
    """Sees each draw and has the last word on it."""

    def choose(self, stream: str, number: int, drawn: int) -> int:
        """Return what is drawn, 0 to 2 ** DRAW_BITS - 1.

        Args:
            drawn: what the seed says.
        """
        ...


class Streams:
    """The streams of one run.

    Args:
        seed: of the run.
        chooser: None: what the seed says holds.
    """

    __slots__ = ("_chooser", "_seed")

    def __init__(self, seed: int, chooser: Chooser | None = None) -> None:
        self._seed = seed
        self._chooser = chooser

    def draw(self, stream: str, number: int) -> int:
        """Return draw `number` (0-based) of `stream`: each of 2 ** DRAW_BITS values as likely."""
        value = drawn(self._seed, stream, number)
        return value if self._chooser is None else self._chooser.choose(stream, number, value)

    def below(self, stream: str, number: int, bound: int) -> int:
        """Return a draw from 0 to `bound` - 1; `bound` far below 2 ** DRAW_BITS is even enough."""
        return self.draw(stream, number) * bound >> DRAW_BITS


def drawn(seed: int, stream: str, number: int) -> int:
    """Return what `seed` says draw `number` of `stream` is."""
    text = f"{seed}/{stream}/{number}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[: DRAW_BITS // 8], "big")
