"""Trace files: JSON Lines with a header, one line per event, and a footer.

A trace is evidence, so it is read strictly: cut off, changed, incomplete or newer than this
version means refused, with the line. Nothing is repaired.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from harness.errors import Problem, SourceError
from harness.load.files import write_text_atomically
from harness.load.yaml_file import read_bytes
from harness.model.trace import (
    FORMAT,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_lines,
)

__all__ = ["parse_trace", "read_trace", "write_trace"]

#: The event limit of a scenario keeps traces well below this.
_BYTES_MAX = 1_000_000_000
_EVENT_TYPES = {"seq": int, "at_ns": int, "actor": str, "kind": str, "payload": dict}

ModelT = TypeVar("ModelT", bound=BaseModel)


def write_trace(path: str | os.PathLike[str], trace: Trace) -> None:
    """Write a trace file, whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    write_text_atomically(path, "".join(trace_lines(trace)))


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace in the file at `path`.

    Raises:
        InputError: the file cannot be read.
        SourceError: it is not a whole, unchanged trace of a format that this version knows.
    """
    return parse_trace(read_bytes(path, bytes_max=_BYTES_MAX), os.fspath(path))


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
        return Trace(header=header, events=events, footer=footer)

    def _header(self) -> TraceHeader:
        raw = self._object(1, self._lines[0])
        header = raw.get("header")
        if not isinstance(header, dict):
            hint = "the event log of another system is read by `faultclock judge --map`"
            self._refuse(1, "this is not a trace: its first line is no header", hint)
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
                self._refuse(number, "this line is no trace event")
            if raw["seq"] != len(events) + 1:
                self._refuse(
                    number,
                    f"event {raw['seq']} stands where event {len(events) + 1} should be",
                    "lines are missing or out of order: the file was changed",
                )
            if raw["at_ns"] < at_ns:
                self._refuse(number, f"event {raw['seq']} is earlier than the one before it")
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

    def _object(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            value = json.loads(line.decode("utf-8"), parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            if number >= len(self._lines):
                self._refuse_cut_off()
            self._refuse(number, f"this line is not JSON: {error.msg}", column=error.colno)
        except (ValueError, RecursionError) as error:
            reason = "nested too deep" if isinstance(error, RecursionError) else error
            self._refuse(number, f"this line is not JSON: {reason}")
        if not isinstance(value, dict):
            self._refuse(number, "this line is no JSON object")
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
            "whoever wrote it was ended midway; run the scenario again",
        )

    def _refuse(
        self, line: int, message: str, hint: str | None = None, column: int = 1
    ) -> NoReturn:
        problem = Problem(path=self._path, line=line, column=column, message=message, hint=hint)
        raise SourceError((problem,))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
