"""Which exchanges belong together: sessions, and within one the attempts of each call.

A session is one program at one provider under one key: another host, key, session id or a pause of
ten minutes begins another one. A call is what one layer asked for, with all its attempts: an SDK
that counts them in a header is believed; without that, an equal request after a failure is the
next attempt, and after a good answer another call.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from msgspec import Struct, field

from faultclock.recordings.bodies import as_json
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind, header
from faultclock.recordings.providers import Destination, answers_tools

#: Longer than any pause that an SDK makes by itself between two attempts of a call.
GAP_S = 600.0
#: A scenario that asks for more at once is too long to read; the rest makes the next one.
CALLS_MAX = 60
#: A clock that has whole seconds may seem to go back by one.
_BACK_S = 2.0

_CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_SESSION_HEADERS = ("session-id", "session_id", "x-session-id", "x-conversation-id")
_SESSION_KEYS = ("session_id", "conversation_id", "conversation")
_ATTEMPT = re.compile(r"\battempt=(\d{1,4})\b")
_SIGNED = re.compile(r"\bCredential=([^/,\s]{4,200})")
_KEY_PARAMETER = re.compile(r"[?&](?:key|api-key)=([^&]*)")


class Placed(Struct, frozen=True, kw_only=True):
    """An exchange with a provider, and whether a client may make another attempt after it."""

    exchange: Exchange
    destination: Destination
    failed: bool


class Call(Struct):
    """The attempts of one call, in order."""

    attempts: list[Placed]
    #: What the request is, so that another attempt is known.
    print: str
    invocation: str | None = None
    last_number: int | None = None

    @property
    def first(self) -> Exchange:
        """The exchange of the first attempt."""
        return self.attempts[0].exchange


class Session(Struct):
    """One program at one provider, as far as the recording shows."""

    dialect: str
    base_url: str | None
    calls: list[Call] = field(default_factory=list)
    last_s: float | None = None

    @property
    def exchanges(self) -> int:
        """How many exchanges it has."""
        return sum(len(call.attempts) for call in self.calls)


def sessions_of(placed: Sequence[Placed], oddities: Oddities) -> tuple[Session, ...]:
    """Return the sessions in the order in which they begin."""
    sessions: list[Session] = []
    current: dict[tuple[str | None, ...], Session] = {}
    for item in placed:
        dialect = item.destination.dialect
        if dialect is None:
            continue
        key = (dialect, item.destination.host, *_who(item.exchange))
        session = current.get(key)
        if session is not None and _is_apart(session, item.exchange, oddities):
            session = None
        call = None if session is None else _call_of(session, item, oddities)
        if session is None or (call is None and len(session.calls) >= CALLS_MAX):
            session = current[key] = Session(dialect=dialect, base_url=item.destination.base_url)
            sessions.append(session)
        if call is None:
            session.calls.append(_begun(item, oddities))
        at_s = item.exchange.answered_at_s
        session.last_s = at_s if at_s is not None else session.last_s
    return tuple(sessions)


def turns_of(session: Session) -> list[list[Call]]:
    """Return the calls of each turn: one that brings the answers of tools belongs to its turn."""
    turns: list[list[Call]] = []
    for call in session.calls:
        if turns and answers_tools(call.first):
            turns[-1].append(call)
        else:
            turns.append([call])
    return turns


def _who(exchange: Exchange) -> tuple[str | None, str | None]:
    """Return digests of the key that was used and of the session that is named."""
    found = [header(exchange.request_headers, name) for name in _CREDENTIALS]
    match = _KEY_PARAMETER.search(exchange.url)
    found.append(match[1] if match is not None else None)
    # A signature is another one in each request; what it was made with is the key.
    found = [signed[1] if (signed := _SIGNED.search(told or "")) else told for told in found]
    body = as_json(exchange.request_body)
    named: list[object] = [header(exchange.request_headers, name) for name in _SESSION_HEADERS]
    if isinstance(body, dict):
        named += [body.get(key) for key in _SESSION_KEYS]
    return _digest(found), _digest([item for item in named if isinstance(item, str)])


def _digest(values: Sequence[str | None]) -> str | None:
    told = [value for value in values if value]
    return hashlib.sha256("\n".join(told).encode("utf-8", "replace")).hexdigest() if told else None


def _is_apart(session: Session, exchange: Exchange, oddities: Oddities) -> bool:
    at_s, last_s = exchange.answered_at_s, session.last_s
    if at_s is None or last_s is None:
        return False
    if at_s < last_s - _BACK_S:
        message = "the clock goes back here: another session begins"
        oddities.note(OddityKind.TIME_GOES_BACK, exchange.place, message)
        return True
    return at_s - last_s > GAP_S


def _call_of(session: Session, item: Placed, oddities: Oddities) -> Call | None:
    """Return the call that this is the next attempt of, with it added; None for a new call."""
    exchange = item.exchange
    print_, number = _print(exchange), _number(exchange)
    invocation = header(exchange.request_headers, "amz-sdk-invocation-id")
    for call in reversed(session.calls):
        same = call.invocation == invocation if invocation else call.print == print_
        if not same or not call.attempts[-1].failed:
            if same and call.print == print_:
                return None
            continue
        if number is None and call.last_number is None:
            fits = True
        else:
            fits = number is not None and call.last_number == number - 1
        if fits:
            call.attempts.append(item)
            call.last_number = number
            return call
        if call.print == print_ and number == 1:
            message = (
                "the request of an earlier call that failed is sent again as a new call: an outer"
                " layer may have tried again"
            )
            oddities.note(OddityKind.REPEATED_REQUEST, exchange.place, message)
            return None
    return None


def _begun(item: Placed, oddities: Oddities) -> Call:
    exchange = item.exchange
    number = _number(exchange)
    if number is not None and number > 1:
        message = "the attempts of this call before this one are not in the recording"
        oddities.note(
            OddityKind.ATTEMPTS_MISSING, exchange.place, message, detail=f"this is number {number}"
        )
    return Call(
        attempts=[item],
        print=_print(exchange),
        invocation=header(exchange.request_headers, "amz-sdk-invocation-id"),
        last_number=number,
    )


def _number(exchange: Exchange) -> int | None:
    """Return the 1-based number of the attempt that an SDK says this is."""
    retries = header(exchange.request_headers, "x-stainless-retry-count")
    if retries is not None and retries.isdecimal() and len(retries) < 5:
        return int(retries) + 1
    match = _ATTEMPT.search(header(exchange.request_headers, "amz-sdk-request") or "")
    return int(match[1]) if match is not None else None


def _print(exchange: Exchange) -> str:
    """Return a digest of what was asked; the order of keys and white space do not matter."""
    value = as_json(exchange.request_body)
    body = repr(_sorted(value)) if value is not None else repr(exchange.request_body)
    text = f"{exchange.method} {exchange.url} {body}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return sorted((str(key), _sorted(below)) for key, below in value.items())
    return [_sorted(item) for item in value] if isinstance(value, list) else value
