"""All shipped scenarios, read once by each process of the tests: to read them takes seconds."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from faultclock.load import scenario
from faultclock.load.resources import scenarios_root
from faultclock.load.scenario import LoadedScenario, find_scenarios


@cache
def all_scenarios() -> tuple[LoadedScenario, ...]:
    """Return what `find_scenarios()` returns."""
    return find_scenarios()


@cache
def read_shipped_once() -> None:
    """Have this process, and those that it forks, read a shipped scenario once, and not each time.

    A file is known by its time and its size, so one that is changed is read again. All others are
    read each time.
    """
    of_one, of_all = scenario._loaded, scenario.shipped_scenarios
    root = scenarios_root()
    known: dict[tuple[str, int, int], LoadedScenario] = {}
    listed: dict[str, dict[str, str]] = {}

    def loaded(path: str) -> LoadedScenario:
        whole = os.path.abspath(path)  # noqa: PTH100 - of hundreds of files, a Path takes its time
        if not whole.startswith(f"{root}{os.sep}"):
            return of_one(path)
        at = os.stat(whole)  # noqa: PTH116
        key = (whole, at.st_mtime_ns, at.st_size)
        if key not in known:
            known[key] = of_one(path)
        return replace(known[key], path=path)

    def shipped() -> dict[str, str]:
        if scenarios_root() != root:
            return of_all()
        # They are shown as they are from the working folder.
        here = str(Path.cwd())
        if here not in listed:
            listed[here] = of_all()
        return dict(listed[here])

    for name, once in (("_loaded", loaded), ("shipped_scenarios", shipped)):
        setattr(scenario, name, once)
