"""Compares two traces line by line, and says in words what the first difference is."""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from faultclock.model.trace.trace import Trace, header_line, trace_lines

#: Where a header has the digest of a subject's file, which says nothing to a person.
_SOURCE = "header.subject.source_digest"
#: What the two traces are called where nothing else is said.
RECORDED = ("recorded", "observed")


class ReplayResult(Struct, frozen=True, kw_only=True):
    """What a second run found.

    Attributes:
        identical: every line is the same, byte for byte.
        line_number: 1-based number of the first line that differs; None when identical. Line 1
            is the header: another version of Python, of the subject's libraries or of its file.
        recorded: that line as stored, or None where the stored trace is shorter.
        observed: that line as seen now, or None where this run is shorter.
        trace: the trace of this run.
    """

    identical: bool
    line_number: int | None
    recorded: str | None
    observed: str | None
    trace: Trace


def compare(recorded: Trace, observed: Trace) -> ReplayResult:
    """Return the first line in which two traces differ.

    A difference in the events is reported before one in the header: it is what a person looks
    for. The header's line is named when all events agree.
    """
    pairs = list(enumerate(zip_longest(trace_lines(recorded), trace_lines(observed)), start=1))
    differing = [(number, pair) for number, pair in pairs if pair[0] != pair[1]]
    if not differing:
        return ReplayResult(
            identical=True, line_number=None, recorded=None, observed=None, trace=observed
        )
    last = max(len(recorded.events), len(observed.events)) + 1
    events = [item for item in differing if 1 < item[0] <= last]
    number, (was, now) = (events or differing)[0]
    return ReplayResult(
        identical=False, line_number=number, recorded=was, observed=now, trace=observed
    )


def other_circumstances(recorded: Trace, observed: Trace) -> list[str]:
    """Return what the headers of two traces differ in: often the cause of all the rest."""
    was, now = (_flat(json.loads(header_line(trace.header))) for trace in (recorded, observed))
    told = []
    for key in sorted(was.keys() | now.keys()):
        before, after = was.get(key, "absent"), now.get(key, "absent")
        if before == after:
            continue
        if key == _SOURCE:
            told.append("the subject's file is not the one that was recorded")
        else:
            told.append(f"{key.removeprefix('header.')}: recorded {before}, observed {after}")
    return told


def differences(
    recorded: str | None, observed: str | None, *, called: tuple[str, str] = RECORDED
) -> list[str]:
    """Return the fields in which two trace lines differ, one text each.

    Args:
        called: what the two traces are called.
    """
    first, second = called
    if recorded is None or observed is None:
        only, line = (second, observed) if recorded is None else (first, recorded)
        return [f"only the {only} trace has it: {(line or '').rstrip()}"]
    event = json.loads(recorded)
    before, after = _flat(event), _flat(json.loads(observed))
    told = []
    if "kind" in event:
        told.append(f"event {event['seq']}: {event['actor']} {event['kind']}")
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, "absent"), after.get(key, "absent")
        if was != now:
            told.append(f"{key}: {first} {was}, {second} {now}")
    return told


def _flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Return the leaves of a JSON value by dotted path, as JSON texts."""
    if isinstance(value, dict) and value:
        pairs = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list) and value:
        pairs = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {prefix: json.dumps(value)}
    flat: dict[str, str] = {}
    for key, item in pairs:
        flat |= _flat(item, f"{prefix}.{key}" if prefix else key)
    return flat
