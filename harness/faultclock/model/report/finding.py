"""Findings and reports: what a judgement says, as data that every renderer reads."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from faultclock.model._base import SparseValue, Value
from faultclock.model.canonical import canonical_text
from faultclock.model.error_model.error_model import Level, Switch
from faultclock.model.error_model.harm import Harm
from faultclock.model.report.gate import GateReport
from faultclock.model.trace.notes import RunNotes
from faultclock.model.trace.trace import EndingReason, SubjectInfo, TimeBase


class Verdict(StrEnum):
    """What a check or a run comes to. Only PASS is green."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    FAIL = "FAIL"
    WARN = "WARN"
    INCONCLUSIVE = "INCONCLUSIVE"
    NOT_APPLICABLE = "NOT_APPLICABLE"


#: Worst first. A run without one PASS among its checks has proved nothing: see `overall`.
_WORST_FIRST = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN)


def overall(verdicts: tuple[Verdict, ...]) -> Verdict:
    """Fold verdicts into one: FAIL, then INCONCLUSIVE, then WARN; PASS needs at least one PASS."""
    for verdict in _WORST_FIRST:
        if verdict in verdicts:
            return verdict
    return Verdict.PASS if Verdict.PASS in verdicts else Verdict.INCONCLUSIVE


def verdict_of(findings: tuple[Finding, ...]) -> Verdict:
    """Return the verdict of one run: NOT_APPLICABLE where no sentence of the model was judged.

    That the evidence is whole earns no pass by itself.
    """
    verdict = overall(tuple(finding.verdict for finding in findings))
    judged = any(
        finding.verdict is Verdict.PASS and finding.requirement is not None for finding in findings
    )
    return Verdict.NOT_APPLICABLE if verdict is Verdict.PASS and not judged else verdict


class SourcePlace(Value):
    """A line in the user's own files, for tools that show findings there."""

    file: str
    """Relative to the working folder, with forward slashes."""
    line: int = Field(ge=1)
    """1-based."""


class OrderStep(Value):
    """One step of an order: what was expected there, and beside it what was observed."""

    expected: str = ""
    """In the words of the rule; empty where it asks for nothing."""
    observed: str = ""
    """The event in the words of the trace; empty where nothing was."""
    seq: int | None = None
    """The observed event."""
    at_ns: int | None = None
    """When it was."""
    agrees: bool = True
    """The first step that does not agree is where the orders part."""


class Finding(SparseValue):
    """The verdict of one check on one run (or on one group of seeds), with its evidence."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"order", "document", "paraphrased", "id", "scenario", "variant", "source", "cause"}
    )

    check: str
    verdict: Verdict
    requirement: str | None = None
    level: Level | None = None
    place: str | None = None
    sentence: str | None = None
    """The requirement's place in its document and its words."""
    call: str | None = None
    expected: str = ""
    observed: str = ""
    hint: str = ""
    """What usually causes it, or what to do next."""
    events: tuple[int, ...] = ()
    """`seq` of the trace events that prove it."""
    judged: int = 0
    """How many things the check looked at; 0 with NOT_APPLICABLE or INCONCLUSIVE."""
    reason: str = ""
    """Why it is NOT_APPLICABLE or INCONCLUSIVE."""
    document: str | None = None
    """The page that the sentence stands on, where it is not the model's own document."""
    paraphrased: bool = False
    """Whether the sentence is in our words, because the page is known by what cites it."""
    order: tuple[OrderStep, ...] = ()
    """For a violated order: what was expected beside what was observed, step by step."""
    id: str = ""
    """Of a finding in a report that is not green: leads to its run again, with `replay`."""
    scenario: str | None = None
    """Of a verdict on a group of seeds: whose seeds they are. Any other belongs to its run."""
    variant: str | None = None
    """Likewise, where the scenario has a matrix."""
    source: SourcePlace | None = None
    """The line of the user's own code that it points at, where the notes of the run have one."""
    cause: str = ""
    """What every run of the same mistake shows, where `observed` says what differs between them."""


class WaitMark(SparseValue):
    """One wait between attempts, with its legal interval."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"at_least"})

    call: str
    retry_number: int
    """1-based, within the policy that governs it."""
    from_ns: int
    """When the subject could know of the failure."""
    observed_ns: int
    low_ns: int | None
    """None: no retry was legal here, or the model says nothing about this wait; see `legal`."""
    high_ns: int | None
    """None where `low_ns` is, or where any longer wait is legal too."""
    at_least: bool = False
    """Whether only `low_ns` was judged: the model names no longest wait, or the trace is in real
    time."""
    legal: bool
    basis: str
    """Where the interval comes from, such as `Retry-After: 7` or `5s ±20 %`."""
    events: tuple[int, ...] = ()


class AttemptMark(Value):
    """One attempt of a call, as the world saw it."""

    call: str
    number: int
    started_ns: int
    known_ns: int
    """When its end could be known."""
    ended: str
    """`ok`, or the signal in words, such as `429 rate_limit_exceeded`."""
    classification: str | None = None
    """`Class/Code` by the model, `unmapped`, or None for a success."""
    events: tuple[int, ...] = ()


class CallReport(Value):
    """One call of the subject and how it came out."""

    call: str
    task: str
    started_ns: int
    ended_ns: int | None
    outcome: str
    """`returned`, `raised ErrorName` or `never ended`."""
    attempts: tuple[AttemptMark, ...] = ()


class EventMark(Value):
    """One trace event for the timeline."""

    seq: int
    at_ns: int
    lane: str
    """`subject`, `network`, `provider` or `harness`."""
    kind: str
    text: str
    payload: dict[str, Any] = {}


class Judgement(Value):
    """Everything that the oracle says about one trace.

    Attributes:
        exercised: check and requirement where a finding against the subject is about that sentence
            as well, and cites another one.
    """

    findings: tuple[Finding, ...]
    exercised: frozenset[tuple[str, str]] = frozenset()
    calls: tuple[CallReport, ...] = ()
    waits: tuple[WaitMark, ...] = ()


class RunReport(SparseValue):
    """One scenario, one seed, one subject: judged."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"time_base", "token", "notes", "made_twice", "unanswered", "streamed"}
    )

    scenario: str
    title: str
    why: str
    variant: str | None = None
    """Which of the runs made from one scenario this is, such as `crash after event 17`."""
    crash_point: int | None = None
    """`seq` of the event after which a sweep killed the process; None outside a sweep."""
    resumes: int = 0
    """How often a fresh process resumed the session."""
    seed: int
    verdict: Verdict
    ending: EndingReason
    ending_detail: tuple[str, ...] = ()
    virtual_ns: int
    """From the start to the end of the last call; real time where `time_base` says so."""
    time_base: TimeBase = "virtual"
    """`wall`: the run was recorded in real time."""
    trace_digest: str
    streamed: bool = False
    """Whether it asked the model for streams, and for nothing else."""
    made_twice: bool = False
    """It did not fail, and was made once more in another process: every byte was the same."""
    trace_file: str | None = None
    """Name of the stored trace, relative to the report."""
    replay: str
    """The command that runs exactly this again."""
    token: str = ""
    """All that leads to this run, as a text that can be typed; only of a run that is not green."""
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallReport, ...] = ()
    waits: tuple[WaitMark, ...] = ()
    timeline: tuple[EventMark, ...] = ()
    timeline_cut: int = 0
    """How many events the timeline leaves out (they are in the trace)."""
    unanswered: tuple[tuple[str, str], ...] = ()
    """What was asked of other hosts that nothing answers: each a host and a request."""
    notes: RunNotes | None = None
    """Tracebacks, log lines and the lines that waited; None where nothing was noted."""

    @property
    def attempts(self) -> int:
        """How many attempts its calls made."""
        return sum(len(call.attempts) for call in self.calls)

    @property
    def in_one_piece(self) -> bool:
        """Whether the model answered it, and not in a stream."""
        answered = any(attempt.ended == "ok" for call in self.calls for attempt in call.attempts)
        return answered and not self.streamed

    @property
    def verdicts(self) -> frozenset[Verdict]:
        """The verdicts of its findings."""
        return frozenset(finding.verdict for finding in self.findings)

    def canonical(self) -> str:
        """Return it as canonical JSON."""
        return canonical_text(self)


class RequirementCoverage(SparseValue):
    """What became of one requirement in this report."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"harm", "does", "change", "shown_with", "sources"}
    )

    id: str
    level: Level
    place: str
    sentence: str
    document: str | None = None
    paraphrased: bool = False
    status: str
    """`tested`, `failed`, `excluded` or `not exercised`."""
    excluded: str | None = None
    checks: tuple[str, ...] = ()
    judged: int = 0
    harm: Harm | None = None
    """What breaking it does to people; None: the error model does not say."""
    does: str = ""
    change: str = ""
    sources: tuple[str, ...] = ()
    """That harm in a sentence, what usually mends it, and what it rests on."""
    shown_with: str = ""
    """The requirement whose problem shows it, where that one is broken too."""


class CrossingReport(Value):
    """How much of a scenario's matrix was run."""

    scenario: str
    cells: int
    """All combinations."""
    run: int
    omitted: dict[str, tuple[str, ...]] = {}
    """Why combinations were left out, with their names."""


class PassedOver(SparseValue):
    """A scenario that was selected and was not run, or not all of its runs were made."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"stopped"})

    scenario: str
    because: str
    stopped: bool = False
    """Whether it was to be run, and the runs stopped before: no gate may open."""


class CheckEntry(Value):
    """One check, and the shipped subjects that are made to fail it."""

    id: str
    title: str
    says: str
    level: Level | None
    """Of the strictest sentence that it judges; None for a check of the evidence itself."""
    requirements: tuple[str, ...] = ()
    miniatures: tuple[str, ...] = ()


class Shard(Value):
    """Which part of a run this is: the scenarios were dealt out to several machines."""

    number: int = Field(ge=1)
    """1-based."""
    count: int = Field(ge=1)
    selection: str = ""
    """Digest of all that was dealt out: parts of different wholes must not be joined."""


class Report(SparseValue):
    """All runs of one subject against one model."""

    SPARSE: ClassVar[frozenset[str]] = frozenset(
        {"source", "scenario_files", "shard", "gate", "inline"}
    )

    format: int = 1
    faultclock: str
    """Version of Faultclock."""
    model: str
    model_title: str
    model_revision: str
    readings: dict[str, str] = {}
    """Interpretation switches and the reading that was used."""
    switches: tuple[Switch, ...] = ()
    subject: SubjectInfo
    source: SourcePlace | None = None
    """None: a shipped subject, or one that is not below the working folder."""
    scenario_files: dict[str, str] = {}
    """Id to file of each scenario that is not shipped, relative to the working folder."""
    shard: Shard | None = None
    """None: the whole."""
    inline: bool = False
    """Whether all runs shared one process, by `--inline`: what one of them left behind, the next
    one found."""
    gate: GateReport | None = None
    """None: it was not held against a baseline."""
    verdict: Verdict
    """Of all that was judged, known or not: `gate` takes nothing away."""
    totals: dict[str, int] = {}
    """Runs per verdict."""
    seeds_findings: tuple[Finding, ...] = ()
    """Verdicts on groups of seeds; each names its scenario."""
    runs: tuple[RunReport, ...] = ()
    coverage: tuple[RequirementCoverage, ...] = ()
    crossings: tuple[CrossingReport, ...] = ()
    """One for each scenario that has a matrix."""
    passed_over: tuple[PassedOver, ...] = ()
    """What was selected and was not run, or not wholly: it cannot be played for the subject, or an
    option left it out."""
    checks: tuple[CheckEntry, ...] = ()
    """All checks of the model, whether or not they had something to judge here."""

    @property
    def not_reached(self) -> tuple[str, ...]:
        """Ids of scenarios that were to be run, when an earlier run ended everything."""
        return tuple(item.scenario for item in self.passed_over if item.stopped)
