"""The ports around an extension.

A runtime under test is handed `Extension`s, which are simulated; it walks them through their
lifecycle in the order of their dependencies. An extension under test is an object (or a class)
with the same four phases; see `faultclock.extension`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from faultclock.model.scenario.port_values import Slot
from faultclock.subjects.ports.host import Host
from faultclock.subjects.ports.tool import CancelSignal


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
        signal: says that the phase that is running is to stop.
        base_url: where the simulated service that it may ask begins, without a slash at its end.
    """

    host: Host
    config: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    signal: CancelSignal = field(default_factory=CancelSignal)
    base_url: str = "https://extensions.example.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionContract:
    """What an extension declares of itself: ten normative fields, then what belongs to a kit.

    Attributes:
        kind: its category, fixed when it is loaded.
        contract_version: of the category's contract that it is written against.
        required_core_version: range of cores that it runs on.
        lifecycle: its phases, in their order.
        config_schema: JSON Schema of its configuration; it forbids keys that it does not name.
        loaded_cardinality: how many of its kind may be loaded beside each other.
        active_cardinality: how many of its kind may be active at once.
        state_slot: version of the state that it keeps with a session; None: it keeps none.
        discovery_rules: where it is looked for.
        reload_behavior: when it may be exchanged for a newer one.
        depends_on: ids or capabilities that must be there before it.
        conflicts_with: ids that must not be loaded beside it.
        capabilities: names that it offers while it is active.
        fixtures: configurations by name: `valid`, `invalid` (the schema refuses it) and `worst`
            (as bad as it can plausibly be and still valid).
    """

    kind: str
    contract_version: str
    required_core_version: str = ">=1.0.0"
    lifecycle: tuple[str, ...] = ("init", "activate", "deactivate", "dispose")
    config_schema: Mapping[str, Any] = field(
        default_factory=lambda: {"type": "object", "additionalProperties": False}
    )
    loaded_cardinality: Literal["one", "many"] = "many"
    active_cardinality: Literal["one", "many"] = "many"
    state_slot: int | None = None
    discovery_rules: Mapping[str, Any] = field(default_factory=dict)
    reload_behavior: Literal["in-turn", "between-turns", "never"] = "between-turns"
    depends_on: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    fixtures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
