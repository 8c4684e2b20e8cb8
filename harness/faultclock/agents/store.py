"""The reference: a correct session store on files, without anything but the standard library.

    <session>/manifest.json        the manifest, with its revision, its store and a checksum
    <session>/journal-<n>.log      entries since revision n, a checksum before each
    <session>/slots/<owner>.json   what an extension keeps

A file is replaced as a whole: written beside its place, synced, renamed, and the folder synced.
Entries are added at the end of a file, and a torn one is cut off before the next is added. The
journal carries the revision that it follows, so a new manifest and an old journal never meet.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from faultclock.subjects.bind_store import session_store
from faultclock.subjects.ports import Slot, StoreSurroundings, TypedError

_MANIFEST = "manifest.json"


class FileStore:
    """A session store below one folder, blocking."""

    def __init__(self, surroundings: StoreSurroundings) -> None:
        self.id = surroundings.store_id
        self.folder = surroundings.folder

    # ------------------------------------------------------------------ what it can

    def read(self, session_id: str) -> dict[str, Any] | None:
        """Return the manifest, None if there is no such session."""
        with _told("read the session"):
            found = self.load(self.place(session_id) / _MANIFEST)
        return None if found is None else dict(found["value"])

    def write(self, session_id: str, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest; the journal of the one before is over with it."""
        with _told("save the session"):
            revision = self.revision(session_id) + 1
            self.save(self.place(session_id) / _MANIFEST, dict(manifest), revision=revision)
            self.clear_journals(session_id, but=revision)

    def append(self, session_id: str, entry: Mapping[str, Any]) -> None:
        """Add an entry to the journal."""
        with _told("save the journal"):
            path = self.journal(session_id)
            self.make_folder(path.parent)
            self.add_line(path, _line(entry))

    def read_journal(self, session_id: str) -> list[dict[str, Any]]:
        """Return the entries since the last write of the manifest."""
        with _told("read the journal"):
            return self.entries(self.journal(session_id))[0]

    def read_slot(self, session_id: str, owner: str) -> Slot | None:
        """Return the slot of an extension, None if it has none."""
        with _told("read the state of an extension"):
            found = self.load(self.slot(session_id, owner))
        if found is None:
            return None
        return Slot(version=found["value"]["version"], data=found["value"]["data"])

    def write_slot(self, session_id: str, owner: str, slot: Slot) -> None:
        """Replace the slot of an extension."""
        with _told("save the state of an extension"):
            value = {"version": slot.version, "data": dict(slot.data)}
            self.save(self.slot(session_id, owner), value)

    def list_sessions(self) -> list[str]:
        """Return the ids of all sessions that have a manifest."""
        with _told("list the sessions"):
            places = sorted(self.folder.iterdir())
            return [unquote(place.name[2:]) for place in places if (place / _MANIFEST).exists()]

    # ------------------------------------------------------------------ where things are

    def place(self, session_id: str) -> Path:
        """Return the folder of a session; no id leads out of the store's own."""
        return self.folder / f"s-{quote(session_id, safe='')}"

    def slot(self, session_id: str, owner: str) -> Path:
        """Return the file of a slot; two owners never share one."""
        return self.place(session_id) / "slots" / f"o-{quote(owner, safe='')}.json"

    def journal(self, session_id: str) -> Path:
        """Return the file of the journal that follows the present manifest."""
        return self.place(session_id) / f"journal-{self.revision(session_id)}.log"

    def revision(self, session_id: str) -> int:
        """Return the number of the present manifest, 0 if there is none."""
        found = self.load(self.place(session_id) / _MANIFEST)
        return 0 if found is None else int(found["revision"])

    # ------------------------------------------------------------------ whole files

    def load(self, path: Path) -> dict[str, Any] | None:
        """Return what `save` wrote, None if there is no such file.

        Raises:
            TypedError: it cannot be read as what was written, or another store wrote it.
        """
        raw = self.content(path)
        if raw is None:
            return None
        try:
            found = json.loads(raw)
            whole = found["sha256"] == _digest(found["value"])
        except (ValueError, KeyError, TypeError) as error:
            raise _drifted() from error
        if not whole:
            raise _drifted()
        self.check_store(found["store"])
        return dict(found)

    def content(self, path: Path) -> bytes | None:
        """Return the bytes of a file, None if there is none."""
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def check_store(self, store_id: object) -> None:
        """Refuse what another store wrote."""
        if store_id != self.id:
            raise TypedError(
                "Session", "ResumeMismatch", "the session belongs to another session store"
            )

    def save(self, path: Path, value: Mapping[str, Any], *, revision: int = 0) -> None:
        """Replace a file as a whole, durably."""
        whole = {
            "revision": revision,
            "sha256": _digest(value),
            "store": self.id,
            "value": value,
        }
        self.make_folder(path.parent)
        self.replace(path, json.dumps(whole, sort_keys=True).encode())

    def replace(self, path: Path, data: bytes) -> None:
        """Write beside the file, make that durable, and put it in the file's place."""
        beside = path.with_name(f"{path.name}.tmp")
        # One that a crash left is simply written over.
        with beside.open("wb") as file:
            file.write(data)
            # What is in the buffer is not even the system's yet.
            file.flush()
            self.sync(file.fileno())
        beside.replace(path)
        self.sync_folder(path.parent)

    def make_folder(self, folder: Path) -> None:
        """Make a folder below the store's own, durably."""
        if not folder.exists():
            self.make_folder(folder.parent)
            folder.mkdir(exist_ok=True)
            self.sync_folder(folder.parent)

    def sync(self, descriptor: int) -> None:
        """Make a file's data durable."""
        os.fsync(descriptor)

    def sync_folder(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    # ------------------------------------------------------------------ journals

    def entries(self, path: Path) -> tuple[list[dict[str, Any]], int]:
        """Return the whole entries of a journal, and how many bytes they take."""
        found: list[dict[str, Any]] = []
        length = 0
        for line in (self.content(path) or b"").splitlines(keepends=True):
            entry = _entry(line)
            if entry is None:
                # Torn by a crash: it was never acknowledged, and nothing stands behind it.
                break
            found.append(entry)
            length += len(line)
        return found, length

    def add_line(self, path: Path, line: bytes) -> None:
        """Add a line at the end of the last whole one, durably."""
        is_new = not path.exists()
        _, length = self.entries(path)
        with path.open("ab", buffering=0) as file:
            if file.tell() != length:
                file.truncate(length)
            try:
                if file.write(line) != len(line):
                    raise OSError("only a part of the entry was written")
                self.sync(file.fileno())
            except OSError:
                # What a failed sync was for is not written again: what follows it must not
                # stand behind bytes that never arrive.
                with suppress(OSError):
                    file.truncate(length)
                raise
        if is_new:
            self.sync_folder(path.parent)

    def clear_journals(self, session_id: str, *, but: int) -> None:
        """Take away the journals of earlier manifests, which are never read again."""
        for path in sorted(self.place(session_id).glob("journal-*.log")):
            if path.name != f"journal-{but}.log":
                with suppress(OSError):
                    path.unlink()


def _on_a_thread(operation: str) -> Callable[..., Any]:
    async def ask(self: AsyncFileStore, *arguments: Any) -> Any:
        return await asyncio.to_thread(getattr(self.store, operation), *arguments)

    return ask


class AsyncFileStore:
    """The same store for async callers: what blocks does so on a thread."""

    def __init__(self, surroundings: StoreSurroundings) -> None:
        self.store = FileStore(surroundings)

    read = _on_a_thread("read")
    write = _on_a_thread("write")
    append = _on_a_thread("append")
    read_journal = _on_a_thread("read_journal")
    read_slot = _on_a_thread("read_slot")
    write_slot = _on_a_thread("write_slot")
    list_sessions = _on_a_thread("list_sessions")


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn a failure of the disk into the typed error that callers match on."""
    try:
        yield
    except OSError as error:
        # No path: who reads this message need not know where the store lives.
        reason = error.strerror or "the disk failed"
        raise TypedError(
            "Session", "StoreUnavailable", f"the session store cannot {what}: {reason}"
        ) from error


def _drifted() -> TypedError:
    return TypedError(
        "Session", "ManifestDrift", "what is stored of the session is not what was written"
    )


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _line(entry: Mapping[str, Any]) -> bytes:
    text = json.dumps(dict(entry), sort_keys=True)
    return f"{_digest(dict(entry))[:16]} {text}\n".encode()


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return the entry of a line, None for one that is not whole."""
    digest, _, text = line.partition(b" ")
    if not line.endswith(b"\n"):
        return None
    try:
        entry = json.loads(text)
    except ValueError:
        return None
    return dict(entry) if digest == _digest(entry)[:16].encode() else None


reference_store = session_store(
    id="reference-store", title="Correct session store on files, blocking", inline=True
)(FileStore)
reference_store_async = session_store(
    id="reference-store-async", title="Correct session store on files, async", inline=True
)(AsyncFileStore)
