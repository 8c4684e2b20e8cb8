"""One life of an agent whose turns block: what `life` is, without a person and without a task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.subjects.frameworks.own_tools import OwnTools
from faultclock.subjects.ports import Surroundings


class BlockingLife:
    """One life of an agent; a framework overrides `run_turn`, and `resume` where it can.

    Attributes:
        tools: the seam for its own tools.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.tools = OwnTools(surroundings)

    def start(self) -> None:
        """Open the session: read what an earlier life has kept."""
        if self._surroundings.resume:
            session_id = self._surroundings.session_id
            kept = self._surroundings.store.read(session_id)
            if kept is None:
                raise LookupError(f"there is no session {session_id}")
            self.resume(kept)

    def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what `keep` was given last."""

    def keep(self, state: Mapping[str, Any]) -> None:
        """Keep the session over the end of the process."""
        self._surroundings.store.write(self._surroundings.session_id, state)

    def run_turn(self, text: str) -> Any:
        """Answer one message of the user, with the framework's own loop."""
        raise NotImplementedError
