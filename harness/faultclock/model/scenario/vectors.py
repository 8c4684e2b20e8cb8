"""Vectors: a table of other people's, of what a client does about answers that it is given.

Each row is a fact of its source: what the provider answers, the lowest and the highest wait after
the last of these answers, and how the call comes out. A table judges by itself: a row knows no
error model.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.retry_policy import WaitRange
from faultclock.model.scenario.fault import Fault, HeaderValue
from faultclock.model.scenario.rule import RuleId

#: Attempts of one row, at most.
_TIMES_MAX = 100


class VectorSource(Value):
    """Where the facts of a table stand in public."""

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """`owner/name` on GitHub."""
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    path: str = Field(min_length=1)
    licence: str = Field(min_length=1)
    """Of that file, by its SPDX name."""
    read_on: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$")


class VectorAnswer(SparseValue):
    """What one attempt, or several one after the other, meet: an error status, or a fault."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"times", "headers", "body", "fault"})

    status: int | None = Field(default=None, ge=400, le=599)
    headers: dict[str, HeaderValue] = {}
    body: dict[str, Any] = {"error": {}}
    """Of the answer with that status, as JSON."""
    fault: Fault | None = None
    """Any other failure, as scenarios write it. Exactly one of it and `status`."""
    times: int = Field(default=1, ge=1, le=_TIMES_MAX)

    @model_validator(mode="after")
    def _one_of_both(self) -> VectorAnswer:
        if (self.status is None) == (self.fault is None):
            raise ValueError("give exactly one of status and fault")
        if self.fault is not None and self.model_fields_set & {"headers", "body"}:
            raise ValueError("headers and body go with status")
        return self

    def __str__(self) -> str:
        said = self.fault.kind if self.fault is not None else str(self.status)
        headers = json.dumps({name: _plain(value) for name, value in self.headers.items()})
        times = f" ×{self.times}" if self.times > 1 else ""
        return f"{said}{f' {headers}' if self.headers else ''}{times}"


class VectorRow(SparseValue):
    """One row: the answers, and what follows from them."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"given", "wait", "outcome", "inexpressible"})

    id: RuleId
    cites: str = Field(min_length=1)
    """Which test and row of the source."""
    given: str = ""
    """How the client of the source is set up, where that decides how often it tries."""
    answers: tuple[VectorAnswer, ...] = ()
    """Of the first attempts, in their order; any later one is answered well."""
    wait: WaitRange | None = None
    """The lowest and the highest wait between the last of these answers and the next attempt."""
    outcome: Literal["answered", "raised"] | None = None
    """`answered`: each answer is followed by another attempt. `raised`: the last one is not. None:
    the row does not say how many attempts there are, only how long the wait is."""
    inexpressible: str | None = Field(default=None, min_length=1)
    """Why no scenario can say this; then nothing else is given."""

    @model_validator(mode="after")
    def _says_something(self) -> VectorRow:
        says = bool(self.answers) and (self.wait is not None or self.outcome is not None)
        if self.inexpressible is not None:
            if self.answers or self.wait is not None or self.outcome is not None:
                raise ValueError("an inexpressible row has no answers, wait or outcome")
        elif not says:
            raise ValueError("give answers, and a wait or an outcome; or say inexpressible: why")
        if self.wait is not None and self.outcome == "raised":
            raise ValueError("there is no wait after the answer that is raised")
        return self

    @property
    def failures(self) -> int:
        """How many attempts fail."""
        return sum(answer.times for answer in self.answers)


class Vectors(SparseValue):
    """One table, as its file holds it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"dialect", "note"})

    title: str = Field(min_length=1)
    source: VectorSource
    note: str = ""
    """How the facts were read, where they are not written so in the source."""
    dialect: str | None = None
    """The API whose answers these are; None: any."""
    rows: tuple[VectorRow, ...]

    @model_validator(mode="after")
    def _has_rows(self) -> Vectors:
        if not self.rows:
            raise ValueError("rows is empty: a table has at least one row")
        return self


def _plain(value: HeaderValue) -> str:
    return value if isinstance(value, str) else f"date, {value.http_date // 10**9:+} s"
