"""Cells: which combination of a matrix a run belongs to, by the name of its variant."""

from __future__ import annotations

import re

_CRASH = re.compile(r"(^|, )crash after event \d+$")


def cell_of(variant: str | None) -> str | None:
    """Return the cell of a matrix that a run's variant belongs to, with or without a sweep."""
    if variant is None:
        return None
    return _CRASH.sub("", variant) or None


def named(scenario: str, variant: str | None) -> str:
    """Return the name of a scenario with its variant, as build servers and terminals show it."""
    return scenario if variant is None else f"{scenario} [{variant}]"
