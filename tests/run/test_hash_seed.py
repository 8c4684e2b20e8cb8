"""A command whose hash seed is random starts itself again, once."""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from faultclock.run.process.hash_seed import ensure_hash_seed


class Restarted(Exception):
    """Stands in for the process being replaced."""


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Record a restart instead of doing it."""
    seen: list[tuple[Any, ...]] = []

    def execve(*arguments: Any) -> None:
        seen.append(arguments)
        raise Restarted

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    monkeypatch.delenv("FAULTCLOCK_HASH_SEED_FIXED", raising=False)
    return seen


def test_a_process_with_a_random_hash_seed_is_started_again(
    restarts: list[tuple[Any, ...]],
) -> None:
    """With the same command and a fixed seed."""
    with pytest.raises(Restarted):
        ensure_hash_seed()
    ((path, arguments, environment),) = restarts
    assert path == sys.executable
    assert arguments == [sys.executable, *sys.orig_argv[1:]]
    assert environment["PYTHONHASHSEED"] == "0"


@pytest.mark.parametrize("name", ["PYTHONHASHSEED", "FAULTCLOCK_HASH_SEED_FIXED"])
def test_a_process_whose_hash_seed_is_fixed_goes_on(
    name: str, restarts: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It never restarts twice."""
    monkeypatch.setenv(name, "1")
    ensure_hash_seed()
    assert restarts == []
