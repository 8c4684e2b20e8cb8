"""The ports around a session store.

A session is a manifest (a JSON object, replaced as a whole), a journal of entries since then, and
one slot for each extension that keeps state. Every method is a coroutine function for an async
subject and a plain one for a blocking subject; each may raise TypedError Session/StoreUnavailable.

A runtime under test is handed a `SessionStore`, which is simulated. A store under test is made
once in each life of the process, and writes real files:

    store(surroundings) -> an object with `read` and `write`, and whatever else it can
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from faultclock.model.scenario.port_values import Slot
from faultclock.subjects.ports.host import Host


class SessionStore(Protocol):
    """Where a session outlives the process."""

    @property
    def id(self) -> str:
        """Which store this is; a session belongs to the store that wrote it."""
        ...

    def read(self, session_id: str) -> Any:
        """Return the manifest, None if there is no such session.

        Raises:
            TypedError: Session/ManifestDrift: what is stored cannot be parsed.
        """
        ...

    def write(self, session_id: str, manifest: Mapping[str, Any]) -> Any:
        """Replace the manifest and clear the journal; to return is to acknowledge."""
        ...

    def append(self, session_id: str, entry: Mapping[str, Any]) -> Any:
        """Add an entry to the journal; to return is to acknowledge."""
        ...

    def read_journal(self, session_id: str) -> Any:
        """Return the list of entries since the last write of the manifest."""
        ...

    def read_slot(self, session_id: str, owner: str) -> Any:
        """Return the Slot of an extension, None if it has none."""
        ...

    def write_slot(self, session_id: str, owner: str, slot: Slot) -> Any:
        """Replace the Slot of an extension."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSurroundings:
    """The world of one life of a store under test.

    A store needs no `id`; beside what `SessionStore` has, it may have `list_sessions()`, which
    returns the ids of all sessions, and `close()`, which is called when a process ends in good
    order.

    Attributes:
        folder: where all its files go. It is there already, and empty in the first life.
        store_id: which store this is. A session that another one wrote in the same folder is
            refused with Session/ResumeMismatch.
    """

    folder: Path
    host: Host
    store_id: str
