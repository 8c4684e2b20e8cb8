"""What has to be true at the end of a test that passed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

#: What is called when a test has passed; it raises where the test should not have.
_CHECKS = pytest.StashKey[list[Callable[[], None]]]()


def at_end(item: pytest.Item, check: Callable[[], None]) -> None:
    """Have `check` called when the test `item` has passed."""
    item.stash.setdefault(_CHECKS, []).append(check)


def check_finished(item: pytest.Item) -> None:
    """Call what was registered for `item`; each fixture asks anew in every repetition."""
    __tracebackhide__ = True
    checks = item.stash.get(_CHECKS, [])
    item.stash[_CHECKS] = []
    for check in checks:
        check()
