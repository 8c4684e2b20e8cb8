"""What an exploration found: values that the engine fills, the history keeps and renderers read.

Nothing here says how long it took: the same exploration gives the same values on every machine.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from faultclock.model._base import SparseValue, Value
from faultclock.model.report.coordinates import Coordinates, Unsteady
from faultclock.model.report.finding import Finding, PassedOver, Verdict
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.tape import BLANK, ScheduleKind, Tape
from faultclock.model.trace.trace import EndingReason, SubjectInfo


class Reached(Value):
    """What one run reached."""

    checks: tuple[str, ...] = ()
    """Ids of the checks that had something to judge."""
    requirements: tuple[str, ...] = ()
    """Ids of the model's requirements that were judged."""
    faults: tuple[str, ...] = ()
    """Rules that were met, as `<scenario id>#<rule id>`."""
    pairs: tuple[str, ...] = ()
    """Kinds of events next to each other, as `http.request > fault.fired`."""


class FailureMark(Value):
    """One failure of one run, by what makes it the same failure elsewhere."""

    fingerprint: str = Field(pattern=r"^f-[0-9a-f]{12}$")
    finding: Finding


class NoResult(Value):
    """Why a run is inconclusive."""

    check: str
    """Id of the check that says so."""
    reason: str
    spoils: bool
    """Whether passing runs beside it do not make up for it. They do for a drawn run in which only
    the situation of the scenario did not come about."""


class Tried(SparseValue):
    """What came of one run."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"variant", "tape", "failures", "unsteady", "no_result"}
    )

    number: int = Field(ge=1)
    """Of the run, among those of its scenario and variant."""
    scenario: str
    variant: str | None = None
    seed: int
    schedule: ScheduleKind
    verdict: Verdict
    ending: EndingReason
    events: int
    virtual_ns: int
    trace_digest: str
    tape: Tape = BLANK
    """Only of a run that failed or is inconclusive: what was chosen in it."""
    failures: tuple[FailureMark, ...] = ()
    no_result: NoResult | None = None
    unsteady: Unsteady | None = None
    """Then the verdict is INCONCLUSIVE and there are no failures."""


class Size(Value):
    """How large a scenario and its run are: what shrinking makes smaller."""

    faults: int
    """Rules of every kind: faults, answers, cancels, crashes, refusals."""
    tasks: int
    """Calls: tasks times copies."""
    tools: int
    actors: int
    """Providers, persons, programs, hooks and the like, beside the tools."""
    choices: int
    """On the tape."""
    events: int
    """In the trace."""
    virtual_ns: int


class Shrunk(Value):
    """The smallest run that was found for one failure."""

    scenario: Scenario
    """Ready to run: what the tape says of the order is its own tape."""
    before: Size
    after: Size
    runs: int
    """How many it took."""
    is_minimum: bool
    """Whether no single step makes it smaller and keeps the failure. It is a local minimum: a
    smaller one may exist that several steps at once would reach."""
    stopped: str = ""
    """Why it was stopped before that."""
    removed: tuple[str, ...] = ()
    """What was taken away or made simpler, in words, one a line."""


class DivergenceRow(Value):
    """Two events beside each other, of the failing and of the passing run."""

    failing: int | None = None
    """`seq` in the failing run; None where it has no such event."""
    passing: int | None = None
    failing_ns: int | None = None
    passing_ns: int | None = None
    failing_text: str = ""
    passing_text: str = ""
    agrees: bool


class Divergence(Value):
    """Where a failing run parts from the nearest run that passes."""

    nearest: str
    """The passing run in words, such as `the same without the fault limited`."""
    agree: int
    """How many events agree before the first that differs."""
    rows: tuple[DivergenceRow, ...]
    """Some events before it, it, and what follows."""
    first: int
    """Place in `rows` of the first that differs (0-based)."""
    cut: int = 0
    """How many rows after these are left out."""
    by_time: bool = False
    """Whether both have the same events in the same order, and only when they happen differs."""
    times_part: int | None = None
    """`seq` of the event before the first that differs from which on the times are not the same;
    None where they are."""


class FailureGroup(Value):
    """One failure, however many runs showed it."""

    fingerprint: str
    scenario: str
    variant: str | None = None
    finding: Finding
    """Of the first run that showed it."""
    runs: int
    first: int
    """Number of the first run that showed it."""
    elsewhere: tuple[str, ...] = ()
    """Other scenarios whose runs showed it."""
    coordinates: Coordinates
    """Of that run."""
    token: str
    """The same, as a text that can be typed."""
    again: str = ""
    """The command that makes that run again."""
    shrunk: Shrunk | None = None
    script: str = ""
    """The file of the smallest scenario, as it was written."""
    files: tuple[str, ...] = ()
    """What was written for it: scenario, pytest file, trace; relative to the report."""
    command: str = ""
    """What runs the smallest scenario again."""
    divergence: Divergence | None = None


class NoResultGroup(Value):
    """Runs of one scenario that are inconclusive for one reason."""

    why: NoResult
    """Of the first of them. After many reasons those of one check count as one."""
    runs: int
    first: int
    """Number of the first of them."""
    token: str
    """What leads to that run again; empty where it was ended by force in a drawn order, of which
    nothing is left."""
    again: str = ""
    """The command that makes that run again."""


class ExploredScenario(Value):
    """One scenario and what its runs came to."""

    scenario: str
    variant: str | None = None
    title: str
    digest: str
    """Of the scenario that is written."""
    totals: dict[str, int]
    """Runs per verdict; `UNSTEADY` counts those that were not the same twice."""
    schedules: dict[str, int]
    """Runs per kind of schedule."""
    as_written: Verdict | None
    """Of run 1, which is the scenario as it is written: nothing varied, first in first out. None:
    it ended before that run."""
    no_results: tuple[NoResultGroup, ...] = ()
    """Its inconclusive runs, in the order of their first; without those that were not the same
    twice."""

    @property
    def spoilt(self) -> int:
        """Number of runs that keep it from being proved, whatever the others show."""
        return sum(group.runs for group in self.no_results if group.why.spoils)

    @property
    def passed(self) -> int:
        """Number of runs that passed, with a warning or without."""
        return sum(self.totals.get(verdict, 0) for verdict in (Verdict.PASS, Verdict.WARN))

    @property
    def is_proved(self) -> bool:
        """Whether it may be called passed, if no run failed.

        A drawn run that never meets a fault of the scenario takes nothing away; the scenario as it
        is written has to show what it is about, and none may hang, or ask nothing.
        """
        proves = self.as_written not in (None, Verdict.INCONCLUSIVE)
        return proves and self.passed > 0 and not self.spoilt


class Coverage(Value):
    """What all runs reached together, with how many of them did, and what none did."""

    checks: dict[str, int] = {}
    checks_never: tuple[str, ...] = ()
    requirements: dict[str, int] = {}
    requirements_never: tuple[str, ...] = ()
    faults: dict[str, int] = {}
    faults_never: tuple[str, ...] = ()
    pairs: dict[str, int] = {}
    pairs_never: tuple[str, ...] = ()
    """Pairs of kinds that both were reached, and in the other order only."""


class Exploration(Value):
    """All runs of one exploration."""

    format: int = 1
    faultclock: str
    model: str
    model_title: str
    model_revision: str
    readings: dict[str, str] = {}
    subject: SubjectInfo
    seed: int
    """Of the exploration: what run n of a scenario is follows from it."""
    sought: str = ""
    """The exception that the runs were searched for; empty: they were judged by the model. In a
    search a run fails if it raises the exception, and passes if it does not."""
    complete: bool = True
    """Whether all runs that were asked for were made; a time limit ends it before."""
    scenarios: tuple[ExploredScenario, ...]
    groups: tuple[FailureGroup, ...] = ()
    unsteady: tuple[Unsteady, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()
    """What was selected by its family, pattern or folder, and cannot be played for the subject."""
    coverage: Coverage = Coverage.model_construct()

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(sum(item.totals.values()) for item in self.scenarios)

    @property
    def verdict(self) -> Verdict:
        """FAIL where the subject failed; INCONCLUSIVE where not all is proved, or not twice."""
        if self.groups:
            return Verdict.FAIL
        proved = bool(self.scenarios) and all(item.is_proved for item in self.scenarios)
        return Verdict.PASS if proved and not self.unsteady else Verdict.INCONCLUSIVE
