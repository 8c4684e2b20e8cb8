"""What all tests share: how hypothesis works here, and a folder for what is made once.

No deadline per example, because a loaded machine is not a defect, and the same examples each
time, because a suite that fails now and then is soon ignored.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("faultclock", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("faultclock")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that the workers of this session share, and no other session."""
    own = tmp_path_factory.getbasetemp()
    # Workers have theirs side by side in that of the session.
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder
