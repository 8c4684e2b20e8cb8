"""What a subject does about a table of vectors, row by row."""

from __future__ import annotations

from typing import ClassVar, Literal

from faultclock.model._base import SparseValue, Value
from faultclock.model.scenario.vectors import VectorSource

#: `reproduced`: it does what the row says. `not reproduced`: it does something else. `not reached`:
#: it gave up before the wait that the row is about. `no result`: the run proves nothing.
#: `inexpressible`: no scenario can say the row, for this subject or at all.
RowVerdict = Literal["not reproduced", "no result", "not reached", "inexpressible", "reproduced"]


class RowResult(SparseValue):
    """One row, and what the subject did about it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"observed", "expected", "reason", "waits_ns", "attempts"}
    )

    id: str
    cites: str
    answers: tuple[str, ...]
    """What the first attempts meet."""
    verdict: RowVerdict
    expected: str = ""
    """What the first finding asks for, where it is not reproduced."""
    observed: str = ""
    reason: str = ""
    """Why there is no result, or why it cannot be expressed."""
    attempts: int = 0
    """How many the call made."""
    waits_ns: tuple[int | None, ...] = ()
    """Between them; None: unknown."""


class VectorReport(Value):
    """One table against one subject."""

    format: int = 1
    faultclock: str
    table: str
    """As it was named."""
    title: str
    source: VectorSource
    subject: str
    distributions: dict[str, str]
    rows: tuple[RowResult, ...]

    def count(self, *verdicts: RowVerdict) -> int:
        """Return how many rows came to one of these."""
        return sum(row.verdict in verdicts for row in self.rows)

    @property
    def expressible(self) -> int:
        """How many rows could be put to the subject."""
        return len(self.rows) - self.count("inexpressible")

    @property
    def verdict(self) -> Literal["reproduced", "not reproduced", "unclear"]:
        """`unclear`: nothing contradicts the table, and not every row was met."""
        if self.count("not reproduced"):
            return "not reproduced"
        met = self.expressible and self.count("reproduced") == self.expressible
        return "reproduced" if met else "unclear"
