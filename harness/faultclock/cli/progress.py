"""A progress bar on a terminal, and a line now and then everywhere else.

The bar is drawn from the calling thread only: every run forks this process, and a drawing
thread that holds a lock at that moment would leave it held in the child for good.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from faultclock.cli.say import beside, say, screens
from faultclock.model.report.finding import RunReport
from faultclock.printable import one_line

#: Drawing costs about a millisecond, a run less: so not after every run.
_PERIOD_S = 0.08
#: Between two lines in the log of a build server: a command of seconds writes none.
_LINE_PERIOD_S = 30.0


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Callable[[RunReport], None]]:
    """Yield what to call after each run.

    Args:
        total: how many runs there will be.
        quiet: draw nothing, even on a terminal.
    """
    with bar(total, quiet=quiet) as advance:
        # How many runs a sweep makes is known only when its scenario has run.
        yield lambda run: advance(run.scenario, unplanned=int(run.crash_point is not None))


class Advance(Protocol):
    """Called after each run."""

    def __call__(self, doing: str, *, unplanned: int = 0) -> None:
        """Move on by one run.

        Args:
            doing: what was run.
            unplanned: how many more runs there will be than was said at first.
        """


@contextmanager
def bar(total: int | None, *, quiet: bool, doing: str = "running") -> Iterator[Advance]:
    """Yield what to call after each of `total` runs (None: their number is not known).

    Nothing is drawn if `quiet`.
    """
    if quiet:
        yield _undrawn
        return
    if not sys.stderr.isatty():
        yield _Lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(file=beside(sys.stderr)),
        redirect_stdout=sys.stdout.isatty(),
        auto_refresh=False,
        transient=True,
    )
    # While it is drawn, the bar takes what is printed and puts it above itself.
    with shown, screens():
        task = shown.add_task(doing, total=total)
        # A person who waits for the first one sees what for.
        shown.refresh()
        drawn_s = 0.0
        added = 0

        def advance(doing: str, *, unplanned: int = 0) -> None:
            nonlocal drawn_s, added
            added += unplanned
            planned = None if total is None else total + added
            shown.update(task, advance=1, total=planned, description=one_line(doing))
            now_s = time.monotonic()
            if now_s - drawn_s >= _PERIOD_S:
                drawn_s = now_s
                shown.refresh()

        yield advance


class _Lines:
    """Says in a line how far it is, where there is no terminal to draw on."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._done = 0
        self._said_s = time.monotonic()

    def __call__(self, doing: str, *, unplanned: int = 0) -> None:
        """Move on by one run."""
        self._done += 1
        if self._total is not None:
            self._total += unplanned
        now_s = time.monotonic()
        if now_s - self._said_s >= _LINE_PERIOD_S:
            self._said_s = now_s
            of = "" if self._total is None else f" of {self._total:,}"
            # Whoever reads the log may be gone, and the runs are worth more.
            with suppress(OSError):
                say(f"{self._done:,}{of}  {doing}", err=True)


def _undrawn(doing: str, *, unplanned: int = 0) -> None:
    """Draw nothing."""
