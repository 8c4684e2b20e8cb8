"""What the tests of frameworks share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faultclock.sim.patches import installed


@pytest.fixture(scope="session", autouse=True)
def _patched() -> Iterator[None]:
    """Have the patches installed for this folder's tests, and taken back after them."""
    with installed():
        yield
