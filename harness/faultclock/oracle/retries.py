"""Retries, as any provider and any user want them: neither pointless, nor too early, nor never.

No schedule is asked for. What is judged is what a client does about one failure: whether it asks
again for what waiting cannot mend, whether it asks at all again for what waiting can mend, and
whether it comes back before the provider asked it to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, zip_longest

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.oracle.attempts import Attempt, Request
from faultclock.oracle.chain import chain_of
from faultclock.oracle.check import (
    Check,
    Verdicts,
    Violation,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.retry_hints import Hint, floor_of, hints_of
from faultclock.oracle.signals import classify

__all__ = ["CHECKS", "floor_between", "requests_of", "retried_as_it_was", "wait_before"]

#: Who is asked to wait longer may well give up: people do not wait that long for an answer.
_PATIENCE_NS = 15 * SECOND_NS
#: To what waits of a second and more are cut where people read them.
_ROUGHLY_NS = 10 * MILLISECOND_NS
#: Which hints a check is about.
_FLOORS = {"retries.floor": "retry-after", "retries.hint": "own"}
#: Who asks for a wait, by the kind of hint.
_ASKERS = {"retry-after": "Retry-After asked", "own": "the provider's own hint asked"}


def requests_of(history: History) -> Iterator[Request]:
    """Yield the requests of all calls."""
    for call in history.calls:
        yield from call.requests


def wait_before(attempt: Attempt, following: Attempt) -> int | None:
    """Return how long the subject waited between two attempts, in nanoseconds; None: not known.

    Counted from the first instant at which it could know of the failure, so it is never too short.
    """
    since_ns = attempt.known_ns if attempt.knowable_ns is None else attempt.knowable_ns
    return None if since_ns is None else following.start.at_ns - since_ns


def retried_as_it_was(attempt: Attempt, following: Attempt) -> bool:
    """Return whether `following` sends the same request to the same provider."""
    if attempt.provider != following.provider:
        return False
    hosts = {_host_of(attempt), _host_of(following)} - {None}
    waited_ns = wait_before(attempt, following)
    if len(hosts) > 1 or (waited_ns is not None and waited_ns < 0):
        # What was begun before the failure was known is no answer to it.
        return False
    if attempt.asked is None or following.asked is None:
        return True
    one, other = attempt.asked.payload, following.asked.payload
    return one.get("body_sha256") == other.get("body_sha256")


def _host_of(attempt: Attempt) -> str | None:
    headers = {} if attempt.asked is None else attempt.asked.headers or {}
    host = headers.get("host") or attempt.start.host
    return None if host is None else str(host).lower().partition(":")[0]


def _disposition(model: ErrorModel, attempt: Attempt) -> str | None:
    return None if attempt.signal is None else classify(model, attempt.signal).disposition


def _pointless(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.pointless")
    yield otherwise("no failure was one where waiting cannot help")
    for request in requests_of(history):
        again = 0
        for attempt, following in _with_next(request):
            if _disposition(model, attempt) != "terminal" or _says_to_retry(attempt):
                continue
            if following is None and not request.gave_up and not request.returned:
                continue
            yield held(*requirements)
            if following is None or not retried_as_it_was(attempt, following):
                continue
            again += 1
            # A key may be renewed once: whether it is another one is in no trace.
            if again == (2 if _is_refused_key(attempt) else 1):
                yield _asked_for_nothing(request, attempt, requirements)


def _with_next(request: Request) -> Iterator[tuple[Attempt, Attempt | None]]:
    return zip_longest(request.attempts, request.attempts[1:])


def _is_refused_key(attempt: Attempt) -> bool:
    return attempt.signal is not None and attempt.signal.status == 401


def _says_to_retry(attempt: Attempt) -> bool:
    """Return whether the answer itself asks for another attempt."""
    headers = {} if attempt.signal is None else attempt.signal.headers
    return headers.get("x-should-retry") == "true" or floor_of(hints_of(attempt)) is not None


def _asked_for_nothing(
    request: Request, attempt: Attempt, requirements: tuple[str, ...]
) -> Violation:
    later = request.attempts[attempt.number :]
    times = "once" if len(later) == 1 else f"{len(later)} times"
    return Violation(
        requirement=next(iter(requirements), None),
        call=request.id,
        expected=f"no retry: a wait of seconds does not mend {attempt.signal}",
        observed=f"it sent the same request again, {times}",
        events=(*attempt.events, *(item.start.seq for item in later)),
        hint="Look at the code of the error beside the status: a used-up quota has the status of a"
        " rate limit. 408, 429 and 5xx can pass; other 4xx and used-up quotas cannot.",
    )


def _tried(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.tried")
    yield otherwise("no failure was one where a short wait can help")
    for request in requests_of(history):
        if not request.attempts or not (request.gave_up or request.returned):
            continue
        first = request.attempts[0]
        if _disposition(model, first) != "retry" or first.content or _crashed(request):
            continue
        asked = floor_of(hints_of(first))
        alone = len(request.attempts) == 1
        long = asked is not None and asked.wait_ns + SECOND_NS > _PATIENCE_NS
        if alone and (long or _took_ns(first) > _PATIENCE_NS):
            continue
        yield held(*requirements)
        if alone:
            ending = () if request.end is None else (request.end.seq,)
            yield broken(
                requirements,
                call=request.id,
                expected=f"at least one more attempt after {first.signal}",
                observed="it gave up after its first attempt",
                events=(*first.events, *ending),
                hint="Retry a few times, with waits that grow.",
            )


def _took_ns(attempt: Attempt) -> int:
    return 0 if attempt.known_ns is None else attempt.known_ns - attempt.start.at_ns


def _crashed(request: Request) -> bool:
    """Return whether an accident ended it: then what it would have done next is not known."""
    chain = chain_of(request.end)
    return bool(chain) and bool(chain[0].get("accident"))


def _floor(history: History, model: ErrorModel) -> Verdicts:
    return _too_early(history, model, "retries.floor")


def _own_floor(history: History, model: ErrorModel) -> Verdicts:
    return _too_early(history, model, "retries.hint")


def _too_early(history: History, model: ErrorModel, check: str) -> Verdicts:
    requirements, kind = also(model, check), _FLOORS[check]
    yield otherwise("no retry followed an answer that said when to come back")
    for request in requests_of(history):
        for attempt, following in pairwise(request.attempts):
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
                observed=f"attempt {following.number} came after {_short(waited_ns)}, earlier"
                f" than {_ASKERS[kind]}",
                events=(*attempt.events, *following.events),
                hint="Wait at least as long as the answer asks, or give up and say so.",
            )


def floor_between(
    history: History, model: ErrorModel, attempt: Attempt, following: Attempt
) -> Hint | None:
    """Return what the answer asks for, where the model has a check that judges it; else None."""
    for check, kind in _FLOORS.items():
        if also(model, check):
            asked = _asked_before(history, attempt, following, kind)
            if asked is not None:
                return asked
    return None


def _asked_before(history: History, attempt: Attempt, following: Attempt, kind: str) -> Hint | None:
    """Return the hint that `following` is judged by; None where nothing asked for a wait."""
    asked = _asked_by(attempt, kind)
    if asked is None or not retried_as_it_was(attempt, following):
        return None
    if asked.kind == "reset" and not _refused_again(history, attempt, following):
        return None
    return asked


def _asked_by(attempt: Attempt, kind: str) -> Hint | None:
    """Return the hint that `kind` of check is about, for one failed attempt."""
    hints = hints_of(attempt)
    floor = floor_of(hints)
    if kind == "retry-after":
        has_standard = any(hint.kind == "retry-after" for hint in hints)
        return floor if has_standard else None
    if any(hint.kind == "retry-after" for hint in hints):
        return None
    resets = [hint for hint in hints if hint.kind == "reset"]
    return floor or min(resets, key=lambda hint: hint.wait_ns, default=None)


def _refused_again(history: History, attempt: Attempt, following: Attempt) -> bool:
    """Return whether asking before a reset was in vain.

    A reset says when a limit is full again, and something of it may be free before. Only a provider
    that keeps real limits shows that nothing was.
    """
    if history.trace.header.scenario.provider.limits is None:
        return False
    one, other = attempt.signal, following.signal
    return one is not None and other is not None and one.status == other.status == 429


def _short(waited_ns: int) -> str:
    if waited_ns <= 0:
        return "no wait at all"
    step_ns = _ROUGHLY_NS if waited_ns >= SECOND_NS else MILLISECOND_NS
    return format_duration(max(waited_ns // step_ns, 1) * step_ns)


CHECKS = (
    Check(
        id="retries.pointless",
        title="No retry where waiting cannot help",
        says="A request with a refused key, an error or a used-up quota is not repeated unchanged.",
        run=_pointless,
    ),
    Check(
        id="retries.floor",
        title="Retry-After is a minimum wait",
        says="A client does not ask again before the time that Retry-After names.",
        run=_floor,
    ),
    Check(
        id="retries.hint",
        title="The provider's own hint is a minimum wait",
        says="A client does not ask again before the time in the provider's header or error body.",
        run=_own_floor,
    ),
    Check(
        id="retries.tried",
        title="A passing failure is retried",
        says="A call does not give up at the first failure when a short wait can help.",
        run=_tried,
    ),
)
