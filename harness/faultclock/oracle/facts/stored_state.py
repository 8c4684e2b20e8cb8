"""How a life found its session: what lay in the store, and which call opened it or refused to.

That call is the start, for a runtime that has one. One without it, or one that opens lazily, may
refuse in its first turn instead, as long as it has asked the model nothing. The content of what a
subject writes is not in a trace, only its digest. What a check needs of it is known all the same:
which store wrote it, which keys it has, which versions the slots have.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.turn_rules import ResumeCondition
from faultclock.model.scenario.session_script import ExtensionScript
from faultclock.model.scenario.store_script import StoreEdit
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.facts.turn_facts import Life
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.grouping import instructions_in

#: Operations of a session store that change it.
_WRITES = ("write", "append", "write_slot")


class Stored(Struct, kw_only=True):
    """What is stored.

    Attributes:
        manifest: keys and values, `torn` for half a text, None for no session. What a subject
            wrote has the keys that the model allows, and stands for its own store.
        edited_messages: whether the history was changed from outside.
        edit: the history after that change, below `messages`; None where it is not known.
        slots: owner to the version that it was stored with.
    """

    manifest: dict[str, Any] | Literal["torn"] | None
    edited_messages: bool = False
    edit: dict[str, Any] | None = None
    slots: dict[str, int | None] = field(default_factory=dict)


# ---------------------------------------------------------------------- the opening


def call_of(history: History, do: str, life: int) -> Call | None:
    """Return the first call of a life for something, None for none."""
    return next((call for call in history.calls if call.do == do and call.life == life), None)


def first_turn(history: History, life: int) -> Call | None:
    """Return the first turn of a life, None when there was none."""
    return next((call for call in history.calls if call.is_turn and call.life == life), None)


def first_request(history: History, *, life: int) -> TraceEvent | None:
    """Return the first request that reached the provider in a life, None when none did.

    Of the conversation that its turn returned: a guardrail or a planner has one of its own.
    """
    for call in sorted(history.calls, key=lambda call: call.start.seq):
        asked = [item.asked for item in call.attempts if item.asked is not None]
        if call.life != life or not asked:
            continue
        last = None if call.last is None else call.last.asked
        own = [it for it in asked if last and instructions_in(it) == instructions_in(last)]
        if last is not None and own == [last] and _goes_on(last):
            # It goes on with one of this turn, whose instructions were others: they hold a clock.
            own = asked
        return (own or asked)[0]
    return None


def _goes_on(asked: TraceEvent) -> bool:
    return bool(asked.messages) and asked.messages[-1]["role"] == "tool"


def keeps_sessions(history: History, life: int) -> bool:
    """Return whether a life knows what an earlier one had saved, wherever it did that.

    It read the store, or its first request has more of a conversation than the first of all had.
    """
    done = (item for item in history.store_operations if item.ok)
    saved = any(item.name in _WRITES and item.life < life for item in done)
    if saved and reads_store(history, life):
        return True
    first, now = first_request(history, life=1), first_request(history, life=life)
    return life > 1 and first is not None and now is not None and says_more(now, first)


def reads_store(history: History, life: int) -> bool:
    """Return whether a life looked for a session, and the store said what there is."""
    done = (item for item in history.store_operations if item.ok and item.life == life)
    return any(item.name not in _WRITES for item in done)


def says_more(request: TraceEvent, first: TraceEvent) -> bool:
    """Return whether a request has more of a conversation than another; instructions are none."""
    now, before = (
        sum(message["role"] not in ("system", "developer") for message in event.messages)
        for event in (request, first)
    )
    return now > before


def opening_of(history: History, life: int) -> Call | None:
    """Return the call whose end says whether the session of a life was opened."""
    start, turn = call_of(history, "start", life), first_turn(history, life)
    if start is None or not start.returned or turn is None:
        return start
    refused = turn.raised and not turn.attempts and turn.stop is None
    return turn if refused else start


# ---------------------------------------------------------------------- what was stored


def installed_in(history: History, life: int) -> dict[str, ExtensionScript]:
    """Return the extensions that are installed in a life, by name."""
    return {
        item.id: item for item in history.session.extensions if not item.lives or life in item.lives
    }


@once
def stored_before(history: History, model: ErrorModel, life: Life) -> Stored:
    """Return what was stored when `life` began."""
    script = history.world.stored
    stored = Stored(
        manifest=None if script.initial is None else dict(script.initial),
        slots={owner: slot.version for owner, slot in script.slots.items()},
    )
    # Edits are made right before the process starts, and say so.
    due = {edit.before_life: edit for edit in script.edits}
    for event in history.of("store.durable", "store.edited"):
        if event.seq > life.start.seq:
            break
        if event.kind == "store.durable":
            _write(history, model, stored, event, script.id)
        elif event.applied is not False and event.life in due:
            _edit(stored, due[event.life])
    return stored


def _write(
    history: History, model: ErrorModel, stored: Stored, event: TraceEvent, store: str
) -> None:
    owner = str(event.owner)
    if event.operation == "write":
        stored.edited_messages, stored.edit = False, None
        keys = () if model.resume is None else model.resume.manifest_keys
        stored.manifest = "torn" if event.torn else {**dict.fromkeys(keys, ""), "storeId": store}
    elif event.operation == "write_slot" and event.torn:
        stored.slots.pop(owner, None)
    elif event.operation == "write_slot":
        versions = {item.id: item.slot_version for item in history.session.extensions}
        stored.slots[owner] = versions.get(owner)


def _edit(stored: Stored, edit: StoreEdit) -> None:
    if edit.drop:
        stored.manifest, stored.slots = None, {}
        return
    if edit.raw is not None:
        stored.manifest, stored.edited_messages = _parsed(edit.raw), True
    if isinstance(stored.manifest, dict):
        for path, value in edit.set.items():
            name, _, below = path.partition(".")
            if not below:
                stored.manifest[name] = value
            if name == "messages":
                stored.edited_messages, stored.edit = True, None if below else {name: value}
        for path in edit.remove:
            name, _, below = path.partition(".")
            if not below:
                stored.manifest.pop(name, None)
            stored.edited_messages |= name == "messages"
    stored.slots.update({owner: slot.version for owner, slot in edit.slots.items()})


def _parsed(text: str) -> dict[str, Any] | Literal["torn"]:
    try:
        loaded = json.loads(text)
    except ValueError:
        return "torn"
    return loaded if isinstance(loaded, dict) else "torn"


@once
def conditions_of(
    history: History, model: ErrorModel, life: Life
) -> frozenset[ResumeCondition] | None:
    """Return what holds of the start of `life`; None where it is unknown.

    What the store answered in the start counts before what should have been there.
    """
    start, turn = call_of(history, "start", life.number), first_turn(history, life.number)
    reads = [item for item in history.store_operations if item.name == "read" and item.answered]
    own = [item for call in (turn, start) if call for item in reads if item.call == call.id]
    read = own[-1] if own else None
    if read is not None and read.answered is not None:
        if read.pair == "Session/StoreUnavailable":
            return None
        if not read.ok:
            return frozenset({"unreadable"})
        if read.answered.found is False:
            return frozenset({"no_snapshot"})
        if read.answered.stale:
            return None
    stored = stored_before(history, model, life)
    if stored.manifest is None:
        return frozenset({"no_snapshot"})
    if stored.manifest == "torn":
        return frozenset({"unreadable"})
    of_manifest = _of_manifest(history, model, stored.manifest)
    return frozenset({"sound", *of_manifest, *_of_slots(history, life, stored)})


def _of_manifest(
    history: History, model: ErrorModel, manifest: Mapping[str, Any]
) -> Iterator[ResumeCondition]:
    store = history.world.stored.id
    written_by, rules = manifest.get("storeId"), model.resume
    if not isinstance(written_by, str) or not written_by.strip():
        yield "store_blank"
    elif written_by != store:
        yield "store_mismatch"
    if rules is not None and {*manifest} - {*rules.manifest_keys, *rules.manifest_optional}:
        yield "unknown_keys"
    if rules is not None and {*rules.manifest_keys} - {*manifest, "storeId"}:
        yield "unreadable"


def _of_slots(history: History, life: Life, stored: Stored) -> Iterator[ResumeCondition]:
    installed = installed_in(history, life.number)
    for owner, version in stored.slots.items():
        extension = installed.get(owner)
        if extension is None:
            yield "extension_gone"
        elif extension.slot_version is None or {"init", "activate"} & {*extension.fails_in}:
            continue
        elif version is None:
            yield "slot_without_version"
        elif version == extension.slot_version:
            continue
        elif extension.on_drift == "reject":
            yield "slot_rejected"
        elif extension.on_drift == "migrate" and extension.migration_fails:
            yield "slot_migration_failed"
        else:
            yield "slot_drift"
