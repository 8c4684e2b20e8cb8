"""The event log of another system as a trace: JSON Lines and a map in, a Trace out.

Every line is read strictly. A line that cannot be read, an event without a name, a time that goes
backwards: each is reported with its place; nothing is made of the rest. What was never logged is
not made up: the trace says which kinds of facts it can show, and the oracle keeps to them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from faultclock.errors import SourceError
from faultclock.load.foreign.facts import NoDelayError, declared, end_of
from faultclock.load.foreign.lines import Line, lines_of
from faultclock.load.foreign.trace import foreign_header
from faultclock.load.foreign.values import ABSENT, at, instant_ns, label
from faultclock.load.located.tree import Place, refused
from faultclock.load.yaml_file import read_bytes
from faultclock.model.foreign_map import ForeignEvent, ForeignMap
from faultclock.model.trace.trace import EndingReason, Trace, TraceEvent

#: A day of a busy production log.
_BYTES_MAX = 200_000_000
_ENDS = ("returned", "raised")
#: How many runs that are not whole are named.
_NAMED_MAX = 5


def read_foreign_log(
    path: str | os.PathLike[str], map_: ForeignMap, *, complete: bool = False
) -> Trace:
    """Return the log in the file at `path` as a trace; see `foreign_trace`.

    Raises:
        InputError: the file cannot be read.
        SourceError: a line of it cannot; with its place.
    """
    content = read_bytes(path, bytes_max=_BYTES_MAX)
    return foreign_trace(content, os.fspath(path), map_, complete=complete)


def foreign_trace(content: bytes, path: str, map_: ForeignMap, *, complete: bool = False) -> Trace:
    """Return the log in `content` as a trace; `path` is for messages.

    A run that begins before the log does, or that has not ended where the log ends, may have been
    cut off: then the trace says so, and proves nothing. With `complete` a person vouches that
    nothing is missing, and that a run has no beginning or no end is for the rules to judge.

    Raises:
        SourceError: with the first problem.
    """
    reader = _Reader(map_, path)
    for line in lines_of(content, path):
        reader.read(line)
    reader.check()
    return reader.trace(hashlib.sha256(content).hexdigest(), complete=complete)


class _Run(Struct, kw_only=True):
    """One run of the log."""

    id: str
    call: str
    copy: int
    ended: bool = False
    #: Whether something happened in it before the event that begins one.
    headless: bool = False


class _Reader(Struct):
    """The lines of a log, as they become events."""

    map: ForeignMap
    path: str
    lines: int = 0
    events: list[TraceEvent] = field(default_factory=list)
    #: By the id that the log gives them: the latest of that id, and those before it.
    runs: dict[str, _Run] = field(default_factory=dict)
    earlier: list[_Run] = field(default_factory=list)
    #: What the log calls a run to what we call it: ids that differ stay apart when a secret or an
    #: endless text has been taken out of them.
    labels: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    records: set[str] = field(default_factory=set)
    first_ns: int | None = None
    at_ns: int = 0
    line: int = 0

    def read(self, line: Line) -> None:
        """Take in one line."""
        name = at(line.data, self.map.name)
        if not isinstance(name, str) or not name:
            message = f"the event has no name at `{self.map.name}`"
            raise self.refused(line, message, "is this the log that the map is for?")
        self.lines += 1
        self.line = line.number
        if name in self.map.skip:
            return
        self._advance(line)
        entry = self._entry(name, line.data)
        run = self._run(line, name, entry)
        self._record(line, name, entry, run)
        if run is not None and entry.call in _ENDS and not run.ended:
            # A second end is the log's affair: the event is there for the rules to see.
            run.ended = True
            kind, payload = end_of(line.data, entry)
            self._add("harness", kind, run, payload)

    def check(self) -> None:
        """Refuse a log in which there was nothing to read.

        Raises:
            SourceError: it has no event, or none that belongs to a run.
        """
        if not self.lines:
            raise refused(Place(1, 1), self.path, "the log holds no event", "give its whole file")
        if not self.runs:
            fields = " or ".join(f"`{item}`" for item in self.map.run_fields)
            message = f"no event says which run it belongs to: none has {fields or 'a name'}"
            raise refused(Place(1, 1), self.path, message, "correct `run` or `skip` of the map")

    def refused(self, line: Line, message: str, hint: str) -> SourceError:
        """Return what says that an event cannot be read."""
        column = len(line.text) - len(line.text.lstrip()) + 1
        return refused(Place(line.number, column), self.path, message, hint)

    def _advance(self, line: Line) -> None:
        if self.map.time is None:
            return
        stamp = at(line.data, self.map.time.field)
        at_ns = instant_ns(stamp, self.map.time.unit)
        if at_ns is None:
            missing = stamp is ABSENT
            said = "is missing" if missing else f"is not a time in {self.map.time.unit}"
            hint = "correct the map's `time`, or leave it out"
            if self.map.time.unit == "iso8601" and not missing:
                hint = "write it as 2026-11-21T09:30:00.125Z, with its zone, or correct the map"
            raise self.refused(line, f"`{self.map.time.field}` {said}", hint)
        if self.first_ns is None:
            self.first_ns = at_ns
        if self.map.time.restarts and at_ns - self.first_ns < self.at_ns:
            self.first_ns = at_ns - self.at_ns
        if at_ns - self.first_ns < self.at_ns:
            message = "this event is earlier than the one before it"
            hint = "a log is in the order in which it was written: sort it by its sequence"
            raise self.refused(line, message, hint)
        self.at_ns = at_ns - self.first_ns

    def _entry(self, name: str, data: Mapping[str, Any]) -> ForeignEvent:
        found = self.map.events.get(name, _AS_IT_IS)
        for entry in found if isinstance(found, tuple) else (found,):
            if all(_is_one(at(data, path), wanted) for path, wanted in entry.where.items()):
                return entry
        return _AS_IT_IS

    def _run(self, line: Line, name: str, entry: ForeignEvent) -> _Run | None:
        id_ = self._run_id(line, name, entry)
        if id_ is None:
            return None
        run = self.runs.get(id_)
        if run is not None and run.ended and entry.call == "begins" and self.map.repeats:
            self.earlier.append(run)
            return self._begin(id_, run.copy + 1)
        if run is None:
            run = self._begin(id_, 1)
            run.headless = entry.call != "begins" and bool(self.map.begins)
        return run

    def _run_id(self, line: Line, name: str, entry: ForeignEvent) -> str | None:
        if not self.map.run_fields:
            return "1"
        for path in self.map.run_fields:
            found = at(line.data, path)
            if found is ABSENT or found is None:
                continue
            if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
                raise self.refused(line, f"`{path}` is not the id of a run", "an id is a text")
            return self._label(str(found))
        if entry.call:
            fields = " or ".join(f"`{item}`" for item in self.map.run_fields)
            does = "begins" if entry.call == "begins" else "ends"
            message = f"'{label(name)}' {does} a run, and the event does not say which"
            raise self.refused(line, message, f"it has no {fields}")
        return None

    def _label(self, id_: str) -> str:
        if id_ not in self.labels:
            short = shown = label(id_)
            while shown in self.runs:
                shown = f"{short}~{len(self.labels) + 1}"
            self.labels[id_] = shown
        return self.labels[id_]

    def _begin(self, id_: str, copy: int) -> _Run:
        call = f"run/{id_}" if copy == 1 else f"run/{id_}.{copy}"
        self.runs[id_] = run = _Run(id=id_, call=call, copy=copy)
        started = {"task": "log", "copy": len(self.runs) + len(self.earlier), "do": "turn"}
        self._add("harness", "call.started", run, started)
        return run

    def _record(self, line: Line, name: str, entry: ForeignEvent, run: _Run | None) -> None:
        said = label(entry.name or name)
        (self.records if entry.audited else self.names).add(said)
        try:
            for kind, payload in declared(self.map, line.data, name, entry):
                self._add("subject", kind, run, payload)
        except NoDelayError as error:
            message = f"`{error}` is not a duration"
            raise self.refused(line, message, "correct `retry` of the map") from None

    def _add(self, actor: str, kind: str, run: _Run | None, payload: dict[str, Any]) -> None:
        whose: dict[str, str | None] = {"call": None, "log_run": None}
        if run is not None:
            whose = {"call": run.call, "log_run": run.id}
        event = TraceEvent(
            len(self.events) + 1,
            self.at_ns,
            actor,
            kind,
            {**whose, "line": self.line, "life": 1, **payload},
        )
        self.events.append(event)

    def trace(self, log_sha256: str, *, complete: bool) -> Trace:
        """Return the trace of all lines."""
        header = foreign_header(
            self.map,
            log_sha256=log_sha256,
            lines=self.lines,
            names=self.names,
            records=self.records,
            complete=complete,
        )
        cut = () if complete else tuple(self._cut())
        ending: EndingReason = "log_cut" if cut else "completed"
        return Trace.sealed(
            header,
            tuple(self.events),
            ended_at_ns=self.at_ns,
            ending=ending,
            detail=(*cut[:_NAMED_MAX], *((f"{len(cut)} in all",) if len(cut) > _NAMED_MAX else ())),
        )

    def _cut(self) -> list[str]:
        """Return in words the runs that may have been cut off."""
        runs = (*self.earlier, *self.runs.values())
        begins, ends = (" or ".join(names) for names in (self.map.begins, self.map.ends))
        said = [f"{run.call} has no {begins} at its beginning" for run in runs if run.headless]
        return said + [f"{run.call} never comes to {ends}" for run in runs if not run.ended]


#: What an event is of which the map says nothing.
_AS_IT_IS = ForeignEvent()


def _is_one(found: Any, wanted: Any) -> bool:
    choices = wanted if isinstance(wanted, tuple) else (wanted,)
    if found is ABSENT:
        return None in choices
    return any(
        found == choice and isinstance(found, bool) == isinstance(choice, bool)
        for choice in choices
    )
