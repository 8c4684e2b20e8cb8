"""What a session store is asked, and what is written down of it: values in, digests out.

The oracle compares what was read with what was written, so both are recorded as digests of their
canonical JSON; the values themselves only where they are short.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from faultclock.run.agenda import Call
from faultclock.run.host import plain
from faultclock.subjects.ports import Slot

#: Operation to the method that it asks for; `start` and `restart` are the driver's own.
METHODS = frozenset(
    {
        "read",
        "write",
        "append",
        "read_journal",
        "read_slot",
        "write_slot",
        "list_sessions",
        "close",
    }
)
#: Longest JSON text of a value that is kept whole, in characters.
_SHOWN_MAX = 2_000


def call_method(store: Any, call: Call, store_id: str) -> Any:
    """Call the method that `call` is about, with values of its own."""
    session, owner = call.arguments.session, call.arguments.owner
    method = getattr(store, call.do)
    if call.do in ("list_sessions", "close"):
        return method()
    if call.do in ("read", "read_journal"):
        return method(session)
    if call.do == "read_slot":
        return method(session, owner)
    value = _given(call, store_id)
    if call.do == "write_slot":
        return method(session, owner, Slot(version=value["version"], data=value["data"]))
    return method(session, value)


def describe_asked(call: Call, store_id: str) -> dict[str, Any]:
    """Return what `call.started` says of a call."""
    if call.do not in METHODS or call.do in ("list_sessions", "close"):
        return {}
    described: dict[str, Any] = {"session": call.arguments.session}
    if call.arguments.owner is not None:
        described["owner"] = call.arguments.owner
    if call.do in ("write", "append", "write_slot"):
        described.update(_described(_given(call, store_id)))
    return described


def describe_returned(call: Call, value: Any) -> dict[str, Any]:
    """Return what `call.returned` says of what a store returned."""
    nothing: dict[str, Any] = {"text": None, "text_sha256": None, "tool_calls": []}
    try:
        return nothing | _returned(call.do, value)
    except Exception as error:  # noqa: BLE001 - what a subject hands over may raise anything
        return nothing | {"found": True, "value_sha256": None, "problem": type(error).__name__}


def _given(call: Call, store_id: str) -> dict[str, Any]:
    arguments = call.arguments
    if call.do == "append":
        entry = arguments.entry
        return {"kind": "turn_started", "turn": entry} if isinstance(entry, int) else _copy(entry)
    if call.do == "write_slot":
        return {"version": arguments.version, "data": _copy(arguments.data)}
    if arguments.manifest is not None:
        return dict(_copy(arguments.manifest))
    number = arguments.revision
    manifest: dict[str, Any] = {
        "sessionId": arguments.session,
        "storeId": store_id,
        "mode": "ask",
        "messages": [{"role": "user", "content": f"message {number}"}],
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": f"2026-01-01T00:{(number or 0) // 60 % 60:02}:{(number or 0) % 60:02}Z",
    }
    if arguments.pad_bytes:
        manifest["messages"].append({"role": "assistant", "content": "x" * arguments.pad_bytes})
    return manifest


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _returned(do: str, value: Any) -> dict[str, Any]:
    if do == "read":
        return {"found": value is not None, **_described(value)}
    if do == "read_slot":
        if isinstance(value, Mapping):
            value = Slot(version=value["version"], data=value["data"])
        shown = None if value is None else {"version": value.version, "data": dict(value.data)}
        return {"found": shown is not None, **_described(shown)}
    if do == "read_journal":
        entries = [] if value is None else list(value)
        return {"entries": [_digest(entry) for entry in entries], **_described(entries)}
    if do == "list_sessions":
        return {"sessions": sorted(plain(str(item)) for item in (value or ()))}
    return {}


def _described(value: Any) -> dict[str, Any]:
    text = _canonical(value)
    described: dict[str, Any] = {"value_sha256": _digest(value)}
    if len(text) <= _SHOWN_MAX:
        described["value"] = plain(value)
    return described


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_as_mapping)


def _as_mapping(value: Any) -> Any:
    # Frozen mappings and the like are as good as dictionaries.
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
