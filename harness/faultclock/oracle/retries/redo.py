"""Redo: whether something that failed was tried again as its policy asks, for every kind of work.

Requests to a provider or to a tool's service, executions of a tool, operations of a store, attempts
of a stage and all else that can fail follow the same rules: what is retryable is tried again after
a wait within an interval, as often as the policy says, and anything else is not. Each layer says of
its tries what had to follow and what followed; `judgements` and `in_time` judge that.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import format_duration
from faultclock.model.error_model.error_model import Disposition, ErrorModel
from faultclock.model.retry_policy import Backoff, Interval, RetryPolicy
from faultclock.model.scenario.session_script import StageRetry
from faultclock.model.scenario.tool_script import ToolRetry
from faultclock.model.trace.events import Span, ends_of, spans
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Check, Verdict, Verdicts, also, check, verdict
from faultclock.oracle.facts.history import History, once

TryT = TypeVar("TryT")

#: What had to follow a try: another one; nothing, because of what came out of it (`end`) or because
#: its attempts are used up (`exhausted`); or nothing can be said (`unjudged`, `none`).
Act = Literal["retry", "end", "exhausted", "unjudged", "none"]
#: What followed: it was over as it had to be (`ended`) or was tried again all the same (`again`);
#: it was tried again as it had to be (`retried`), or given up at the first failure (`never`) or
#: later (`short`); its attempts were used up (`used_up`), or exceeded (`many`).
Judged = Literal["ended", "again", "retried", "never", "used_up", "many", "short"]

DISPOSITION: tuple[Judged, ...] = ("ended", "again", "retried", "never")
ATTEMPTS: tuple[Judged, ...] = ("used_up", "many", "short")
FAULTS: tuple[Judged, ...] = ("again", "never", "many", "short")

#: Dispositions after which nothing is done again. What an owner decides is not judged.
_ENDS = ("terminal", "surface_to_model", "degrade", "not_an_error")
#: Kinds that begin what a runtime may have to wait for between two tries.
_BUSY = ("store.asked", "hook.called", "telemetry.asked", "queue.asked")


class Tried(Struct, Generic[TryT], frozen=True, kw_only=True):
    """One try, as far as it is judged.

    Attributes:
        of: the try, as its layer has it.
        act: what had to follow.
        again: whether another one followed.
        given_up: whether it is known that none was to follow.
        thing: what was tried. Too many tries of one thing are one fault.
        policy: by which failures of that thing are counted together.
    """

    of: TryT
    act: Act
    again: bool
    given_up: bool
    thing: Hashable = None
    policy: str = ""


def act_of(disposition: Disposition | None, limit: int | None, failures: int) -> Act:
    """Return what has to follow a failure.

    Args:
        limit: attempts in all; None where no policy says how often.
        failures: how many count against the policy by now, this one included.
    """
    if disposition in _ENDS:
        return "end"
    if disposition != "retry" or limit is None:
        return "unjudged"
    return "retry" if failures < limit else "exhausted"


def judgements(tries: Iterable[Tried[TryT]]) -> Iterator[tuple[Judged, TryT]]:
    """Yield what is to be said of each try; nothing where the end of it is not known."""
    retried: set[Hashable] = set()
    exceeded: set[Hashable] = set()
    for item in tries:
        account = (item.thing, item.policy)
        if item.act == "end":
            if item.again or item.given_up:
                yield "again" if item.again else "ended", item.of
        elif item.act == "retry" and item.again:
            retried.add(account)
            yield "retried", item.of
        elif item.act == "retry" and item.given_up:
            yield "short" if account in retried else "never", item.of
        elif item.act == "exhausted" and item.thing not in exceeded:
            if item.again:
                exceeded.add(item.thing)
                yield "many", item.of
            elif item.given_up and account in retried:
                yield "used_up", item.of


def in_time(legal: Interval, longest_ns: int, shortest_ns: int, slack_ns: int) -> bool:
    """Return whether a wait that may be counted in two ways is legal by at least one of them."""
    return longest_ns >= legal.low_ns - slack_ns and shortest_ns <= legal.high_ns + slack_ns


def busy_times(history: History, call: str | None) -> tuple[tuple[int, int], ...]:
    """Return from when to when a call waited for something else than time, in nanoseconds.

    What a runtime does between two tries, such as to save, to export or to call a hook, may or may
    not count as waiting: it is left to the subject.
    """
    return tuple(
        (span.began.at_ns, span.ended.at_ns)
        for span in _busy_spans(history)
        if span.ended is not None and span.began.call == call
    )


@once
def _busy_spans(history: History) -> list[Span[TraceEvent]]:
    ends = (kind for begins in _BUSY for kind in ends_of(begins))
    return spans(history.of(*_BUSY, *ends))


def idle_ns(busy: Iterable[tuple[int, int]], since_ns: int, until_ns: int) -> int:
    """Return how much of a time is in none of the `busy` ones, which are sorted."""
    total_ns, covered_ns = until_ns - since_ns, since_ns
    for begun_ns, ended_ns in busy:
        begun_ns, ended_ns = max(begun_ns, covered_ns), min(ended_ns, until_ns)
        if ended_ns > begun_ns:
            total_ns -= ended_ns - begun_ns
            covered_ns = ended_ns
    return total_ns


# ---------------------------------------------------------------------- tools, stores, stages


class Try(Struct, frozen=True, kw_only=True):
    """One try of a series.

    Attributes:
        begun: the subject's act.
        ended: when the subject knew how it came out; None when it never did.
        outcome: `open` when it has not ended, or was stopped for a reason of its own.
        failure: what went wrong, in words.
        retryable: whether the policy is for this failure.
        repeats_effect: whether it did again what a try before it had done: that is another
            check's finding, and it is not judged that it was tried again.
        knowable_ns, known_ns: from when it could be known how it came out, and when it was; None
            where `ended` says it.
        hinted: whether the other side said how long to wait, so that the policy need not hold.
    """

    begun: TraceEvent
    ended: TraceEvent | None
    outcome: Literal["good", "failed", "open"]
    failure: str = ""
    retryable: bool = False
    repeats_effect: bool = False
    knowable_ns: int | None = None
    known_ns: int | None = None
    hinted: bool = False

    @property
    def events(self) -> tuple[int, ...]:
        """`seq` of the events that show it."""
        return seqs(self.begun, self.ended)


#: The 1-based number of a try, the try, and the one that followed it.
_Numbered = tuple[int, Try, Try | None]


class Series(Struct, frozen=True, kw_only=True):
    """All tries of one thing, in order.

    Attributes:
        what: it, in words.
        policy: None: it is never tried again.
        source: where the policy stands, in words.
        given_up: what shows that no further try was to come; None where something from outside
            may have kept it from coming.
        busy: from when to when the subject waited for something else; see `busy_times`.
        slack_ns: how far a wait may miss its ends.
        requirements: of what is judged, where no rule of the model says it; the first one is cited.
    """

    what: str
    call: str | None
    tries: tuple[Try, ...]
    policy: RetryPolicy | None
    source: str
    given_up: TraceEvent | None
    slack_ns: int
    busy: tuple[tuple[int, int], ...] = ()
    requirements: tuple[str | None, ...] = ()

    @property
    def attempts_max(self) -> int:
        """Tries in all."""
        return 1 if self.policy is None else self.policy.attempts_max

    def steps(self) -> Iterator[_Numbered]:
        """Yield each try with its 1-based number and the try that followed it."""
        followers = (*self.tries, None)[1:]
        for number, (own, following) in enumerate(zip(self.tries, followers, strict=True), 1):
            yield number, own, following

    def act(self, number: int, own: Try) -> Act:
        """Return what had to follow the try with this number."""
        if own.outcome == "open":
            return "none"
        if own.outcome == "good" or not own.retryable:
            return "end"
        return "retry" if number < self.attempts_max else "exhausted"


def policy_of(id_: str, retry: ToolRetry | StageRetry | None) -> RetryPolicy | None:
    """Return the policy of a contract; without a backoff it tries again at once."""
    if retry is None:
        return None
    return RetryPolicy(
        id=id_,
        applies_to=("*/*",),
        attempts_max=retry.attempts_max,
        backoff=retry.backoff or Backoff.model_validate({"kind": "fixed", "base": "0s"}),
        jitter=retry.jitter,
    )


def judge_series(series: Series, which: Container[Judged]) -> Verdicts:
    """Judge whether, or how often, a thing was tried again."""
    for judged, (number, own, following) in judgements(_tried(series)):
        if judged in which:
            yield _verdict(series, judged, number, own, following)


def citing(all_series: Iterable[Series], requirements: tuple[str, ...]) -> Iterator[Series]:
    """Yield each series with these requirements, or with its own where there are none."""
    return (replace(item, requirements=requirements or item.requirements) for item in all_series)


def series_check(
    id_: str,
    series_of: Callable[[History, ErrorModel], Iterator[Series]],
    which: Container[Judged] | None,
    *,
    title: str,
    says: str,
    unjudged: str,
) -> Check:
    """Return a check of runtimes that judges each series of a layer by itself.

    Args:
        which: what of it is judged; None: its waits.
    """

    def run(history: History, model: ErrorModel) -> Verdicts:
        for series in citing(series_of(history, model), also(model, id_)):
            yield from judge_waits(series) if which is None else judge_series(series, which)

    return check(id_, title=title, says=says, unjudged=unjudged, role="runtime")(run)


def _tried(series: Series) -> Iterator[Tried[_Numbered]]:
    for number, own, following in series.steps():
        act = series.act(number, own)
        repeats = act == "end" and following is not None and following.repeats_effect
        yield Tried(
            of=(number, own, following),
            act=act,
            again=following is not None and not repeats,
            given_up=series.given_up is not None or act == "end",
        )


def _verdict(
    series: Series, judged: Judged, number: int, own: Try, following: Try | None
) -> Verdict:
    what, limit, source = series.what, series.attempts_max, series.source
    given_up = seqs(series.given_up)
    fault, events = "", own.events
    if judged in ("ended", "again"):
        why = "it had succeeded" if own.outcome == "good" else f"{own.failure} is not worth a retry"
        expected = f"{what} is not tried again: {why}, by {source}"
        hint = "Is every failure retried, without a look at its code?"
        if judged == "again":
            fault = "it was tried again"
            events += () if following is None else following.events
    elif judged in ("retried", "never"):
        expected = f"{what} is tried again after {own.failure}, up to {limit} times in all"
        expected += f", by {source}"
        hint = "Is the policy read, and is the code looked up in it?"
        if judged == "never":
            fault, events = "it was given up after the first failure", events + given_up
    else:
        expected = f"{limit} tries in all of {what}, by {source}"
        hint = "Is the limit counted in retries rather than tries? The first one counts."
        events = (*(item.begun.seq for item in series.tries), *given_up)
        if judged != "used_up":
            total = f"{len(series.tries)} were made"
            fault = f"it was given up after {number}" if judged == "short" else total
    return verdict(
        series.requirements, fault, call=series.call, expected=expected, events=events, hint=hint
    )


def judge_waits(series: Series) -> Verdicts:
    """Judge that each wait before a further try lies within its interval."""
    for number, own, following in series.steps():
        if following is None or own.ended is None or series.policy is None or own.hinted:
            continue
        if series.act(number, own) != "retry":
            continue
        legal, until_ns = series.policy.interval(number), following.begun.at_ns
        known_ns = own.ended.at_ns if own.known_ns is None else own.known_ns
        longest_ns = until_ns - (known_ns if own.knowable_ns is None else own.knowable_ns)
        shortest_ns = idle_ns(series.busy, known_ns, until_ns)
        right = in_time(legal, longest_ns, shortest_ns, series.slack_ns)
        yield verdict(
            series.requirements,
            "" if right else waited(until_ns - known_ns),
            call=series.call,
            expected=f"a wait of {legal} before retry {number} of {series.what}, by"
            f" {series.source}",
            events=(*own.events, *following.events),
            hint="Compare base, factor and first retry number with the policy, then the jitter.",
        )


def waited(wait_ns: int) -> str:
    """Return a wait in words."""
    return f"waited {format_duration(wait_ns)}" if wait_ns > 0 else "it did not wait"
