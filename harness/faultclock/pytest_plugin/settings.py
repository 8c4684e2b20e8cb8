"""What counts in a session: command-line options, and `[tool.faultclock]` of the project.

Here the table is only looked for. It is read, and told what is wrong with it, where it is used:
in the process that runs scenarios.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from faultclock.pytest_plugin.bench.client import Bench, Benches
from faultclock.pytest_plugin.bench.values import Settings

FILE_NAME = "pyproject.toml"


def table_of(path: Path) -> Mapping[str, Any] | None:
    """Return `[tool.faultclock]` of a pyproject.toml; None if it has none.

    Of a file that is no TOML but speaks of us, nothing is known: then it is as if empty.
    """
    try:
        # A pipe in its place may never end.
        content = path.read_bytes() if path.is_file() else b""
    except OSError:
        return None
    if b"faultclock" not in content:
        return None
    try:
        table = tomllib.loads(content.decode("utf-8", "replace")).get("tool", {})
    except tomllib.TOMLDecodeError:
        return {}
    found = table.get("faultclock") if isinstance(table, dict) else None
    if found is None:
        return None
    return found if isinstance(found, dict) else {}


class Setup:
    """What counts in one session.

    Args:
        config: of pytest.

    Attributes:
        selectors: scenarios that the command line names.
        asked: whether it asks for the configured scenarios, whatever else it names.
        uncollected: scenario files that were passed over, because nobody says for which subject.
    """

    def __init__(self, config: pytest.Config) -> None:
        option = config.getoption
        self.selectors: tuple[str, ...] = tuple(option("faultclock_scenarios") or ())
        self.asked = bool(option("faultclock")) or bool(self.selectors)
        self.subject: str | None = option("faultclock_subject")
        self.model: str | None = option("faultclock_model")
        self.seeds: int | None = option("faultclock_seeds")
        self.uncollected: list[str] = []
        self._folder = Path(config.invocation_params.dir)
        self._found: dict[Path, Path | None] = {}
        self._benches = Benches()

    @property
    def project_file(self) -> Path | None:
        """The pyproject.toml that counts where pytest was started."""
        return self.config_file(self._folder)

    def config_file(self, folder: Path) -> Path | None:
        """Return the nearest pyproject.toml upwards from `folder` with a table of ours."""
        if folder not in self._found:
            path = folder / FILE_NAME
            above = folder.parent
            if table_of(path) is not None:
                self._found[folder] = path
            else:
                self._found[folder] = None if above == folder else self.config_file(above)
        return self._found[folder]

    def bench(self, config_file: Path | None, subject: str | None = None) -> Bench:
        """Return the process that runs scenarios under one configuration."""
        return self._benches.of(
            Settings(
                config_file=config_file,
                subject=subject or self.subject,
                model=self.model,
                seeds=self.seeds,
                path=tuple(os.path.abspath(place) for place in sys.path),  # noqa: PTH100 - may be ""
            )
        )

    def close(self) -> None:
        """End what was started."""
        self._benches.close()


#: Where a session keeps it.
SETUP = pytest.StashKey[Setup]()
