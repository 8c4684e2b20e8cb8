"""Has what is made of a frozen object made once, as long as the same object comes again.

Many runs of one scenario by one subject come one after the other, and much of what they need is
the same in all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import is_not
from typing import TypeVar, TypeVarTuple

Given = TypeVarTuple("Given")
MadeT = TypeVar("MadeT")


def kept_while_same(make: Callable[[*Given], MadeT]) -> Callable[[*Given], MadeT]:
    """Have `make` keep what it made last, and return that when it is given the same objects.

    Objects are the same by identity: equal ones, and copies with a change, are others. What is
    made has to follow from them alone, and neither they nor it may be changed afterwards.
    """
    last: tuple[tuple[*Given], MadeT] | None = None

    @wraps(make)
    def made(*given: *Given) -> MadeT:
        nonlocal last
        if last is None or any(map(is_not, given, last[0])):
            last = (given, make(*given))
        return last[1]

    return made
