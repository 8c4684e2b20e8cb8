"""What lay in the store when a life began, as far as the trace and its scenario tell.

The content of what a subject writes is not in a trace, only its digest. What a check needs of it
is known all the same: which store wrote it, which keys it has, which versions the slots have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.store_script import StoreEdit, StoreScript
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import ResumeCondition
from faultclock.oracle.history import History
from faultclock.oracle.opening import first_turn, start_of
from faultclock.oracle.turn_facts import Life

__all__ = ["Stored", "conditions_of", "stored_before"]


@dataclass(slots=True, kw_only=True)
class Stored:
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


def stored_before(history: History, model: ErrorModel, life: Life) -> Stored:
    """Return what was stored when `life` began."""
    scenario = history.trace.header.scenario
    script = scenario.store or StoreScript()
    initial = None if script.initial is None else dict(script.initial)
    slots = {owner: slot.version for owner, slot in script.slots.items()}
    stored = Stored(manifest=initial, slots=slots)
    versions = {item.id: item.slot_version for item in history.session.extensions}
    # Edits are made right before the process starts, and say so.
    due = {edit.before_life: edit for edit in script.edits}
    for event in history.trace.events:
        if event.seq > life.start.seq:
            break
        if event.kind == "store.durable":
            _written(model, stored, event, script, versions)
        elif event.kind == "store.edited" and event.payload.get("applied", True):
            edit = due.get(_edited_life(history, event))
            if edit is not None:
                _apply(stored, edit)
    return stored


def _edited_life(history: History, event: TraceEvent) -> int:
    said = event.life
    if said is not None:
        return int(said)
    return next((life.number for life in history.lives if life.start.seq > event.seq), 0)


def _written(
    model: ErrorModel,
    stored: Stored,
    event: TraceEvent,
    script: StoreScript,
    versions: Mapping[str, int | None],
) -> None:
    operation, torn = event.operation, bool(event.torn)
    if operation == "write":
        stored.edited_messages, stored.edit = False, None
        keys = () if model.resume is None else model.resume.manifest_keys
        stored.manifest = "torn" if torn else {**dict.fromkeys(keys, ""), "storeId": script.id}
    elif operation == "write_slot":
        owner = str(event.owner)
        if torn:
            stored.slots.pop(owner, None)
        else:
            stored.slots[owner] = versions.get(owner)


def _apply(stored: Stored, edit: StoreEdit) -> None:
    if edit.drop:
        stored.manifest, stored.slots = None, {}
        return
    if edit.raw is not None:
        stored.manifest, stored.edited_messages = _parsed(edit.raw), True
    if isinstance(stored.manifest, dict):
        manifest = dict(stored.manifest)
        for path, value in edit.set.items():
            name, _, below = path.partition(".")
            if not below:
                manifest[name] = value
            stored.edited_messages |= name == "messages"
            if name == "messages":
                stored.edit = None if below else {name: value}
        for path in edit.remove:
            name, _, below = path.partition(".")
            if not below:
                manifest.pop(name, None)
            stored.edited_messages |= name == "messages"
        stored.manifest = manifest
    stored.slots.update({owner: slot.version for owner, slot in edit.slots.items()})


def _parsed(text: str) -> dict[str, Any] | Literal["torn"]:
    try:
        loaded = json.loads(text)
    except ValueError:
        return "torn"
    return loaded if isinstance(loaded, dict) else "torn"


def conditions_of(
    history: History, model: ErrorModel, life: Life
) -> frozenset[ResumeCondition] | None:
    """Return what holds of the start of `life`; None where it is unknown.

    What the store answered in the start counts before what should have been there.
    """
    start, turn = start_of(history, life.number), first_turn(history, life.number)
    read = next(
        (
            item
            for call in (start, turn)
            for item in reversed(history.store_operations)
            if call is not None
            and item.name == "read"
            and item.call == call.id
            and item.answered is not None
        ),
        None,
    )
    if read is not None and read.answered is not None:
        if read.pair == "Session/StoreUnavailable":
            return None
        if not read.ok:
            return frozenset({"unreadable"})
        if not read.answered.payload.get("found", True):
            return frozenset({"no_snapshot"})
        if read.answered.stale:
            return None
    stored = stored_before(history, model, life)
    if stored.manifest is None:
        return frozenset({"no_snapshot"})
    if stored.manifest == "torn":
        return frozenset({"unreadable"})
    found: set[ResumeCondition] = {"sound"}
    _look_at_manifest(history, model, stored.manifest, found)
    _look_at_slots(history, life, stored, found)
    return frozenset(found)


def _look_at_manifest(
    history: History, model: ErrorModel, manifest: Mapping[str, Any], found: set[ResumeCondition]
) -> None:
    store = (history.trace.header.scenario.store or StoreScript()).id
    written_by = manifest.get("storeId")
    if not isinstance(written_by, str) or not written_by.strip():
        found.add("store_blank")
    elif written_by != store:
        found.add("store_mismatch")
    rules = model.resume
    if rules is not None:
        if set(manifest) - {*rules.manifest_keys, *rules.manifest_optional}:
            found.add("unknown_keys")
        if set(rules.manifest_keys) - {*manifest, "storeId"}:
            found.add("unreadable")


def _look_at_slots(
    history: History, life: Life, stored: Stored, found: set[ResumeCondition]
) -> None:
    installed = {
        item.id: item
        for item in history.session.extensions
        if not item.lives or life.number in item.lives
    }
    for owner, version in stored.slots.items():
        extension = installed.get(owner)
        if extension is None:
            found.add("extension_gone")
            continue
        if extension.slot_version is None or {"init", "activate"} & {*extension.fails_in}:
            continue
        if version is None:
            found.add("slot_without_version")
        elif version != extension.slot_version:
            if extension.on_drift == "reject":
                found.add("slot_rejected")
            elif extension.on_drift == "migrate" and extension.migration_fails:
                found.add("slot_migration_failed")
            else:
                found.add("slot_drift")
