"""What pytest calls: options, collection, the checks at the end of a test, and the summary."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from faultclock.printable import harmless, one_line
from faultclock.pytest_plugin.items import (
    MARKER,
    ProjectFile,
    ScenarioFile,
    ScenarioItem,
    is_scenario_file,
)
from faultclock.pytest_plugin.settings import FILE_NAME, SETUP, Setup, table_of
from faultclock.pytest_plugin.unfinished import check_finished

#: Keys of the table that make items.
_NAMING = {"scenarios", "baseline"}
_MARKER_HELP = (
    f"{MARKER}(*, subject=None, model=None, readings=None, seed=0, dialect=None): "
    "what the fixtures sim, fake_provider, subject and scenario of Faultclock use in this test;"
    " scenarios that are collected have this mark too, so `-m faultclock` runs only them."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup(
        "faultclock",
        "faultclock: scenarios of error handling on a simulated clock "
        "(defaults come from [tool.faultclock] of pyproject.toml)",
    )
    group.addoption(
        "--faultclock",
        action="store_true",
        help="Collect the configured scenarios too where files or folders are named.",
    )
    group.addoption(
        "--faultclock-scenario",
        action="append",
        dest="faultclock_scenarios",
        metavar="SCENARIO",
        help="Collect these instead of the configured ones: an id, a family, a pattern, a file or"
        " a folder, as `faultclock run` takes it. May be given again.",
    )
    group.addoption(
        "--faultclock-subject",
        metavar="ID|FILE.py:NAME",
        help="Code under test: a shipped subject, or yours as path/to/file.py:name.",
    )
    group.addoption("--faultclock-model", metavar="ID|FILE", help="Error model to judge by.")
    group.addoption(
        "--faultclock-seeds",
        type=_count,
        metavar="N",
        help="How many consecutive seeds of each scenario. The default is its own.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and add the configured scenarios to what is collected."""
    config.addinivalue_line("markers", _MARKER_HELP)
    setup = config.stash[SETUP] = Setup(config)
    if setup.asked or config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        _collect_project(config, setup)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the processes that ran scenarios."""
    if SETUP in config.stash:
        config.stash[SETUP].close()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say which configuration counts."""
    path = config.stash[SETUP].project_file
    if path is None:
        return None
    table = table_of(path) or {}
    said = [f"{key} {table[key]}" for key in ("subject", "model") if key in table]
    readings = table.get("readings")
    if isinstance(readings, dict):
        # They decide what is asked for, so that nobody has to look for them.
        said += [f"reading {name}={value}" for name, value in sorted(readings.items())]
    return f"faultclock: {', '.join(said) or 'no subject'} ({_shown(config, path)})"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect scenario files, and the pyproject.toml that names scenarios."""
    setup = parent.config.stash[SETUP]
    if file_path.name == FILE_NAME:
        table = table_of(file_path)
        is_ours = setup.asked and file_path == (setup.project_file or _root_file(parent.config))
        if is_ours or (table and _NAMING & table.keys()):
            return ProjectFile.from_parent(parent, path=file_path)
        if table == {} and parent.session.isinitpath(file_path):
            return ProjectFile.from_parent(parent, path=file_path)
        return None
    if not is_scenario_file(file_path):
        return None
    config_file = setup.config_file(file_path.parent)
    named = parent.session.isinitpath(file_path)
    if config_file is None and setup.subject is None and not named:
        setup.uncollected.append(_shown(parent.config, file_path))
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take out what is collected twice (as a file and by a folder), and skip what does not fit.

    Where nothing fits nothing is skipped, since a session of skipped items is green.
    """
    ours = [item for item in items if isinstance(item, ScenarioItem)]
    own = {item.identity for item in ours if isinstance(item.parent, ScenarioFile)}
    twice = {
        item for item in ours if item.identity in own and not isinstance(item.parent, ScenarioFile)
    }
    if twice:
        items[:] = [item for item in items if item not in twice]
    if not all(item.unfit for item in ours):
        for item in ours:
            if item.unfit:
                item.add_marker(pytest.mark.skip(reason=item.unfit))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Fail a test that passed although what it planned did not happen."""
    result = yield
    check_finished(item)
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell what is green and yet not all that one could wish."""
    warned = [
        report.nodeid
        for report in terminalreporter.stats.get("passed", ())
        if ("faultclock_verdict", "WARN") in map(tuple, getattr(report, "user_properties", ()))
    ]
    uncollected = config.stash[SETUP].uncollected
    if not (warned or uncollected):
        return
    terminalreporter.section("faultclock")
    for nodeid in warned:
        terminalreporter.line(
            harmless(f"{one_line(nodeid)} passes with a warning: a SHOULD does not hold (-rP)")
        )
    if uncollected:
        terminalreporter.line(
            f"not collected, because there is no [tool.faultclock] that names a subject:"
            f" {one_line(', '.join(uncollected))}"
        )


def _collect_project(config: pytest.Config, setup: Setup) -> None:
    """Add the project's file to the arguments, unless it is there."""
    path = setup.project_file
    if not setup.asked and not _NAMING & ((path and table_of(path)) or {}).keys():
        return
    path = path or _root_file(config)
    if not path.is_file():
        raise pytest.UsageError(
            f"faultclock: there is no {_shown(config, path)}, to which scenarios could belong"
        )
    if not any(arg.partition("::")[0] in (str(path), FILE_NAME) for arg in config.args):
        config.args.append(str(path))


def _root_file(config: pytest.Config) -> Path:
    return config.rootpath / FILE_NAME


def _shown(config: pytest.Config, path: Path) -> str:
    root = config.rootpath
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


def _count(text: str) -> int:
    import argparse

    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 100000")
    return value
