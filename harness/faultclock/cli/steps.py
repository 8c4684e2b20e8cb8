"""One progress bar after the other, for work that has steps: drawn on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from faultclock.cli.progress import Advance, bar


@contextmanager
def steps(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield what to call with a step, how many of its runs are done, and of how many."""
    with ExitStack() as stack:
        current: list[tuple[str, Advance]] = []

        def on_progress(step: str, done: int, total: int) -> None:
            if not current or current[0][0] != step:
                stack.close()
                advance = stack.enter_context(bar(total, quiet=quiet, doing=step))
                current[:] = [(step, advance)]
            current[0][1](step, unplanned=0 if done <= total else 1)

        yield on_progress
