"""One test of a check on many values, where an item of pytest's own for each would cost too much.

An item costs some 15 ms with two workers: thousands of them that look at one file each took a
minute. A check that runs something keeps its items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

ValueT = TypeVar("ValueT")


def for_each(
    values: Iterable[ValueT], name: Callable[[ValueT], str] = str
) -> Callable[[Callable[[ValueT], None]], Callable[[], None]]:
    """Make a test without arguments of a check of one value; all values that fail it are told.

    Args:
        name: what a value is called in the message.
    """
    kept = tuple(values)

    def made(check: Callable[[ValueT], None]) -> Callable[[], None]:
        def test() -> None:
            # An empty selection must not look green.
            assert kept, "there is nothing to check"
            failures = []
            for value in kept:
                try:
                    check(value)
                except AssertionError as error:
                    failures.append(f"{name(value)}: {error}")
            assert not failures, f"{len(failures)} of {len(kept)}\n" + "\n".join(failures)

        # Not `functools.wraps`: pytest would look through it and ask for the value as a fixture.
        test.__name__, test.__doc__, test.__module__ = (
            check.__name__,
            check.__doc__,
            check.__module__,
        )
        return test

    return made
