"""The port to the session store.

A session is a manifest (a JSON object, replaced as a whole), a journal of entries since then, and
one slot for each extension that keeps state. Every method is a coroutine function for an async
subject and a plain one for a blocking subject; each may raise TypedError Session/StoreUnavailable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from harness.model.port_values import Slot

__all__ = ["SessionStore", "Slot"]


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
