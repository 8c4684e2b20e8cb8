"""The ports around an extension.

A runtime under test is handed `Extension`s, which are simulated; it walks them through their
lifecycle in the order of their dependencies. An extension under test is an object (or a class)
with the same four phases; see `harness.extension`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from harness.model.port_values import Slot
from harness.subjects.ports.host import Host

__all__ = ["Extension", "ExtensionHost", "SlotDecision"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDecision:
    """What an extension decides about a slot of another version than its own.

    Attributes:
        decision: `migrate` (use `slot` from now on), `warn` (use the stored one as it is) or
            `reject` (the session cannot be resumed with it).
    """

    decision: Literal["migrate", "warn", "reject"]
    slot: Slot | None = None


class Extension(Protocol):
    """An extension as a runtime sees it.

    The phases are coroutine functions for an async subject and plain ones for a blocking subject.
    """

    @property
    def id(self) -> str:
        """Its name."""
        ...

    @property
    def kind(self) -> str:
        """Tool, Hook, Logger, StateMachine..."""
        ...

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Ids that must be active before it."""
        ...

    @property
    def conflicts_with(self) -> tuple[str, ...]:
        """Ids that must not be loaded beside it."""
        ...

    @property
    def slot_version(self) -> int | None:
        """The version of the slot that it writes; None where it keeps no state."""
        ...

    def init(self) -> Any:
        """Phase 1."""
        ...

    def activate(self) -> Any:
        """Phase 2."""
        ...

    def deactivate(self) -> Any:
        """Phase 3."""
        ...

    def dispose(self) -> Any:
        """Phase 4; to do it twice is to do it once."""
        ...

    def on_slot_drift(self, stored: Slot) -> SlotDecision:
        """Decide about a stored slot of another version; never blocks.

        Raises:
            Exception: the migration failed.
        """
        ...

    def deliver_slot(self, slot: Slot) -> None:
        """Receive the slot on resume, exactly once; never blocks."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionHost:
    """What an extension under test is given.

    Attributes:
        config: its configuration, which may be wrong on purpose.
        capabilities: by name, what the other loaded extensions offer.
    """

    host: Host
    config: Mapping[str, Any]
    capabilities: Mapping[str, Any]
