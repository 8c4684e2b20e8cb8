"""Tests of the references have the same surroundings as those of other subjects."""

from __future__ import annotations

from tests.subjects.conftest import connections, host, request_, slept

__all__ = ["connections", "host", "request_", "slept"]
