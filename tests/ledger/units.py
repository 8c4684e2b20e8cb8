"""What a ledger is about: units of work, and what was played in them.

Nothing here imports the oracle, so that a process can read stored traces before it is imported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from faultclock.load.error_model import load_error_model
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import Trace

Source = Literal["wrong", "reference", "client", "explored", "log", "idle"]
SOURCES: tuple[Source, ...] = get_args(Source)


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """One piece of work.

    Attributes:
        name: of a subject, or of a map.
    """

    source: Source
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One run, or one log.

    Attributes:
        label: what was played, other than any other of the unit: scenario, variant and seed.
        group: what runs share that differ in nothing but the seed; None: it is judged alone.
        models: ids of those that judge it.
    """

    label: str
    group: str | None
    models: tuple[str, ...]
    trace: Trace


@cache
def model_of(id_: str) -> ErrorModel:
    """Return a shipped error model at its default readings, loaded once."""
    return load_error_model(id_)
