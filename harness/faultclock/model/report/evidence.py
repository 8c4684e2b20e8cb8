"""Evidence: what an appraisal of a subject stands on, as values that a certificate carries.

The traces themselves lie beside it; what they come to is worked out from them anew by one who
reads it. Nothing here says how long anything took, or where on a machine it lay.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from faultclock.model._base import Sha256, SparseValue, Value
from faultclock.model.report.conformance import LevelName, Objection
from faultclock.model.report.exploration import Exploration
from faultclock.model.report.finding import PassedOver, Report
from faultclock.model.scenario.scenario import Role
from faultclock.model.trace.trace import SubjectInfo


class StoredTrace(SparseValue):
    """One run, by the name that its trace is kept under."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant"})

    name: str
    """Relative, without a suffix, such as `rate-limits/jitter-over-seeds.seed-3`."""
    scenario: str
    variant: str | None = None
    """Of the matrix, and of the sweep: `crash after event 17`."""
    seed: int
    digest: Sha256
    """As the footer of the trace has it."""


class Double(Value):
    """A run that was made a second time, in a process with another hash seed."""

    name: str
    """Of the trace of the first run."""
    digest: str
    """Of the second; empty where there was none."""


class Explored(Value):
    """What an exploration came to. Its traces are not kept: only making them again proves it."""

    exploration: Exploration
    runs_digest: Sha256
    """Of the digests of all traces, in the order of the runs."""


class Evidence(SparseValue):
    """All that was made to see whether one subject reaches one level."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"passed_over", "unsteady", "doubles", "explored"})

    model: str
    set_revision: int
    set_digest: Sha256
    """Of the set that said what to run."""
    role: Role
    level: LevelName
    """For which all was made that it asks for."""
    subject: SubjectInfo
    subject_spec: str
    """How it is named in replay commands."""
    dialects: tuple[str, ...] = Field(min_length=1)
    """In which it can be spoken to; the first is the one that scenarios without one are in."""
    passed_over: tuple[PassedOver, ...] = ()
    """Scenarios of the set that cannot be played in these dialects."""
    traces: tuple[StoredTrace, ...]
    """In the order of the set; seeds and crash points follow each other."""
    unsteady: tuple[str, ...] = ()
    """Names of runs that failed, and were not the same when they were made once more."""
    doubles: tuple[Double, ...] = ()
    """For the level `hardened`: one for each trace."""
    explored: Explored | None = None
    """For the level `hardened`."""


class Judged(SparseValue):
    """What the traces of an Evidence come to: it follows from them and the set alone."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"misfits", "contract"})

    report: Report
    misfits: tuple[Objection, ...] = ()
    """Traces that are not what the set and the Evidence say."""
    contract: tuple[str, ...] = ()
    """Fields of the contract that a tool or an extension declares, but for those it leaves out."""
