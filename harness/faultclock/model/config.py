"""Config: what `[tool.faultclock]` of a pyproject.toml says, so that it is not typed again.

Values as they are written: what a path is relative to is known to the reader of the file.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from faultclock.model._base import Value
from faultclock.model.duration import DurationNs

_Text = Annotated[str, Field(min_length=1)]


class Config(Value):
    """The table `[tool.faultclock]`. A key that is left out has the command's own default."""

    subject: _Text | None = None
    """Code under test: a shipped subject, `path/to/file.py:name` or `package.module:name`."""
    model: _Text | None = None
    """Id of an error model, or its file."""
    readings: dict[str, str] = {}
    """Interpretation switch to the option that is chosen."""
    scenarios: tuple[_Text, ...] = ()
    """What is run: ids, families, patterns, files or folders."""
    seeds: int | None = Field(default=None, ge=1, le=100_000)
    """How many consecutive seeds; None: each scenario's own."""
    reads: tuple[_Text, ...] = ()
    """Tools of the subject, an agent, that only read or compute."""
    wall_limit: DurationNs | None = Field(default=None, alias="wall-limit")
    """Real time after which a run that hangs is ended; None: the scenario's own."""
    baseline: _Text | None = None
    """File of known deviations."""
    history: _Text | None = None
    """File that verdicts are kept in."""

    @field_validator("wall_limit")
    @classmethod
    def _takes_time(cls, value: int | None) -> int | None:
        if value == 0:
            raise ValueError("`wall-limit` is not a duration: write it as in 30s")
        return value
