"""Retries, as any provider and any user want them: neither pointless, nor too early, nor endless.

No schedule is asked for. What is judged is what a client does about one failure: whether it asks
again for what waiting cannot mend, whether it asks at all again for what waiting can mend, whether
it comes back before the provider asked it to, and whether it ever ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_roughly
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.wire.attempts import Attempt, Call, Request
from faultclock.oracle.wire.chain import chain_of
from faultclock.oracle.wire.requests import ask_alike, ask_the_same, wait_before
from faultclock.oracle.wire.retry_hints import Hint, floor_of
from faultclock.oracle.wire.signals import classify

#: Who is asked to wait longer may well give up: people do not wait that long for an answer.
_PATIENCE_NS = 15 * SECOND_NS
#: Which hints a check is about.
_FLOORS = {"retries.floor": "retry-after", "retries.hint": "own"}
#: Who asks for a wait, by the kind of hint.
_ASKERS = {"retry-after": "Retry-After asked", "own": "the provider's own hint asked"}
#: Attempts for one answer beyond which no policy in use goes: libraries have 1 to 10, and layers of
#: them up to 45. What asks more often than this asks for ever, as far as a provider can tell.
ATTEMPTS_MAX = 64
#: A wait that is not expected of a call without a deadline.
LONG_NS = 3_600 * SECOND_NS
#: How long after a cancel an attempt may still begin, and the call may take to end.
_CANCEL_NS = SECOND_NS


def requests_of(history: History) -> Iterator[Request]:
    """Yield the requests of all calls."""
    for call in history.calls:
        yield from call.requests


def retried_as_it_was(attempt: Attempt, following: Attempt) -> bool:
    """Return whether `following` asks the same provider again for what failed.

    What is asked otherwise may be what mends it where the request was at fault. It mends no refused
    key, no limit and no server that is down.
    """
    if attempt.provider != following.provider:
        return False
    if len({_host_of(attempt), _host_of(following)} - {None}) > 1:
        return False
    status = None if attempt.signal is None else attempt.signal.status
    if attempt.signal is None or status in (401, 408, 429) or (status or 0) >= 500:
        return ask_alike(attempt.asked, following.asked)
    return ask_the_same(attempt.asked, following.asked) is not False


def _next_like(request: Request, attempt: Attempt) -> Attempt | None:
    """Return the attempt that retries this one as it was, if any does among the next ones."""
    following = request.attempts[attempt.number : attempt.number + ATTEMPTS_MAX]
    return next((one for one in following if retried_as_it_was(attempt, one)), None)


def _host_of(attempt: Attempt) -> str | None:
    headers = {} if attempt.asked is None else attempt.asked.headers
    host = headers.get("host") or attempt.start.host
    return None if host is None else host.lower().partition(":")[0]


def _disposition(model: ErrorModel, attempt: Attempt) -> str | None:
    return None if attempt.signal is None else classify(model, attempt.signal).disposition


@check(
    "retries.pointless",
    title="No retry where waiting cannot help",
    says="A request with a refused key, an error or a used-up quota is not repeated unchanged.",
    unjudged="no failure was one where waiting cannot help",
)
def pointless(history: History, model: ErrorModel) -> Verdicts:
    """Judge each failure that waiting does not mend."""
    requirements = also(model, "retries.pointless")
    for request in requests_of(history):
        hopeless = [
            attempt
            for attempt in request.attempts[:ATTEMPTS_MAX]
            if _disposition(model, attempt) == "terminal" and not _says_to_retry(attempt)
        ]
        for place, attempt in enumerate(hopeless):
            rest = request.attempts[attempt.number :]
            if not rest and not request.gave_up and not request.returned:
                continue
            yield held(*requirements)
            if any(retried_as_it_was(before, attempt) for before in hopeless[:place]):
                continue
            later = [one for one in rest if retried_as_it_was(attempt, one)]
            # A key may be renewed once: whether it is another one is in no trace.
            is_refused_key = attempt.signal is not None and attempt.signal.status == 401
            if len(later) > is_refused_key:
                times = {1: "once", 2: "twice"}.get(len(later), f"{len(later)} times")
                same = any(ask_the_same(attempt.asked, one.asked) is not False for one in later)
                what_again = "sent the same request" if same else "asked the same"
                what = "at most one retry, with a new key" if is_refused_key else "no retry"
                yield broken(
                    requirements,
                    call=request.id,
                    expected=f"{what}: a wait of seconds does not mend {attempt.signal}",
                    observed=f"it {what_again} again, {times}",
                    events=(*attempt.events, *(item.start.seq for item in later)),
                    hint="Look at the code of the error beside the status: a used-up quota has the"
                    " status of a rate limit. 408, 429 and 5xx can pass; other 4xx and used-up"
                    " quotas cannot.",
                    cause="it sent the same request again",
                )


def _says_to_retry(attempt: Attempt) -> bool:
    """Return whether the answer itself asks for another attempt."""
    headers = {} if attempt.signal is None else attempt.signal.headers
    return headers.get("x-should-retry") == "true" or floor_of(attempt.hints) is not None


@check(
    "retries.floor",
    title="Retry-After is a minimum wait",
    says="A client does not ask again before the time that Retry-After names.",
    unjudged="no retry followed an answer that said when to come back",
)
def floor(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait after an answer with Retry-After."""
    return _too_early(history, model, "retries.floor")


@check(
    "retries.hint",
    title="The provider's own hint is a minimum wait",
    says="A client does not ask again before the time in the header or the error body that its"
    " provider documents.",
    unjudged="no retry followed an answer that said when to come back",
)
def own_floor(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait after an answer with a hint of the provider's own."""
    return _too_early(history, model, "retries.hint")


def _too_early(history: History, model: ErrorModel, name: str) -> Verdicts:
    requirements, kind = also(model, name), _FLOORS[name]
    for request in requests_of(history):
        for attempt in request.attempts:
            following = _next_like(request, attempt) if attempt.hints else None
            if following is None:
                continue
            asked = _asked_before(history, attempt, following, kind)
            waited_ns = wait_before(attempt, following)
            if asked is None or waited_ns is None:
                continue
            yield held(*requirements)
            if waited_ns + history.timing.slack_ns >= asked.wait_ns:
                continue
            yield broken(
                requirements,
                call=request.id,
                expected=f"no attempt earlier than the answer asks for ({asked.basis}), or none"
                " at all",
                observed=f"attempt {following.number} came after {_waited(waited_ns)}, earlier"
                f" than {_ASKERS[kind]}",
                events=(*attempt.events, *following.events),
                hint="Wait at least as long as the answer asks, or give up and say so.",
            )


def floor_between(
    history: History, model: ErrorModel, attempt: Attempt, following: Attempt
) -> Hint | None:
    """Return what the answer asks for, where the model has a check that judges it; else None."""
    for name, kind in _FLOORS.items():
        if also(model, name):
            asked = _asked_before(history, attempt, following, kind)
            if asked is not None:
                return asked
    return None


def _waited(waited_ns: int) -> str:
    if waited_ns <= 0:
        return "no wait at all"
    return format_roughly(max(waited_ns, MILLISECOND_NS))


def _asked_before(history: History, attempt: Attempt, following: Attempt, kind: str) -> Hint | None:
    """Return the hint that `following` is judged by; None where nothing asked for a wait."""
    dialect = history.trace.header.scenario.provider.dialect or DEFAULT_DIALECT
    asked = _asked_by(attempt, kind, dialect)
    if asked is None or not retried_as_it_was(attempt, following):
        return None
    if asked.kind != "reset":
        return asked
    # A reset says when a limit is full again, and something of it may be free before. Only a
    # provider that keeps real limits shows that nothing was, where it refuses again.
    keeps_limits = history.trace.header.scenario.provider.limits is not None
    signals = (attempt.signal, following.signal)
    refused = all(signal is not None and signal.status == 429 for signal in signals)
    return asked if keeps_limits and refused else None


def _asked_by(attempt: Attempt, kind: str, dialect: str) -> Hint | None:
    """Return the hint that `kind` of check is about, for one failed attempt."""
    hints = attempt.hints
    floor = floor_of(hints)
    has_standard = any(hint.kind == "retry-after" for hint in hints)
    if has_standard or kind == "retry-after":
        return floor if has_standard and kind == "retry-after" else None
    documented = tuple(hint for hint in hints if not hint.apis or dialect in hint.apis)
    resets = [hint for hint in hints if hint.kind == "reset"]
    return floor_of(documented) or min(resets, key=lambda hint: hint.wait_ns, default=None)


@check(
    "retries.tried",
    title="A passing failure is retried",
    says="A call does not give up at the first failure when a short wait can help.",
    unjudged="no failure was one where a short wait can help",
)
def tried(history: History, model: ErrorModel) -> Verdicts:
    """Judge the first failure of each request that was given up."""
    requirements = also(model, "retries.tried")
    for request in requests_of(history):
        if not request.attempts or not (request.gave_up or request.returned):
            continue
        first = request.attempts[0]
        # What would have come after an accident is not known.
        crashed = any(link.get("accident") for link in chain_of(request.end)[:1])
        if _disposition(model, first) != "retry" or first.content or crashed:
            continue
        asked = floor_of(first.hints)
        alone = len(request.attempts) == 1
        long = asked is not None and asked.wait_ns + SECOND_NS > _PATIENCE_NS
        took_ns = 0 if first.known_ns is None else first.known_ns - first.start.at_ns
        if alone and (long or took_ns > _PATIENCE_NS):
            continue
        yield held(*requirements)
        if alone:
            yield broken(
                requirements,
                call=request.id,
                expected=f"at least one more attempt after {first.signal}",
                observed="it gave up after its first attempt",
                events=(*first.events, *seqs(request.end)),
                hint="Retry a few times, with waits that grow.",
            )


@check(
    "retries.bounded",
    title="Attempts are bounded",
    says=f"One answer is asked for at most {ATTEMPTS_MAX} times.",
    unjudged="nothing was asked again",
)
def bounded(history: History, model: ErrorModel) -> Verdicts:
    """Judge how often each request was repeated."""
    requirements = also(model, "retries.bounded")
    for request in requests_of(history):
        if len(request.attempts) < 2:
            continue
        yield held(*requirements)
        if len(request.attempts) > ATTEMPTS_MAX:
            first, last = request.attempts[0], request.attempts[-1]
            over = format_roughly(last.start.at_ns - first.start.at_ns)
            yield broken(
                requirements,
                call=request.id,
                expected="the call gives up after a bounded number of attempts",
                observed=f"{len(request.attempts)} attempts in {over}, without giving up",
                events=tuple(item.start.seq for item in (*request.attempts[:5], last)),
                hint="Count attempts, and stop; limit the whole time as well.",
            )


@check(
    "retries.after-content",
    title="No retry after content was passed on",
    says="After content reached the caller, a failure ends the call.",
    unjudged="no content was passed on before a failure",
)
def after_content(history: History, model: ErrorModel) -> Verdicts:
    """Judge each failure after content was passed on."""
    requirements = also(model, "retries.after-content")
    for call in history.calls:
        passed_on = [event for event in history.of("declared.content") if event.call == call.id]
        for request in call.requests:
            for attempt, following in pairwise(request.attempts):
                piece = _during(passed_on, attempt.start, following.start)
                if piece is None or not attempt.failed:
                    continue
                yield held(*requirements)
                yield broken(
                    requirements,
                    call=request.id,
                    expected="no further attempt once content was passed on to the caller",
                    observed=f"attempt {following.number} began the answer anew",
                    events=(piece.seq, *attempt.events, *following.events),
                    hint="Raise the failure: the caller already has half an answer.",
                )
            last = request.last_failure
            if last is not None and _during(passed_on, last.start, None) is not None:
                yield held(*requirements)


def _during(
    events: list[TraceEvent], since: TraceEvent, until: TraceEvent | None
) -> TraceEvent | None:
    later = (event for event in events if event.seq > since.seq)
    return next((event for event in later if until is None or event.seq < until.seq), None)


@check(
    "retries.after-cancel",
    title="A cancel stops the attempts",
    says="A cancelled call of a client ends within a second, and sends no request after that.",
    unjudged="no call was cancelled",
)
def after_cancel(history: History, model: ErrorModel) -> Verdicts:
    """Judge what each cancelled call did after its cancel."""
    requirements = also(model, "retries.after-cancel")
    if history.trace.header.scenario.role != "provider_adapter":
        yield otherwise("cancels of whole turns are another check's")
        return
    for event in history.of("cancel.requested"):
        for id_ in event.calls or (event.call,):
            call = history.call(id_)
            if call is None or (call.over is not None and call.over.seq < event.seq):
                continue
            yield held(*requirements)
            yield from _judge_cancel(call, event, requirements)


def _judge_cancel(call: Call, event: TraceEvent, requirements: tuple[str, ...]) -> Verdicts:
    due_ns = event.at_ns + _CANCEL_NS
    late = [item for item in call.attempts if item.start.at_ns > due_ns]
    if late:
        after = format_roughly(late[0].start.at_ns - event.at_ns)
        observed = f"attempt {late[0].number} began {after} after the cancel"
        events = (event.seq, *late[0].events)
    elif call.over is None:
        observed, events = "the call never ended", (event.seq,)
    elif call.over.at_ns > due_ns:
        after = format_roughly(call.over.at_ns - event.at_ns)
        observed, events = f"the call ended {after} after the cancel", (event.seq, call.over.seq)
    else:
        return
    yield broken(
        requirements,
        call=call.id,
        expected="a cancelled call ends within a second, and asks nothing more",
        observed=observed,
        events=events,
        hint="Let CancelledError pass: an `except BaseException` or a retry on it swallows it.",
    )


@check(
    "retries.long-wait",
    title="No wait of an hour",
    says="A call that has no deadline of its own does not sleep for an hour or longer.",
    unjudged="no call retried after a wait",
)
def long_wait(history: History, model: ErrorModel) -> Verdicts:
    """Judge each wait, and the one in which the run ended."""
    requirements = also(model, "retries.long-wait")
    for request in requests_of(history):
        for slept_ns, events in _sleeps(history, request):
            yield held(*requirements)
            if slept_ns >= LONG_NS:
                yield broken(
                    requirements,
                    call=request.id,
                    expected="a call without a deadline does not sleep for an hour; it gives up and"
                    " says until when",
                    observed=f"it slept for {format_roughly(slept_ns)} before it asked again",
                    events=events,
                    hint="Have a ceiling for waits; above it, raise an error that carries the"
                    " time.",
                )
        asked = floor_of(request.last_failure.hints) if request.last_failure else None
        if request.gave_up and asked is not None and asked.wait_ns >= LONG_NS:
            yield held(*requirements)


def _sleeps(history: History, request: Request) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each wait in nanoseconds, with its events; one in which the run ended, if too long."""
    for attempt, following in pairwise(request.attempts):
        waited_ns = wait_before(attempt, following)
        if waited_ns is not None:
            yield waited_ns, (*attempt.events, *following.events)
    last = request.last_failure
    if last is not None and last.known_ns is not None and request.outcome == "open":
        waited_ns = history.trace.footer.ended_at_ns - last.known_ns
        if waited_ns >= LONG_NS:
            yield waited_ns, last.events
