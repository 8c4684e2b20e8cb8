"""The event log of another system as a trace: JSON Lines and a map in, a Trace out.

Every line is read strictly. A line that cannot be read, an event without a name, a time that goes
backwards: each is told with its place, and nothing is made of the rest. What was never logged is
not made up: the trace says which kinds of facts it can show, and the oracle keeps to them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from harness.errors import Problem, SourceError, UnknownNameError
from harness.load.resources import foreign_maps_root
from harness.load.yaml_file import load_yaml, read_bytes
from harness.model.foreign_map import ForeignEvent, ForeignLog, ForeignMap
from harness.model.scenario import Scenario, Task, scenario_digest
from harness.model.secrets import without_secrets
from harness.model.trace import (
    EndingReason,
    SubjectInfo,
    Trace,
    TraceEvent,
    TraceFooter,
    TraceHeader,
    trace_digest,
)

__all__ = ["foreign_map_ids", "foreign_trace", "load_foreign_map", "read_foreign_log"]

#: A day of a busy production log.
_BYTES_MAX = 200_000_000
_UNIT_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_TEXT_MAX = 4_000
_ABSENT: Any = object()


def foreign_map_ids() -> tuple[str, ...]:
    """Return the ids of the shipped maps, sorted."""
    return tuple(sorted(path.stem for path in foreign_maps_root().glob("*.yaml")))


def load_foreign_map(id_or_path: str) -> ForeignMap:
    """Return a shipped map by its id, or the one in a file.

    Raises:
        UnknownNameError: there is no such map.
        InputError: the file cannot be read, or holds no map; with every problem in it.
    """
    if id_or_path in foreign_map_ids():
        return load_yaml(foreign_maps_root() / f"{id_or_path}.yaml", ForeignMap)
    if not (id_or_path.endswith((".yaml", ".yml")) or Path(id_or_path).is_file()):
        raise UnknownNameError("map", id_or_path, foreign_map_ids())
    return load_yaml(id_or_path, ForeignMap)


def read_foreign_log(path: str | os.PathLike[str], map_: ForeignMap) -> Trace:
    """Return the log in the file at `path` as a trace.

    Raises:
        InputError: the file cannot be read.
        SourceError: a line of it cannot; with its place.
    """
    return foreign_trace(read_bytes(path, bytes_max=_BYTES_MAX), os.fspath(path), map_)


def foreign_trace(content: bytes, path: str, map_: ForeignMap) -> Trace:
    """Return the log in `content` as a trace; `path` is for messages.

    A log in which a run begins and never ends, or no run ends at all, was cut: the trace says so,
    and proves nothing. A log whose runs end without a word is for its own model to judge, which
    needs the end of the process; it is to be closed with an event that `map_` names.

    Raises:
        SourceError: with the first problem.
    """
    reader = _Reader(map_, path)
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), start=1):
        if line.strip():
            reader.read(line, number)
    if not reader.lines:
        raise reader.refused(1, "the log holds no event", "give its whole file")
    return reader.trace(hashlib.sha256(content).hexdigest())


@dataclass(slots=True)
class _Reader:
    """The lines of a log, as they become events."""

    map: ForeignMap
    path: str
    lines: int = 0
    events: list[TraceEvent] = field(default_factory=list)
    #: The runs that have begun and not ended, in order, and all that have ended.
    open: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    first_ns: int | None = None
    at_ns: int = 0

    def read(self, text: str, number: int) -> None:
        """Take in one line."""
        line = self._parsed(text, number)
        name = _at(line, self.map.name)
        if not isinstance(name, str):
            message = f"the event has no name at `{self.map.name}`"
            raise self.refused(number, message, "is this the log that the map is for?")
        self.lines += 1
        if name in self.map.skip:
            return
        self._advance(line, number)
        entry = self._entry(name, line)
        call = self._call(line)
        if entry.call == "begins" or (call not in self.open and call not in self.ended):
            self._begin(call)
        self._tell(entry, line, call)
        self._record("event" if not entry.audited else "audit_event", call, self._said(entry, line))
        if entry.call in ("returned", "raised"):
            self._end(entry, line, call)

    def _parsed(self, text: str, number: int) -> Mapping[str, Any]:
        try:
            line = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            hint = "a log has one JSON object in each line"
            column = getattr(error, "colno", 1)
            raise self.refused(number, "this line is not JSON", hint, column=column) from None
        if not isinstance(line, dict):
            raise self.refused(number, "this line is no JSON object", "an event is one")
        return line

    def _advance(self, line: Mapping[str, Any], number: int) -> None:
        if self.map.time is None:
            return
        stamp = _at(line, self.map.time.field)
        at_ns = _instant_ns(stamp, self.map.time.unit)
        if at_ns is None:
            message = f"`{self.map.time.field}` is no time in {self.map.time.unit}"
            raise self.refused(number, message, "correct the map's `time`, or leave it out")
        if self.first_ns is None:
            self.first_ns = at_ns
        if at_ns - self.first_ns < self.at_ns:
            message = "this event is earlier than the one before it"
            hint = "a log is in the order in which it was written: sort it by its sequence"
            raise self.refused(number, message, hint)
        self.at_ns = at_ns - self.first_ns

    def refused(self, line: int, message: str, hint: str, *, column: int = 1) -> SourceError:
        """Return what says that a line (1-based) cannot be read."""
        problem = Problem(path=self.path, line=line, column=column, message=message, hint=hint)
        return SourceError((problem,))

    def _entry(self, name: str, line: Mapping[str, Any]) -> ForeignEvent:
        found = self.map.events.get(name, ForeignEvent())
        for entry in found if isinstance(found, tuple) else (found,):
            if all(_is_one(_at(line, path), wanted) for path, wanted in entry.where.items()):
                return entry if entry.name is not None else entry.model_copy(update={"name": name})
        return ForeignEvent(name=name)

    def _call(self, line: Mapping[str, Any]) -> str:
        run = _ABSENT if self.map.run is None else _at(line, self.map.run)
        return "run/1" if run is _ABSENT or run is None else f"run/{_scrubbed(run)}"

    def _begin(self, call: str) -> None:
        self.open[call] = len(self.events)
        self._add("harness", "call.started", call, {"task": "log", "copy": 1, "do": "turn"})

    def _end(self, entry: ForeignEvent, line: Mapping[str, Any], call: str) -> None:
        if self.open.pop(call, None) is None:
            # A second end is the log's affair: the event is there for the rules to see.
            return
        self.ended.add(call)
        if entry.call == "returned":
            self._add("harness", "call.returned", call, {"text": None, "tool_calls": []})
            return
        link = self._error(entry, line)
        chain = [{"type": "error", "link": "outer", **link}]
        self._add("harness", "call.raised", call, {"chain": chain})

    def _error(self, entry: ForeignEvent, line: Mapping[str, Any]) -> dict[str, Any]:
        error = entry.error
        values = {} if error is None else {name: getattr(error, name) for name in _ERROR_FIELDS}
        found = {name: _value(line, path) for name, path in values.items()}
        return {
            "class": _text(found.get("error_class")),
            "code": _text(found.get("code")),
            "message": _text(found.get("message")) or "",
        }

    def _said(self, entry: ForeignEvent, line: Mapping[str, Any]) -> dict[str, Any]:
        fields = {str(name): value for name, value in line.items()}
        fields |= {name: _value(line, path) for name, path in entry.fields.items()}
        return {"name": entry.name, "fields": _scrubbed(fields)}

    def _tell(self, entry: ForeignEvent, line: Mapping[str, Any], call: str) -> None:
        for audience, path in entry.tells.items():
            told = _scrubbed(_value(line, path))
            if told is not None:
                key = "shape" if audience == "model" else "message"
                message = told if audience == "model" and isinstance(told, dict) else str(told)
                self._record(f"{audience}_message", call, {key: message})
        if entry.error is not None:
            record = {**self._error(entry, line), "context": {}}
            message = record.pop("message")
            record["context"] = {"message": _scrubbed(message)}
            attempt = _value(line, entry.error.attempt)
            record["attempt"] = int(attempt) if isinstance(attempt, (int, Decimal)) else None
            self._record("audit", call, {"record": record})
        if entry.retry is not None:
            self._record("retry", call, self._retry(entry, line))

    def _retry(self, entry: ForeignEvent, line: Mapping[str, Any]) -> dict[str, Any]:
        retry = entry.retry
        assert retry is not None
        delay = _value(line, retry.delay)
        number = _value(line, retry.retry_number)
        return {
            "class": _text(_value(line, retry.error_class)),
            "code": _text(_value(line, retry.code)),
            "retry_number": int(number) if _is_number(number) else None,
            "delay_ns": int(Decimal(delay) * _UNIT_NS[retry.unit]) if _is_number(delay) else None,
        }

    def _record(self, what: str, call: str, payload: dict[str, Any]) -> None:
        self._add("subject", f"declared.{what}", call, payload)

    def _add(self, actor: str, kind: str, call: str, payload: dict[str, Any]) -> None:
        event = TraceEvent(
            len(self.events) + 1, self.at_ns, actor, kind, {"call": call, "life": 1, **payload}
        )
        self.events.append(event)

    def trace(self, log_sha256: str) -> Trace:
        """Return the trace of all lines."""
        scenario = Scenario(
            id=f"foreign/{self.map.id}",
            title=self.map.title,
            why="It was recorded elsewhere, and is judged here.",
            role="runtime",
            tasks=(Task(id="log", copies=max(1, len(self.open) + len(self.ended))),),
        )
        header = TraceHeader(
            scenario=scenario,
            scenario_digest=scenario_digest(scenario),
            subject=SubjectInfo(
                id=self.map.id, role="runtime", style="async", declares=_declares(self.map)
            ),
            seed=0,
            foreign=ForeignLog(
                map=self.map.id,
                log_sha256=log_sha256,
                lines=self.lines,
                kinds=_kinds(self.map),
                timed=self.map.time is not None,
            ),
        )
        events = tuple(self.events)
        ending: EndingReason = "log_cut" if self.open or not self.ended else "completed"
        ends = " or ".join(self.map.ends)
        detail = tuple(f"{call} never comes to {ends}" for call in self.open)
        footer = TraceFooter(
            events=len(events),
            ended_at_ns=self.at_ns,
            ending=ending,
            detail=detail[:5],
            digest=trace_digest(header, events),
        )
        return Trace(header=header, events=events, footer=footer)


_ERROR_FIELDS = ("error_class", "code", "message")


def _kinds(map_: ForeignMap) -> tuple[str, ...]:
    entries = [entry for _, entry in map_.entries()]
    kinds = {"call.started", "call.returned", "call.raised", "call.crashed", "declared.event"}
    kinds |= {f"declared.{audience}_message" for entry in entries for audience in entry.tells}
    kinds |= {"declared.audit" for entry in entries if entry.error is not None}
    kinds |= {"declared.audit_event" for entry in entries if entry.audited}
    kinds |= {"declared.retry" for entry in entries if entry.retry is not None}
    return tuple(sorted(kinds))


def _declares(map_: ForeignMap) -> tuple[str, ...]:
    names = {"declared.audit": "audit", "declared.audit_event": "audit"}
    names |= {f"declared.{name}_message": name for name in ("user", "model", "operator")}
    shown = {names[kind] for kind in _kinds(map_) if kind in names}
    return tuple(sorted({"events", "errors", *shown}))


def _at(line: Any, path: str) -> Any:
    """Return what stands at a dotted path, or _ABSENT."""
    value = line
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else _ABSENT
        else:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _value(line: Mapping[str, Any], path: str | None) -> Any:
    if path is None:
        return None
    if path.startswith("="):
        return path[1:]
    found = _at(line, path)
    return None if found is _ABSENT else found


def _is_one(value: Any, wanted: Any) -> bool:
    choices = wanted if isinstance(wanted, tuple) else (wanted,)
    if value is _ABSENT:
        return None in choices
    return any(
        value == choice and isinstance(value, bool) == isinstance(choice, bool)
        for choice in choices
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _instant_ns(stamp: Any, unit: str) -> int | None:
    if unit == "iso8601":
        try:
            moment = datetime.fromisoformat(stamp)
        except (TypeError, ValueError):
            return None
        if moment.tzinfo is None:
            return None
        # A float of seconds would lose the microseconds.
        whole = int(moment.replace(microsecond=0).timestamp())
        return whole * 1_000_000_000 + moment.microsecond * 1_000
    return int(Decimal(stamp) * _UNIT_NS[unit]) if _is_number(stamp) else None


def _scrubbed(value: Any) -> Any:
    """Return JSON data without secrets; a fraction becomes its text, as in every trace.

    Paths stay: whether they were told to somebody is what the audience checks look for.
    """
    if isinstance(value, Mapping):
        return {str(name): _scrubbed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_scrubbed(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    return without_secrets(value)[:_TEXT_MAX] if isinstance(value, str) else value
