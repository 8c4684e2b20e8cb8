"""`--show-output`: what the subject wrote in each run, on the terminal, right after the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from faultclock.cli.say import say

if TYPE_CHECKING:
    from faultclock.model.trace.trace import Trace

Store = Callable[["Trace"], str | None]

show_output_option = click.option(
    "--show-output",
    is_flag=True,
    help="Print what the subject logs, warns of and prints, after each run. It is kept beside the "
    "traces and in the reports in any case.",
)


def showing_output(store: Store | None) -> Store:
    """Return what stores a trace as `store` does, and prints the output that was noted of it."""

    def show(trace: Trace) -> str | None:
        from faultclock.model.cells import named
        from faultclock.render.notes_text import output_text
        from faultclock.render.wording import count

        header, notes = trace.header, trace.notes
        name = named(header.scenario.id, header.scenario.variant)
        lines = [output_text(line) for line in notes.output] if notes is not None else []
        if notes is not None and notes.output_cut:
            lines.append(f"{count(notes.output_cut, 'line')} left out")
        for line in lines:
            say(f"{name} seed {header.seed} | {line}")
        return None if store is None else store(trace)

    return show
