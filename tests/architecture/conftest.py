"""What the tests of the architecture share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.architecture.source_tree import parsed


@pytest.fixture(scope="package", autouse=True)
def _trees_are_forgotten() -> Iterator[None]:
    """Give the memory of all trees back when this folder's tests are over."""
    yield
    parsed.cache_clear()
