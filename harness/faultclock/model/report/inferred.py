"""RetryProfile: what a client really does about failures, as inferred from its traces.

Every answer is a Told: a value with the traces behind it, or the reason why it is unknown.
Nothing in a profile comes from a document or from the client's source.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from faultclock.model._base import Value
from faultclock.model.error_model.error_model import Level
from faultclock.model.trace.trace import SubjectInfo

#: Version of the profile format. It grows when a reader of the old shape would misread the new.
PROFILE_FORMAT = 1

T = TypeVar("T")

Sureness = Literal["exact", "bounded", "unknown"]
"""`exact`: every run agrees with it to the microsecond (or it is a count). `bounded`: it lies
within what is said beside it. `unknown`: the reason says why."""
JitterKind = Literal["none", "full", "equal", "proportional", "additive", "decorrelated", "unclear"]
Growth = Literal["none", "fixed", "linear", "exponential", "decorrelated", "listed"]


class Evidence(Value):
    """Where something was seen."""

    trace: str
    """Name of a trace of the profile."""
    events: tuple[int, ...] = ()
    """`seq` of the events that show it."""


class Told(Value, Generic[T]):
    """One answer, or why there is none."""

    value: T | None = None
    sure: Sureness = "unknown"
    reason: str = ""
    """Why it is unknown, or what bounds it."""
    evidence: tuple[Evidence, ...] = ()


class TraceRef(Value):
    """One run of the battery."""

    name: str
    asks: str
    """What the run was made to find out."""
    seed: int
    digest: str
    file: str | None = None
    """Where the trace was stored, beside the profile."""
    trouble: str = ""
    """Why it proves nothing about the client; empty where it does."""


class Reaction(Value):
    """What the client did about one kind of failure that never went away."""

    kind: str
    """Id of the kind, such as `status-503`."""
    title: str
    stream: bool = False
    attempts: Told[int] = Told()
    """In all, the first try included."""
    retried: Told[bool] = Told()
    outcome: Literal["returned", "raised", "never_ended"] | None = None
    error: str | None = None
    """Class of the exception that came out."""
    schedule: str | None = None
    """Id of the schedule that its waits follow; None where it was not retried."""


class WaitLaw(Value):
    """The wait before one retry, over all seeds."""

    retry: int
    """1-based, over all layers."""
    low_ns: int
    high_ns: int
    how: Literal["constant", "drawn", "range"]
    """`constant`: the same under every seed. `drawn`: low + u x (high - low), to the microsecond,
    where u is a number that the run is known to have drawn. `range`: only what was seen."""
    seen_low_ns: int
    seen_high_ns: int
    values: int
    """Waits that it was read from."""
    text: str
    evidence: tuple[Evidence, ...] = ()


class JitterSeen(Value):
    """By how much waits differ from the nominal ones."""

    kind: Told[JitterKind] = Told()
    low: float | None = None
    """Lowest wait in parts of the nominal one (1.0 is the nominal); None for additive."""
    high: float | None = None
    added_ns: int | None = None
    """Most that additive jitter adds."""
    text: str = ""


class Layer(Value):
    """One loop of attempts; layer 1 is the innermost."""

    number: int
    attempts: Told[int] = Told()
    """Times that it runs what is below it, the first time included."""
    growth: Told[Growth] = Told()
    base_ns: Told[int] = Told()
    """The nominal wait before its first retry."""
    factor: Told[float] = Told()
    """Of an exponential schedule; the multiplier of a decorrelated one."""
    step_ns: Told[int] = Told()
    """Of a linear schedule."""
    cap_ns: Told[int] = Told()
    jitter: JitterSeen = JitterSeen.model_construct()
    retries: tuple[int, ...] = ()
    """1-based numbers of the waits (over all layers) that are its own."""
    text: str = ""


class Schedule(Value):
    """The waits of the kinds of failures that are retried alike."""

    id: str
    kinds: tuple[str, ...]
    attempts: Told[int] = Told()
    layers: tuple[Layer, ...] = ()
    """The innermost first."""
    product: str = ""
    """How the layers multiply, in words; empty where there is only one."""
    layers_note: str = ""
    """What shows the layers, or what could hide one."""
    waits: tuple[WaitLaw, ...] = ()


class HeaderReading(Value):
    """What the client made of one value of a header (or of the body) that says when to retry."""

    header: str
    form: str
    value: str
    kind: str
    """The kind of failure that carried it."""
    reading: Literal[
        "honored",
        "honored_with_more",
        "ignored",
        "at_once",
        "gave_up",
        "passed_on",
        "other",
        "retried",
        "same",
    ]
    """`ignored`: the wait of its own schedule under the same seed. `passed_on`: an inner loop gave
    up, and the next one waited by its own schedule. `retried` and `same` are for failures that are
    not retried without it."""
    asked_ns: int | None = None
    waited_ns: int | None = None
    text: str
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_honored(self) -> bool:
        """Whether it waited as it was asked to, or longer because of that."""
        return self.reading in ("honored", "honored_with_more")


class Ceiling(Value):
    """The largest value of a header that is honored, and what becomes of larger ones."""

    header: str
    form: str
    largest_ns: Told[int] = Told()
    above: Told[str] = Told()


class Deadline(Value):
    """What ends an attempt, or the call, by time."""

    what: str
    """Such as `silence before the answer`."""
    after_ns: Told[int] = Told()
    text: str = ""


class Repetition(Value):
    """What is the same in each attempt of a call, and what is new."""

    body_same: Told[bool] = Told()
    idempotency_key: Told[str] = Told()
    """`reused`, `new each time`, or `none sent`."""
    changed_headers: tuple[str, ...] = ()
    counted_by: tuple[str, ...] = ()
    """Headers by which the client itself counts its attempts."""


class Difference(Value):
    """One thing that an error model demands, beside what was seen."""

    what: str
    """Such as `attempts`, `waits`, or a header."""
    after: tuple[str, ...] = ()
    """The kinds of failures for which it is the same."""
    demanded: str
    observed: str
    differs: bool
    requirement: str | None = None
    sentence: str = ""
    level: Level | None = None
    evidence: tuple[Evidence, ...] = ()


class RetryProfile(Value):
    """Everything that was inferred of one subject."""

    format: int = PROFILE_FORMAT
    faultclock: str
    subject: SubjectInfo
    dialect: str
    python: str
    seeds: tuple[int, ...]
    """Under which each schedule was run; the same for every subject."""
    traces: tuple[TraceRef, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    headers: tuple[HeaderReading, ...] = ()
    honored_for: tuple[str, ...] = ()
    """Kinds of failures for which Retry-After (seconds) is honored."""
    ignored_for: tuple[str, ...] = ()
    precedence: Told[str] = Told()
    ceilings: tuple[Ceiling, ...] = ()
    deadlines: tuple[Deadline, ...] = ()
    repetition: Repetition = Repetition.model_construct()
    not_told: tuple[str, ...] = ()
    """What the battery cannot make happen, or the client cannot be made to show, and why."""
    model: str | None = None
    model_revision: str | None = None
    differences: tuple[Difference, ...] = ()

    @property
    def says_something(self) -> bool:
        """Whether anything could be inferred at all."""
        return any(reaction.attempts.value is not None for reaction in self.reactions)
