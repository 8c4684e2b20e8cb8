"""Trace files: JSON Lines with a header, one line per event, and a footer; notes lie beside them.

A trace is evidence, so it is read strictly: cut off, changed, incomplete or newer than this
version means refused, with the line. Nothing is repaired.

What was noted of the run is no evidence and belongs to one machine's checkout. So it lies in a file
of its own, `NAME.notes.json` beside `NAME.jsonl`, which says which trace it is about.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from faultclock.errors import EventError
from faultclock.load.files import write_text_atomically
from faultclock.load.json_file import as_written, read_json
from faultclock.load.located.tree import Place, refused
from faultclock.load.yaml_file import read_bytes
from faultclock.model.trace.event_check import check_events
from faultclock.model.trace.events import INT_END
from faultclock.model.trace.notes import NotesFile
from faultclock.model.trace.trace import (
    FORMAT,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_lines,
)

#: The event limit of a scenario keeps traces well below this.
_BYTES_MAX = 1_000_000_000
_NOTES_BYTES_MAX = 50_000_000
_EVENT_TYPES = {"seq": int, "at_ns": int, "actor": str, "kind": str, "payload": dict}

#: What a variant may be called and a file should not.
_NO_NAME = re.compile(r"[^A-Za-z0-9=]+")

ModelT = TypeVar("ModelT", bound=BaseModel)


def stem_of(trace: Trace) -> str:
    """Return the name that a trace is stored under, with that of its family, without a suffix."""
    header = trace.header
    name = header.scenario.id
    if header.scenario.variant is not None:
        name += "." + _NO_NAME.sub("-", header.scenario.variant)
    return f"{name}.seed-{header.seed}"


def write_trace(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write a trace file, whole or not at all, and its notes beside it, where there are any.

    Raises:
        InputError: one of them cannot be written.
    """
    write_text_atomically(path, "".join(trace_lines(trace)))
    beside = notes_path(path)
    if trace.notes is not None and Path(path).is_file():
        file = NotesFile(trace=trace.footer.digest, notes=trace.notes)
        # As Python writes it: a subject's text may hold half of a surrogate pair.
        write_text_atomically(beside, json.dumps(file.model_dump(mode="json"), indent=1) + "\n")
    elif beside.is_file():
        # Of the trace that was there before.
        with suppress(OSError):
            beside.unlink()


def notes_path(path: str | os.PathLike[str]) -> Path:
    """Return where the notes of the trace at `path` are."""
    trace = Path(path)
    return trace.with_name(trace.name.removesuffix(".jsonl") + ".notes.json")


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace in the file at `path`, with the notes that lie beside it.

    Notes of another trace are left alone.

    Raises:
        InputError: the file cannot be read, or what lies beside it holds no notes.
        SourceError: it is not a whole, unchanged trace of a format that this version knows.
    """
    trace = parse_trace(read_bytes(path, bytes_max=_BYTES_MAX), os.fspath(path))
    beside = notes_path(path)
    if not beside.is_file():
        return trace
    value = read_json(beside, bytes_max=_NOTES_BYTES_MAX, hint="the trace can be read without it")
    file = as_written(value, NotesFile, "notes", beside)
    return replace(trace, notes=file.notes) if file.trace == trace.footer.digest else trace


def parse_trace(content: bytes, path: str) -> Trace:
    """Return the trace in `content`; `path` is for messages.

    Raises:
        SourceError: as `read_trace` does.
    """
    return _Reader(path, content).read()


class _Reader:
    """Reads the lines in order and stops at the first that is wrong."""

    def __init__(self, path: str, content: bytes) -> None:
        self._path = path
        self._lines = content.split(b"\n")
        # What stands after the last newline is a line that was cut off.
        self._rest = self._lines.pop()

    def read(self) -> Trace:
        if not self._lines and not self._rest:
            self._refuse(1, "the file is empty, not a trace")
        if not self._lines:
            self._object(1, self._rest)
            self._refuse_cut_off()
        header = self._header()
        last = len(self._lines)
        ending = self._object(last, self._lines[-1]) if last > 1 else {}
        if self._rest or "footer" not in ending:
            self._refuse_misplaced_footer()
            self._refuse_cut_off()
        events = tuple(self._events(last))
        footer = self._model(last, "footer", ending, TraceFooter)
        self._check_whole(footer, len(events), last)
        self._check_kinds(events)
        return Trace(header=header, events=events, footer=footer)

    def _header(self) -> TraceHeader:
        raw = self._object(1, self._lines[0])
        header = raw.get("header")
        if not isinstance(header, dict):
            hint = "the event log of another system is read by `faultclock judge --map`"
            self._refuse(1, "this is not a trace: its first line is not a header", hint)
        written = header.get("format")
        if isinstance(written, int) and written > FORMAT:
            self._refuse(
                1,
                f"this trace has format {written}, and this Faultclock reads up to {FORMAT}",
                "read it with the version that wrote it, or a later one",
            )
        return self._model(1, "header", raw, TraceHeader)

    def _events(self, last: int) -> list[TraceEvent]:
        events: list[TraceEvent] = []
        at_ns = 0
        for number in range(2, last):
            raw = self._object(number, self._lines[number - 1])
            if raw.keys() != _EVENT_TYPES.keys() or not all(
                type(raw[key]) is kind for key, kind in _EVENT_TYPES.items()
            ):
                if "footer" in raw:
                    self._refuse(number + 1, "lines follow the footer")
                self._refuse(number, "this line is not a trace event")
            if raw["seq"] != len(events) + 1:
                self._refuse(
                    number,
                    f"event {raw['seq']} stands where event {len(events) + 1} should be",
                    "lines are missing or out of order: the file was changed",
                )
            if raw["at_ns"] < at_ns:
                self._refuse(number, f"event {raw['seq']} is earlier than the one before it")
            if raw["at_ns"] >= INT_END:
                self._refuse(number, f"event {raw['seq']} is later than any run lasts")
            at_ns = raw["at_ns"]
            events.append(TraceEvent(raw["seq"], at_ns, raw["actor"], raw["kind"], raw["payload"]))
        return events

    def _check_whole(self, footer: TraceFooter, events: int, last: int) -> None:
        if footer.events != events:
            self._refuse(
                last,
                f"the footer counts {footer.events} events, and the file has {events}",
                "the file was changed after it was written",
            )
        digest = hashlib.sha256(b"".join(line + b"\n" for line in self._lines[:-1])).hexdigest()
        if digest != footer.digest:
            self._refuse(
                last,
                "the digest in the footer does not fit the lines above it",
                "the file was changed after it was written",
            )

    def _check_kinds(self, events: tuple[TraceEvent, ...]) -> None:
        try:
            check_events(events)
        except EventError as error:
            # The first line is the header.
            self._refuse(error.number + 1, str(error), "Faultclock records no such event")

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            value = _decode(line.decode("utf-8"))
        except json.JSONDecodeError as error:
            if number >= len(self._lines):
                self._refuse_cut_off()
            self._refuse(number, f"this line is not JSON: {error.msg}", column=error.colno)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else error
            self._refuse(number, f"this line is not JSON: {reason}")
        if not isinstance(value, dict):
            self._refuse(number, "this line is not a JSON object")
        return value

    def _model(self, number: int, key: str, raw: dict[str, Any], model: type[ModelT]) -> ModelT:
        try:
            if raw.keys() != {key}:
                self._refuse(number, f"the {key} line has other keys beside `{key}`")
            return model.model_validate_json(json.dumps(raw[key]), strict=True)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or key
            self._refuse(number, f"the {key} is not valid: {where}: {first['msg']}")

    def _refuse_misplaced_footer(self) -> None:
        for number in range(2, len(self._lines)):
            if self._lines[number - 1].startswith(b'{"footer":'):
                self._refuse(number + 1, "lines follow the footer")

    def _refuse_cut_off(self) -> NoReturn:
        self._refuse(
            len(self._lines) + bool(self._rest),
            "the trace was cut off: it has no footer",
            "its writer was stopped midway; run the scenario again",
        )

    def _refuse(
        self, line: int, message: str, hint: str | None = None, column: int = 1
    ) -> NoReturn:
        raise refused(Place(line, column), self._path, message, hint)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


#: One decoder for all lines: `json.loads` would build one for each.
_decode = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite).decode
