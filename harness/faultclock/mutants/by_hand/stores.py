"""Wrong session stores that are code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultclock.agents.store import FileStore
from faultclock.mutants.by_hand.table import ByHand
from faultclock.subjects.ports import StoreSurroundings

wrong = ByHand("stores")


@wrong(
    "acknowledges-first",
    "Acknowledges, then writes",
    fails="store.durability",
    shown_by="session-store-contract/leftovers-of-a-crash",
)
class _AcknowledgesFirst(FileStore):
    def __init__(self, surroundings: StoreSurroundings) -> None:
        super().__init__(surroundings)
        self._waiting: dict[str, Mapping[str, Any]] = {}

    def write(self, session_id: str, manifest: Mapping[str, Any]) -> None:
        self._flush()
        # That the session is its own is known at once; only the disk is put off.
        self.revision(session_id)
        self._waiting[session_id] = dict(manifest)

    def read(self, session_id: str) -> dict[str, Any] | None:
        if session_id in self._waiting:
            return dict(self._waiting[session_id])
        return super().read(session_id)

    def append(self, session_id: str, entry: Mapping[str, Any]) -> None:
        self._flush()
        super().append(session_id, entry)

    def read_journal(self, session_id: str) -> list[dict[str, Any]]:
        return [] if session_id in self._waiting else super().read_journal(session_id)

    def list_sessions(self) -> list[str]:
        return sorted({*super().list_sessions(), *self._waiting})

    def close(self) -> None:
        self._flush()

    def _flush(self) -> None:
        for session_id in list(self._waiting):
            super().write(session_id, self._waiting[session_id])
            del self._waiting[session_id]


@wrong(
    "writes-in-place",
    "Empties the file, then fills it",
    fails="store.atomicity",
    shown_by="session-store-contract/disk-full-in-save",
)
class _WritesInPlace(FileStore):
    def replace(self, path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            self.sync(file.fileno())
        self.sync_folder(path.parent)


@wrong(
    "fixed-temporary",
    "Makes a temporary file that must be new",
    fails="store.usable",
    shown_by="session-store-contract/leftovers-of-a-crash",
)
class _FixedTemporary(FileStore):
    def replace(self, path: Path, data: bytes) -> None:
        beside = path.with_name(f"{path.name}.new")
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            self.sync(file.fileno())
        beside.replace(path)
        self.sync_folder(path.parent)


@wrong(
    "caches-reads",
    "Keeps what it has read, and never looks again",
    fails="store.read-your-writes",
    shown_by="session-store-contract/disk-full-then-free",
)
class _CachesReads(FileStore):
    def __init__(self, surroundings: StoreSurroundings) -> None:
        super().__init__(surroundings)
        self._seen: dict[str, dict[str, Any]] = {}

    def read(self, session_id: str) -> dict[str, Any] | None:
        if session_id not in self._seen:
            found = super().read(session_id)
            if found is None:
                return None
            self._seen[session_id] = found
        return self._seen[session_id]


@wrong(
    "journal-by-digest",
    "Loses the order of its entries",
    fails="store.journal",
    shown_by="session-store-contract/journal-in-order",
)
class _JournalByDigest(FileStore):
    def entries(self, path: Path) -> tuple[list[dict[str, Any]], int]:
        found, length = super().entries(path)
        return sorted(found, key=_digest), length


@wrong(
    "journal-kept",
    "Keeps the journal over a new manifest",
    fails="store.journal",
    shown_by="session-store-contract/journal-in-order",
)
class _JournalKept(FileStore):
    def journal(self, session_id: str) -> Path:
        return self.place(session_id) / "journal-all.log"

    def clear_journals(self, session_id: str, *, but: int) -> None:
        return


def _digest(entry: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()
