"""Every test of the simulated world runs under the patches, and leaves the process as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faultclock.sim.patches import installed


@pytest.fixture(autouse=True, scope="package")
def _patched_world() -> Iterator[None]:
    with installed():
        yield
