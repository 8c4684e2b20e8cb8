"""Where a run's reports and traces go: checked before the run, written whole after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from itertools import chain
from pathlib import Path
from typing import Self

from msgspec import Struct, field

from faultclock.cli.places import STDOUT, check_places
from faultclock.cli.report_options import FORMATS, ReportFormat
from faultclock.cli.say import machine
from faultclock.load.files import make_output_folder, read_text_there, write_text_atomically
from faultclock.load.trace_file import stem_of, write_trace
from faultclock.model.report.finding import Report
from faultclock.model.trace.trace import Trace

_STDOUT_FD, _STDERR_FD = 1, 2


class Outputs(Struct, frozen=True, kw_only=True):
    """The files that a run was asked for.

    Attributes:
        reports: file by format (see `report_options.FORMATS`); `-` is standard output.
        trace_dir: folder for the traces; None: they are not kept.
    """

    reports: Mapping[str, str] = field(default_factory=dict)
    trace_dir: str | None = None

    @property
    def takes_stdout(self) -> bool:
        """Whether a report goes to standard output, so that words for people must not."""
        return STDOUT in self.reports.values()

    @contextmanager
    def keeping_stdout(self) -> Iterator[None]:
        """Keep standard output for the report: what a subject prints goes to standard error.

        Descriptors are exchanged as well, for child processes and for code that writes to them.
        """
        if not self.takes_stdout:
            yield
            return
        sys.stdout.flush()
        kept = os.dup(_STDOUT_FD)
        os.dup2(_STDERR_FD, _STDOUT_FD)
        try:
            with redirect_stdout(sys.stderr):
                yield
        finally:
            os.dup2(kept, _STDOUT_FD)
            os.close(kept)

    def check(self) -> Self:
        """Make the folders, check that each file can be written, and return this.

        Raises:
            InputError: one cannot, or two outputs have one place.
        """
        check_places(self.reports.values(), "two reports")
        if self.trace_dir is not None:
            make_output_folder(self.trace_dir)
        return self

    def write(self, report: Report) -> tuple[str, ...]:
        """Write the reports, and return the paths of those that are files.

        Raises:
            InputError: one cannot be written.
        """
        written: list[str] = []
        for item in FORMATS:
            path = self.reports.get(item.option)
            if path is None:
                continue
            there = read_text_there(path) if _grows(item, path) else ""
            room = {}
            if item.bytes_max is not None:
                room["bytes_max"] = item.bytes_max - len(there.encode())
            text = item.function()(report, **room)
            # A text, or the pieces of one that may be larger than memory.
            pieces = (text,) if isinstance(text, str) else text
            if path == STDOUT:
                for piece in pieces:
                    machine(piece)
            else:
                write_text_atomically(path, chain((there,), pieces))
                written.append(path)
        return tuple(written)

    def trace_writer(self) -> Callable[[Trace], str | None] | None:
        """Return what stores a trace and gives its name relative to the report, or None."""
        folder = self.trace_dir
        if folder is None:
            return None
        files = (self.reports.get(item.option) for item in FORMATS)
        report = next((path for path in files if path not in (None, STDOUT)), None)
        start = Path(report).parent if report is not None else Path()

        def store(trace: Trace) -> str:
            path = Path(folder, f"{stem_of(trace)}.jsonl")
            make_output_folder(path.parent)
            write_trace(path, trace)
            return Path(os.path.relpath(path, start)).as_posix()

        return store


def _grows(item: ReportFormat, path: str) -> bool:
    return item.bytes_max is not None and path != STDOUT
