"""Differences between two censuses: what a client does in another version of a package."""

from __future__ import annotations

from typing import Literal

from faultclock.model._base import Value
from faultclock.model.report.census import ScenarioConduct
from faultclock.model.report.report_diff import DiffVerdict

#: `worse` and `better` are by the error model and by what the caller gets. `different` is neither.
#: `lost`: there was a result, and now nothing is known. `gained`: the reverse.
DriftKind = Literal["worse", "lost", "better", "different", "gained"]


class CellChange(Value):
    """One client in one scenario, before and after."""

    kind: DriftKind
    scenario: str
    before: ScenarioConduct | None
    after: ScenarioConduct | None
    """None on the side that did not run it."""
    newly_failed: tuple[str, ...] = ()
    """Ids of checks that it fails and did not fail."""
    fixed: tuple[str, ...] = ()
    """Ids of checks that it failed and does not fail any more."""


class ClientDrift(Value):
    """One client that is in both censuses."""

    client: str
    before: dict[str, str]
    """Versions of what it consists of."""
    after: dict[str, str]
    compared: int
    """Scenarios in which both have a result."""
    changes: tuple[CellChange, ...] = ()
    """In the order of the scenarios."""


class CensusDrift(Value):
    """The cells that changed from one census to a later one."""

    format: int = 1
    model: str
    verdict: DiffVerdict
    """`unclear`: nothing got worse, but a result is lost, or nothing could be compared."""
    clients: tuple[ClientDrift, ...]
    gone: tuple[str, ...] = ()
    """Clients of the earlier census that the later one did not run."""
    new: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """How many cells have a result in both."""
        return sum(client.compared for client in self.clients)

    def count(self, kind: DriftKind) -> int:
        """Return how many cells changed in this way."""
        return sum(change.kind == kind for client in self.clients for change in client.changes)
