"""Where a run's reports and traces go: checked before the run, written whole after it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from itertools import chain
from pathlib import Path
from typing import IO, TypeVar

from msgspec import Struct, field

from faultclock.cli.report_options import FORMATS, ReportFormat
from faultclock.cli.say import machine
from faultclock.errors import InputError
from faultclock.load.files import (
    check_output_file,
    make_output_folder,
    read_text_there,
    write_text_atomically,
)
from faultclock.load.trace_file import write_trace
from faultclock.model.report.finding import Report
from faultclock.model.trace.trace import Trace

ValueT = TypeVar("ValueT")
_STDOUT = "-"
_STDOUT_FD, _STDERR_FD = 1, 2
#: What a variant may be called and a file should not.
_NO_NAME = re.compile(r"[^A-Za-z0-9=]+")


class Places(Struct, frozen=True):
    """Where each form of one result goes; `-` is standard output."""

    of: Mapping[str, str]

    @property
    def out(self) -> IO[str]:
        """Where words for people go beside them."""
        return sys.stderr if _STDOUT in self.of.values() else sys.stdout

    @property
    def files(self) -> list[str]:
        """Those that are files."""
        return [place for place in self.of.values() if place != _STDOUT]

    def write(self, value: ValueT, **forms: Callable[[ValueT], str]) -> None:
        """Write each form that was asked for; `forms` make them.

        Raises:
            InputError: one cannot be written.
        """
        for form, place in self.of.items():
            text = forms[form](value)
            if place == _STDOUT:
                machine(text)
            else:
                write_text_atomically(place, text)


def places_of(forms: Mapping[str, str | None]) -> Places:
    """Return where each form goes of those that were asked for, checked before anything runs.

    Raises:
        InputError: two forms have one place, or nothing can be written there.
    """
    places = {form: place for form, place in forms.items() if place}
    _check(places.values(), "JSON and HTML")
    return Places(places)


def _check(places: Collection[str], what: str) -> None:
    real = [place if place == _STDOUT else os.path.realpath(place) for place in places]
    if len(set(real)) != len(real):
        raise InputError(f"{what} would be written to one place: give each its own")
    for place in places:
        if place != _STDOUT:
            check_output_file(place)


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
        return _STDOUT in self.reports.values()

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

    def check(self) -> None:
        """Make the folders and check that each file can be written.

        Raises:
            InputError: one cannot, or two outputs have one place.
        """
        _check(self.reports.values(), "two reports")
        if self.trace_dir is not None:
            make_output_folder(self.trace_dir)

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
            if path == _STDOUT:
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
        report = next((path for path in files if path not in (None, _STDOUT)), None)
        start = Path(report).parent if report is not None else Path()

        def store(trace: Trace) -> str:
            header = trace.header
            name = header.scenario.id
            if header.scenario.variant is not None:
                name += "." + _NO_NAME.sub("-", header.scenario.variant)
            path = Path(folder, f"{name}.seed-{header.seed}.jsonl")
            make_output_folder(path.parent)
            write_trace(path, trace)
            return Path(os.path.relpath(path, start)).as_posix()

        return store


def _grows(item: ReportFormat, path: str) -> bool:
    return item.bytes_max is not None and path != _STDOUT
