"""A progress bar on a terminal, and silence everywhere else.

The bar is drawn from the calling thread only: every run forks this process, and a drawing
thread that holds a lock at that moment would leave it held in the child for good.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from harness.model.finding import RunReport

__all__ = ["progress"]

#: Drawing costs about a millisecond, a run less: so not after every run.
_PERIOD_S = 0.08


@contextmanager
def progress(total: int, *, quiet: bool) -> Iterator[Callable[[RunReport], None]]:
    """Yield what to call after each run.

    Args:
        total: how many runs there will be.
        quiet: draw nothing, even on a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )
    with bar:
        task = bar.add_task("running", total=total)
        drawn_s = 0.0
        planned = total

        def advance(run: RunReport) -> None:
            nonlocal drawn_s, planned
            # How many runs a sweep makes is known only when its scenario has run.
            planned += run.crash_point is not None
            bar.update(task, advance=1, total=planned, description=run.scenario)
            now_s = time.monotonic()
            if now_s - drawn_s >= _PERIOD_S:
                drawn_s = now_s
                bar.refresh()

        yield advance
