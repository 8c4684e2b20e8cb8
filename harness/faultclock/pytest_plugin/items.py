"""Scenarios as test items: one for each scenario, or for each variant of one with a matrix.

An id is `FILE::family/slug[variant]`, where FILE is the scenario's own, or the pyproject.toml that
names it. It depends on nothing but the files, so every worker and every day has the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from faultclock.printable import harmless, one_line
from faultclock.pytest_plugin.bench.client import Bench, BenchRefusedError
from faultclock.pytest_plugin.bench.values import (
    SCENARIO_SUFFIXES,
    Ask,
    CheckBaseline,
    Collect,
    Collected,
    Ran,
    Run,
)
from faultclock.pytest_plugin.settings import SETUP, Setup, table_of

#: The mark of every item of ours.
MARKER = "faultclock"
BASELINE = "baseline"


def is_scenario_file(path: Path) -> bool:
    """Return whether a file is one of a person's own scenarios, by its name."""
    return path.name.endswith(SCENARIO_SUFFIXES)


class NotPassedError(Exception):
    """A scenario that does not pass.

    Args:
        headline: in one line.
        lines: what is shown of it.
    """

    def __init__(self, headline: str, lines: tuple[str, ...]) -> None:
        super().__init__(harmless("\n".join(lines) or headline))
        self.headline = one_line(headline)


class _Collector(pytest.File):
    """A file that scenarios belong to."""

    @property
    def setup_of_session(self) -> Setup:
        """What counts in this session."""
        return self.config.stash[SETUP]

    def bench(self) -> Bench:
        """Return the process that runs these scenarios."""
        setup = self.setup_of_session
        return setup.bench(self.config_file(setup))

    def config_file(self, setup: Setup) -> Path | None:
        """Return the file whose `[tool.faultclock]` counts."""
        return setup.config_file(self.path.parent)

    def asked(self, question: Ask) -> Any:
        """Return an answer of the bench.

        Raises:
            CollectError: there is none.
        """
        try:
            return self.bench().ask(question)
        except BenchRefusedError as error:
            raise self.CollectError(harmless(str(error))) from None

    def items_of(self, question: Collect) -> Iterator[pytest.Item]:
        """Yield an item for each scenario that is there."""
        for found in self.asked(question):
            yield ScenarioItem.from_parent(self, name=found.name, found=found)


class ScenarioFile(_Collector):
    """A scenario file of a person's own."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield its scenario, or the variants of it."""
        source = os.path.relpath(self.path)
        yield from self.items_of(Collect(selectors=(source,), alone=True))


class ProjectFile(_Collector):
    """A pyproject.toml that names scenarios, or a baseline."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the scenarios that the command line names, or else the file."""
        setup = self.setup_of_session
        table = table_of(self.path) or {}
        if setup.selectors or "scenarios" in table or not table:
            yield from self.items_of(Collect(selectors=setup.selectors))
        # As the bench has it: that of another subject says nothing of this one.
        same_subject = setup.subject is None or "subject" not in table
        if BASELINE in table and same_subject and setup.model is None:
            yield BaselineItem.from_parent(self, name=BASELINE)


class _Item(pytest.Item):
    """Something that the bench is asked for."""

    parent: _Collector

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.add_marker(MARKER)

    def told(self, question: Ask) -> None:
        """Ask, and let the answer be the outcome of this item."""
        # Our own frames are nobody's business.
        __tracebackhide__ = True
        bench = self.parent.bench()
        try:
            ran = bench.ask(question)
        except BenchRefusedError as error:
            text = str(error)
            raise NotPassedError(text.partition("\n")[0], (text,)) from None
        finally:
            if said := bench.said():
                self.add_report_section("call", "subject", harmless(said))
        assert isinstance(ran, Ran)
        self.user_properties.extend(ran.properties)
        text = harmless("\n".join(ran.lines))
        if ran.standing == "skipped":
            _skip(one_line(ran.headline))
        if ran.standing == "known":
            self.add_report_section("call", "faultclock", text)
            pytest.xfail(one_line(ran.headline))
        # With --runxfail, what is known fails like everything else.
        if ran.standing != "passed":
            self._fail(ran)
        if ran.lines:
            self.add_report_section("call", "faultclock", text)

    def _fail(self, ran: Ran) -> NoReturn:
        __tracebackhide__ = True
        raise NotPassedError(ran.headline, ran.lines)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the finding's card, and where it belongs; no stack of ours."""
        error = excinfo.value
        if not isinstance(error, NotPassedError):
            return super().repr_failure(excinfo, style)
        shown = excinfo.getrepr(style="value", chain=False)
        crash = getattr(shown, "reprcrash", None)
        if crash is not None:
            crash.path, crash.lineno, crash.message = str(self.path), 1, error.headline
        return shown

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the file, its first line (0-based), and what this is called."""
        return self.path, 0, self.name


def _skip(reason: str) -> NoReturn:
    __tracebackhide__ = True
    skipped = pytest.skip.Exception(reason)
    # It is told where the item is, as for a mark: where we raise it says nothing to anybody.
    skipped._use_item_location = True
    raise skipped


class ScenarioItem(_Item):
    """One scenario, with all its seeds.

    Attributes:
        identity: equal for the same scenario, however it was selected.
        unfit: why it cannot be run for this subject; empty where it can.
    """

    def __init__(self, *, found: Collected, **named: Any) -> None:
        super().__init__(**named)
        self._found = found
        self.identity = (found.file, found.variant)
        self.extra_keyword_matches.add(found.id)
        self.unfit = f"not for this subject: {found.unfit}" if found.unfit else ""

    def runtest(self) -> None:
        """Run it; one that does not fit comes here only if none does, and then nothing is shown."""
        __tracebackhide__ = True
        if self.unfit:
            raise NotPassedError(self.unfit, (self.unfit, "No scenario that was selected fits it."))
        self.told(Run(source=self._found.source, variant=self._found.variant))


class BaselineItem(_Item):
    """The entries of the baseline that are out of date, whatever else is run."""

    def runtest(self) -> None:
        """Look for them."""
        __tracebackhide__ = True
        self.told(CheckBaseline())
