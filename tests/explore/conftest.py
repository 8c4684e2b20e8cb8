"""Tests of explorations make whole runs, so they need what tests of runs need."""

from __future__ import annotations

from tests.run.conftest import _patched, bound, model

__all__ = ["_patched", "bound", "model"]
