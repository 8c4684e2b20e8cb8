"""What is durable of one session: pure, plain and picklable, so that it outlives the process.

A session is three kinds of text: the manifest, a journal of lines, and a slot for each owner. A
change may be cut short, and then half of its text lies there, as after a power cut:

manifest, slot    the first half of the new text is in place of the old one: it cannot be read
journal           half a line is at the end: it is no entry, and the next one replaces it

A cut-off manifest leaves the journal as it is. It knows no clock, no rule and no fact.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.fakes.rules import RulesMet
from faultclock.model.scenario.port_values import Slot
from faultclock.model.scenario.store_script import StoreEdit, StoreOperation, StoreScript

#: How much of a change is durable. `part` is the first half of its text.
Share = Literal["nothing", "part", "all"]
#: Deeper values are refused: the writer and the readers of JSON are recursive.
_DEPTH_MAX = 200


class UnreadableError(ValueError):
    """What is stored cannot be parsed as what it should be."""


class EditMissError(ValueError):
    """An edit is about something that is not there."""


class Cell(Struct, frozen=True, kw_only=True):
    """One text that is replaced as a whole.

    Attributes:
        text: what lies there now; None: nothing.
        before: the revision before, which a stale read returns.
    """

    text: str | None = None
    before: str | None = None

    def now(self, text: str | None) -> Cell:
        """Return the cell after its text was replaced."""
        return Cell(text=text, before=self.text)

    def put(self, text: str, share: Share) -> Cell:
        """Return the cell after a share of `text` became durable."""
        if share == "nothing":
            return self
        return self.now(text if share == "all" else text[: len(text) // 2])

    def seen(self, stale: bool) -> str | None:
        """Return the text that a read finds."""
        return self.before if stale else self.text

    @property
    def can_be_stale(self) -> bool:
        """Whether the revision before says anything else."""
        return self.text != self.before


class StoredSession(Struct, frozen=True, kw_only=True):
    """The durable texts of one session; every change makes a new value.

    Attributes:
        manifest: canonical JSON, or what an edit has put there.
        journal: a line of canonical JSON for each entry; what follows the last line end was cut
            off.
        slots: owner to canonical JSON of version and data.
    """

    manifest: Cell = Cell()
    journal: Cell = Cell()
    slots: Mapping[str, Cell] = field(default_factory=dict)

    def written(self, text: str, share: Share = "all") -> StoredSession:
        """Return it with another manifest; a whole one clears the journal."""
        manifest = self.manifest.put(text, share)
        if share != "all":
            return replace(self, manifest=manifest)
        return replace(self, manifest=manifest, journal=self.journal.now(None))

    def appended(self, line: str, share: Share = "all") -> StoredSession:
        """Return it with one more journal entry."""
        if share == "nothing":
            return self
        added = f"{line}\n" if share == "all" else line[: len(line) // 2]
        return replace(self, journal=self.journal.now(_whole_lines(self.journal.text) + added))

    def slot_written(self, owner: str, text: str, share: Share = "all") -> StoredSession:
        """Return it with another slot of `owner`."""
        if share == "nothing":
            return self
        return replace(self, slots={**self.slots, owner: self.slot(owner).put(text, share)})

    def slot(self, owner: str) -> Cell:
        """Return the cell of an owner's slot, an empty one if it has none."""
        return self.slots.get(owner, Cell())

    def cell(self, operation: StoreOperation, owner: str | None) -> Cell:
        """Return the cell that an operation reads or replaces."""
        if operation in ("read", "write"):
            return self.manifest
        if operation in ("append", "read_journal"):
            return self.journal
        return self.slot(owner or "")

    def read_manifest(self, *, stale: bool = False) -> dict[str, Any] | None:
        """Return a fresh copy of the manifest, None if there is none.

        Raises:
            UnreadableError: it is not the text of a JSON object.
        """
        text = self.manifest.seen(stale)
        return None if text is None else _parsed(text, "the manifest")

    def read_journal(self, *, stale: bool = False) -> list[dict[str, Any]]:
        """Return fresh copies of the whole entries since the manifest was written."""
        lines = _whole_lines(self.journal.seen(stale)).splitlines()
        return [_parsed(line, "a journal entry") for line in lines]

    def read_slot(self, owner: str, *, stale: bool = False) -> Slot | None:
        """Return a fresh copy of an owner's slot, None if it has none.

        Raises:
            UnreadableError: it was cut off.
        """
        text = self.slot(owner).seen(stale)
        if text is None:
            return None
        stored = _parsed(text, f"the slot of {owner}")
        return Slot(version=stored["version"], data=stored["data"])


class StoreState(Struct):
    """What outlives the subject's process: the durable sessions, and what was counted. Plain data.

    Attributes:
        session: id of the session that the script's contents and edits are about.
        sessions: id to what is durable of it.
        operations: how many were asked for so far; they are called "s1", "s2"...
        counts: the same, by operation.
        by_task: the same, by operation (None for any) and task of the call.
        writes: writes, appends and slot writes that got as far as becoming durable.
        met: the rules that have fired.
    """

    session: str
    sessions: dict[str, StoredSession] = field(default_factory=dict)
    operations: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(get_args(StoreOperation), 0)
    )
    by_task: dict[tuple[str | None, str | None], int] = field(default_factory=dict)
    writes: int = 0
    met: RulesMet = field(default_factory=RulesMet)

    @classmethod
    def initial(cls, script: StoreScript, session: str = "s1") -> StoreState:
        """Return the state before the first life."""
        stored = initial_session(script)
        return cls(session=session, sessions={} if stored is None else {session: stored})


def _whole_lines(text: str | None) -> str:
    """Return the part of a journal that ends with a line end."""
    return "" if text is None else text[: text.rfind("\n") + 1]


def _parsed(text: str, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"{what} is not a JSON object")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


# ---------------------------------------------------------------------- what goes in


def initial_session(script: StoreScript) -> StoredSession | None:
    """Return what the script says is stored before the first life, None if that is nothing."""
    if script.initial is None and not script.slots and not script.journal:
        return None
    manifest = None
    if script.initial is not None:
        manifest = canonical_json(script.initial, "the initial manifest")
    lines = [canonical_json(entry, "a journal entry") + "\n" for entry in script.journal]
    return StoredSession(
        manifest=_settled(manifest),
        journal=_settled("".join(lines) or None),
        slots={
            owner: _settled(slot_json(slot.version, slot.data))
            for owner, slot in script.slots.items()
        },
    )


def _settled(text: str | None) -> Cell:
    """Return a cell that has been as it is for so long that no read of it is stale."""
    return Cell(text=text, before=text)


def edited(session: StoredSession | None, edit: StoreEdit) -> StoredSession | None:
    """Return what is stored after an edit from outside; None is no session.

    `drop` comes first, then `raw`, then `set`, `remove` and `slots`. A part of a dotted path is a
    key, or a 0-based index into a list.

    Raises:
        EditMissError: a path that is not there, or a manifest that is not there or not readable.
    """
    if edit.drop:
        session = None
    if edit.raw is not None:
        session = session or StoredSession()
        session = replace(session, manifest=session.manifest.now(edit.raw))
    if edit.set or edit.remove:
        if session is None:
            raise EditMissError("there is no session")
        text = canonical_json(_changed_manifest(session, edit), "the edited manifest")
        session = replace(session, manifest=session.manifest.now(text))
    for owner, slot in edit.slots.items():
        session = session or StoredSession()
        session = session.slot_written(owner, slot_json(slot.version, slot.data))
    return session


def _changed_manifest(session: StoredSession, edit: StoreEdit) -> dict[str, Any]:
    try:
        manifest = session.read_manifest()
    except UnreadableError as error:
        raise EditMissError(str(error)) from None
    if manifest is None:
        raise EditMissError("there is no manifest")
    for path, value in edit.set.items():
        holder, key = _place(manifest, path)
        if isinstance(holder, list) and key == len(holder):
            holder.append(value)
        else:
            _must_hold(holder, key, path, new=True)
            holder[key] = value
    for path in edit.remove:
        holder, key = _place(manifest, path)
        _must_hold(holder, key, path, new=False)
        del holder[key]
    return manifest


def _place(manifest: dict[str, Any], path: str) -> tuple[Any, Any]:
    """Return the object or list that holds the last part of a path, and that part."""
    holder: Any = manifest
    *parents, last = path.split(".")
    for part in parents:
        key = _key_in(holder, part)
        _must_hold(holder, key, path, new=False)
        holder = holder[key]
    return holder, _key_in(holder, last)


def _key_in(holder: Any, part: str) -> str | int:
    return int(part) if isinstance(holder, list) and part.isascii() and part.isdigit() else part


def _must_hold(holder: Any, key: str | int, path: str, *, new: bool) -> None:
    """Check that `holder` has `key`, or may get it."""
    if isinstance(holder, dict) and (new or key in holder):
        return
    if isinstance(holder, list) and isinstance(key, int) and key < len(holder):
        return
    raise EditMissError(f"the manifest has no {path}")


def canonical_json(value: object, what: str) -> str:
    """Return a JSON object as text: keys sorted, no spaces, ASCII.

    Raises:
        TypeError: it is no JSON object, and the message says what of it is not.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a mapping, not a {type(value).__name__}")
    plain = _plain(value, what, 0)
    try:
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise TypeError(f"{what} cannot be stored as JSON: {error}") from None


def slot_json(version: object, data: object) -> str:
    """Return the text of a slot.

    Raises:
        TypeError: the version is no number from 0 and not None, or the data is no JSON object.
    """
    whole = isinstance(version, int) and not isinstance(version, bool) and version >= 0
    if version is not None and not whole:
        raise TypeError(f"a slot's version is None or an int from 0, not {version!r}")
    if not isinstance(data, Mapping):
        raise TypeError(f"a slot's data must be a mapping, not a {type(data).__name__}")
    return canonical_json({"version": version, "data": data}, "the slot")


def _plain(value: object, place: str, depth: int) -> Any:
    """Return a copy in JSON's own types. A key that is no text would come back as another one."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if depth >= _DEPTH_MAX:
        raise TypeError(f"{place} cannot be stored as JSON: it is nested too deeply")
    if isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{place} cannot be stored as JSON: its key {key!r} is no text")
            copy[key] = _plain(item, f"{place}.{key}" if depth else key, depth + 1)
        return copy
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{place}.{index}", depth + 1) for index, item in enumerate(value)]
    raise TypeError(f"{place} cannot be stored as JSON: it is a {type(value).__name__}")
