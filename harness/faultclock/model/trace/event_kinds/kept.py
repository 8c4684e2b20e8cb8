"""What is kept: the session store, the disk, the archive."""

from __future__ import annotations

from typing import NotRequired

from faultclock.model._base import Sha256
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import LIVED, EventKind, kind, typed
from faultclock.model.trace.event_shapes import (
    Count,
    Differing,
    Flag,
    MaybeSha,
    MaybeText,
    Number,
    Object,
    Pair,
    Text,
    list_of,
    maybe,
)

_OPERATION = {"op": Text, "operation": Text, "session": Text, "owner": MaybeText, **LIVED}


def _answered(event: EventFields) -> str:
    return f"{event.op} {event.operation}: {'done' if event.ok else typed(event)}"


def _disk_act(event: EventFields) -> str:
    where = event.file or "the folder"
    if event.to is not None:
        where += f" to {event.to}"
    size = "" if event.bytes_count is None else f", {event.bytes_count} bytes"
    failed = "" if event.ok else f": {event.error}"
    return f"{event.op} {event.act} {where}{size}{failed}"


def _disk_read(event: EventFields) -> str:
    return f"disk: opens {event.file} to read{'' if event.ok else f': {event.error}'}"


def _survived(event: EventFields) -> str:
    differing = [f"{item['file']} is {item['how']}" for item in event.differing or ()]
    return f"the disk has kept: {', '.join(differing) or 'everything'}"


KINDS: dict[str, EventKind] = {
    "store.asked": kind(
        "store",
        _OPERATION,
        {"revision_sha256": MaybeSha},
        text="{op} {operation} {session}",
        opens=("op",),
        named="operation",
    ),
    "store.durable": kind(
        "store",
        _OPERATION,
        {"torn": Flag, "revision_sha256": MaybeSha},
        text=lambda e: f"{e.op} is durable{', torn' if e.torn else ''}",
        part_of="store.asked",
    ),
    "store.answered": kind(
        "store",
        _OPERATION,
        {"ok": Flag, **Pair, "stale": Flag, "found": Flag},
        maybe({"revision_sha256": MaybeSha}),
        text=_answered,
        closes="store.asked",
        arrives=True,
    ),
    "store.edited": kind(
        "store",
        {"session": Text, "applied": Flag},
        LIVED,
        text="edit from outside: {session}",
        mark="fault",
    ),
    "disk.acted": kind(
        "disk",
        {"op": Text, "act": Text, "file": Text, "to": NotRequired[Text]},
        {"bytes_count": Count | None, "ok": Flag, "error": MaybeText},
        LIVED,
        text=_disk_act,
    ),
    "disk.read": kind(
        "disk", {"file": Text, "ok": Flag, "error": MaybeText}, LIVED, text=_disk_read
    ),
    "disk.survived": kind(
        "disk", {"leaves": Text, "differing": list_of(Differing), "life": Number}, text=_survived
    ),
    "disk.edited": kind(
        "disk", {"file": Text, "how": Text}, LIVED, text="change from outside: {file}: {how}"
    ),
    "archive.saved": kind(
        "archive",
        {"name": Text, "bytes_count": Count, "sha256": Sha256, "text": Text},
        {"json": Object | None},
        LIVED,
        text="{name} is kept: {bytes_count} bytes",
    ),
}
