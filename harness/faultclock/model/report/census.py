"""Census: what real clients do about the same failures, as facts and not as verdicts.

A report judges one subject by an error model. A census sets many clients side by side: how often
each one tries, how long it waits, and what it returns or raises. It counts the verdicts as well.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from faultclock.model._base import SparseValue, Value
from faultclock.model.trace.trace import EndingReason

#: Version of the census format. It grows when a reader of the old shape would misread the new one.
CENSUS_FORMAT = 1

#: What a call returned of the provider's answer: all of it, a part of it, nothing of it, or
#: something else.
Answer = Literal["whole", "partial", "empty", "other"]
#: What a call did about an answer that broke, one after the other.
Step = Literal[
    "hung",
    "retried",
    "returned_whole",
    "returned_partial",
    "returned_empty",
    "returned_other",
    "raised",
    "never_ended",
]

#: The world could not go on with the client. A deadlock or a time limit is the client's own doing.
_ENDINGS_OF_OURS = frozenset({"escape", "watchdog", "harness_error"})


class AttemptSeen(Value):
    """One attempt of a call, as the world saw it."""

    ended: str
    """How it ended: `ok`, `open` where neither side ended it, or how it failed, such as
    `429 rate_limit_exceeded`."""
    retry_after: str | None = None
    """The Retry-After header of its answer."""
    hung_ns: int | None = None
    """How long the client sat on a silent connection before it gave this attempt up; None where
    the connection was not silent."""


class WaitSeen(Value):
    """One wait between two attempts."""

    after: int
    """1-based attempt that it follows."""
    ns: int | None
    """From the instant at which the failure could be known to the next act toward the provider.
    None where the attempt before it was left open: then the wait has no beginning."""
    text: str
    """The same for people, such as `1.5s`; `unknown` for None."""
    asked: str | None = None
    """What Retry-After had asked for."""
    asked_ms: str | None = None
    """What `retry-after-ms` had asked for beside it: finer, and some clients prefer it."""


class BrokenAnswer(Value):
    """What a call did about an answer that began with a good status and then failed."""

    kind: Literal["stream", "body"]
    how: str
    """How the first such answer of the call failed, such as `the stream was cut off`."""
    steps: tuple[Step, ...]
    text: str
    """The same as one phrase, such as `hung 30s, retried, returned the whole text`."""


class CallConduct(Value):
    """What one call of a client did."""

    call: str
    stream: bool
    attempts: tuple[AttemptSeen, ...]
    waits: tuple[WaitSeen, ...] = ()
    outcome: Literal["returned", "raised", "never_ended"]
    answer: Answer | None = None
    """What it returned; None unless it returned."""
    error: str | None = None
    """Class of the exception that it raised, with its module."""
    causes: tuple[str, ...] = ()
    """Classes of the exceptions behind it, the nearest first."""
    message: str = ""
    """The first line of what the exception says."""
    broken: BrokenAnswer | None = None
    """None where no answer of the provider broke after a good status."""


class ScenarioConduct(Value):
    """What a client did in one scenario."""

    scenario: str
    seed: int
    calls: tuple[CallConduct, ...]
    ending: EndingReason = "completed"
    ending_detail: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    """Which real thing it reached for, and where: then this run proves nothing."""
    verdict: str = ""
    """Of the error model; empty where nothing was judged."""
    findings: dict[str, int] = {}
    """Findings per verdict."""
    failed: tuple[str, ...] = ()
    """Ids of the checks that it fails."""

    @property
    def trouble(self) -> str:
        """Why this run proves nothing about the client; empty where it does."""
        if self.leaks:
            return "something real leaked in: " + "; ".join(self.leaks)
        if self.ending in _ENDINGS_OF_OURS:
            return f"{self.ending}: " + ("; ".join(self.ending_detail) or "nothing more is known")
        return ""


class Hindrance(Value):
    """One thing that a client could not be made to do."""

    what: str
    """A scenario's id, or the thing that it cannot do."""
    reason: str


class Tally(Value):
    """The conduct of one client, counted."""

    runs: int = 0
    verdicts: dict[str, int] = {}
    """Runs per verdict."""
    calls: int = 0
    answered: int = 0
    """Calls that returned the whole answer."""
    wrongly_answered: int = 0
    """Calls that returned less than the answer, or something else, and raised no error."""
    raised: int = 0
    never_ended: int = 0
    attempts_max: int = 0
    """The most attempts of a call."""
    waits: int = 0
    """Waits before another attempt, of those that have a known length."""
    wait_shortest_ns: int | None = None
    """The shortest of them; None where there is no such wait."""
    wait_median_ns: int | None = None
    """The middle one; of an even number the shorter of both."""
    wait_longest_ns: int | None = None
    asked_to_wait: int = 0
    """Failures whose Retry-After named whole seconds, with another attempt after them."""
    waited_as_asked: int = 0
    """How many of these waits were not shorter than that, or than `retry-after-ms` beside it."""
    broken_streams: int = 0
    """Calls whose stream broke."""
    streams: dict[str, int] = {}
    """What became of those: calls per last step."""


class ClientCensus(SparseValue):
    """One client, and what it did in every scenario."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"environment"})

    id: str
    """Of the client; with an environment `client@environment`."""
    environment: str = ""
    """Name of the environment that it was run in; empty: that of the census."""
    title: str
    style: Literal["async", "sync"]
    dialect: str
    distributions: dict[str, str] = {}
    """Versions of its libraries."""
    python: str
    """Version of the interpreter, which decides about a few exceptions."""
    runs: tuple[ScenarioConduct, ...] = ()
    inexpressible: tuple[Hindrance, ...] = ()
    """Scenarios that its dialect cannot express, or that are about what it never does."""
    cannot: tuple[str, ...] = ()
    """What it does in the real world and not in the simulated one."""
    tally: Tally = Tally()

    @property
    def client(self) -> str:
        """The id without the environment."""
        return self.id.removesuffix(f"@{self.environment}") if self.environment else self.id

    @property
    def versions(self) -> dict[str, str]:
        """Versions of all that it consists of; a client for Node has no Python."""
        own = {} if "node" in self.distributions else {"Python": self.python}
        return self.distributions | own


class Absent(Value):
    """A client that was not run, and why."""

    id: str
    title: str
    reason: str
    installed: bool = False
    """Whether its libraries are there: then it should have been run."""


class ScenarioEntry(Value):
    """One scenario of a census."""

    id: str
    title: str
    streams: bool
    """Whether one of its calls asks for a stream."""


class Census(Value):
    """Clients beside each other, in the same scenarios."""

    format: int = CENSUS_FORMAT
    faultclock: str
    """Version of Faultclock."""
    model: str
    model_title: str
    model_revision: str
    families: tuple[str, ...]
    """What was asked for."""
    scenarios: tuple[ScenarioEntry, ...]
    clients: tuple[ClientCensus, ...] = ()
    absent: tuple[Absent, ...] = ()

    @property
    def proves_all(self) -> bool:
        """Whether every client that is installed was run, and every run proves something."""
        return not any(item.installed for item in self.absent) and not any(
            run.trouble for client in self.clients for run in client.runs
        )


def tally_of(runs: tuple[ScenarioConduct, ...]) -> Tally:
    """Count the conduct of one client."""
    calls = [call for run in runs for call in run.calls]
    waits = [wait for call in calls for wait in call.waits if _seconds(wait.asked) is not None]
    streams = [call.broken for call in calls if call.broken and call.broken.kind == "stream"]
    lasts = [broken.steps[-1] for broken in streams]
    lengths = sorted(wait.ns for call in calls for wait in call.waits if wait.ns is not None)
    verdicts = [run.verdict for run in runs if run.verdict]
    answers = [call.answer for call in calls if call.outcome == "returned"]
    outcomes = [call.outcome for call in calls]
    return Tally(
        runs=len(runs),
        verdicts={name: verdicts.count(name) for name in sorted(set(verdicts))},
        calls=len(calls),
        answered=answers.count("whole"),
        wrongly_answered=len(answers) - answers.count("whole"),
        raised=outcomes.count("raised"),
        never_ended=outcomes.count("never_ended"),
        attempts_max=max((len(call.attempts) for call in calls), default=0),
        waits=len(lengths),
        wait_shortest_ns=lengths[0] if lengths else None,
        wait_median_ns=lengths[(len(lengths) - 1) // 2] if lengths else None,
        wait_longest_ns=lengths[-1] if lengths else None,
        asked_to_wait=len(waits),
        waited_as_asked=sum(map(_as_asked, waits)),
        broken_streams=len(streams),
        streams={name: lasts.count(name) for name in sorted(set(lasts))},
    )


#: Clients count in float seconds.
_SLACK_NS = 1_000
_SECOND_NS, _MILLISECOND_NS = 1_000_000_000, 1_000_000


def _seconds(asked: str | None) -> int | None:
    text = (asked or "").strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _as_asked(wait: WaitSeen) -> bool:
    asked_s, asked_ms = _seconds(wait.asked), _seconds(wait.asked_ms)
    if asked_s is None or wait.ns is None:
        return False
    asked_ns = asked_s * _SECOND_NS
    if asked_ms is not None:
        asked_ns = min(asked_ns, asked_ms * _MILLISECOND_NS)
    return wait.ns >= asked_ns - _SLACK_NS
