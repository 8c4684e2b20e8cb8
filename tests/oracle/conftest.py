"""What the tests of the oracle share: the shipped model, and a way to look up findings."""

from __future__ import annotations

import pytest

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel


@pytest.fixture(scope="session")
def model() -> ErrorModel:
    """The stud-cli model under its default readings."""
    return load_error_model("stud-cli")
