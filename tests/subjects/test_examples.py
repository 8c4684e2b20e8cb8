"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["subjects.ports", "subjects.outcome", "subjects.retry_after"])
def test_the_examples_of_a_module_hold(name: str) -> None:
    """Each `>>>` gives what it says."""
    results = doctest.testmod(import_module(f"faultclock.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
