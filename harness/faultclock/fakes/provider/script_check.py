"""Refuses a provider script that could not be played, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.errors import InputError, InternalError, UnknownNameError
from faultclock.fakes.provider.conversation import EXAMPLES, OBJECTIONS
from faultclock.fakes.provider.refusal_words import filled
from faultclock.fakes.wire.dialect import Asked, Dialect, Exchange
from faultclock.fakes.wire.headers import is_sendable
from faultclock.model.again import kept_while_same
from faultclock.model.scenario.fault import (
    AnswerEnds,
    FaultRule,
    HeaderValue,
    HttpError,
    OkWithErrorBody,
    StreamError,
)
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript

#: A scenario that overrides these would break the framing, and with it the fault it plans.
_FRAMING_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})
#: Any stream, to see whether an error can stand in one.
_ASKED = Asked(model="any", stream=True, refusal=None, body={})
_EXCHANGE = Exchange(number=1, seed=0, unix_s=0, think_ms=0)


@kept_while_same
def played_payloads(
    script: ProviderScript, payloads: Mapping[str, ErrorPayload], dialect: Dialect
) -> tuple[Mapping[str, ErrorPayload], Mapping[str, ErrorPayload]]:
    """Return the error bodies that a script is played with, and those of objections unfilled.

    Args:
        payloads: the error bodies of its dialect.

    Raises:
        UnknownNameError, InputError: it cannot be played; see `check_script`.
    """
    known = {**payloads, **script.payloads}
    objections = {name: known[name] for name in OBJECTIONS & payloads.keys()}
    # A fault that names one finds a conversation in which nothing is wrong.
    known |= {name: filled(it, EXAMPLES) for name, it in objections.items()}
    check_script(script, known, dialect)
    return known, objections


def check_script(
    script: ProviderScript, payloads: Mapping[str, ErrorPayload], dialect: Dialect
) -> None:
    """Check that every fault and every refusal of `script` can be put on the wire as it is written.

    Args:
        payloads: the error bodies of its dialect, and its own.
        dialect: the one that it is played in.

    Raises:
        UnknownNameError: a payload that is needed does not exist.
        InputError: a fault says something that cannot be sent.
    """
    for name in dialect.own_payloads:
        if name not in payloads:
            raise UnknownNameError("error payload", name, tuple(payloads))
    for _, error in unplayable(script, payloads, dialect):
        raise error


def unplayable(
    script: ProviderScript, payloads: Mapping[str, ErrorPayload], dialect: Dialect
) -> Iterator[tuple[tuple[str | int, ...], InputError]]:
    """Yield what of `script` cannot be put on the wire: where it stands in it, and why.

    Args:
        payloads, dialect: as those of `check_script`.
    """
    for place, refusal in script.refusals_by_place:
        error = _unknown(refusal.error, payloads)
        if error is None and payloads[refusal.error].status < 400:
            error = InputError(
                f"{refusal.id!r} cannot refuse with {refusal.error!r}: its status is not an error",
                hint="name a payload with a status from 400 on",
            )
        if error is not None:
            yield place, error
    # Those of a dialect are checked by its tests; what a scenario brings along is checked here.
    for name in script.payloads:
        payload = payloads[name]
        headers = {"content-type": payload.content_type, **payload.headers}
        error = _unsendable(f"the payload {name!r}", headers)
        if error is not None:
            yield ("payloads", name), error
    for index, rule in enumerate(script.faults):
        error = _wrong_rule(rule, payloads, dialect)
        if error is not None:
            yield ("faults", index, "then"), error


def _unknown(name: str, payloads: Mapping[str, ErrorPayload]) -> InputError | None:
    known = name in payloads
    return None if known else UnknownNameError("error payload", name, tuple(payloads))


def _wrong_rule(
    rule: FaultRule, payloads: Mapping[str, ErrorPayload], dialect: Dialect
) -> InputError | None:
    fault = rule.then
    if isinstance(fault, AnswerEnds) and fault.how not in dialect.ends:
        known = ", ".join(sorted(dialect.ends)) or "none"
        return InputError(
            f"fault {rule.id!r}: no answer of the dialect {dialect.name} ends so: {fault.how}",
            hint=f"it knows these ends: {known}",
        )
    if isinstance(fault, (HttpError, OkWithErrorBody, StreamError)):
        unknown = None if fault.error is None else _unknown(fault.error, payloads)
        if unknown is not None:
            return unknown
    if isinstance(fault, (OkWithErrorBody, StreamError)) and fault.error is not None:
        payload = payloads[fault.error]
        told = payload.body is not None and dialect.error_facts(payload.body) is not None
        # A page may stand in the place of an answer, and in no stream.
        told |= isinstance(fault, OkWithErrorBody) and payload.text is not None
        if not told or (isinstance(fault, StreamError) and not _has_event(payload, dialect)):
            return InputError(
                f"fault {rule.id!r}: the payload {fault.error!r} has no error object",
                hint=f"name one whose body is JSON, and an error in the dialect {dialect.name}",
            )
    if isinstance(fault, HttpError):
        return _unsendable(f"fault {rule.id!r}", fault.headers)
    return None


def _has_event(payload: ErrorPayload, dialect: Dialect) -> bool:
    """Whether the error can stand inside a stream: there it may need more than in an answer."""
    try:
        dialect.error_event(payload, _ASKED, _EXCHANGE, 0)
    except InternalError:
        return False
    return True


def _unsendable(where: str, headers: Mapping[str, HeaderValue]) -> InputError | None:
    for name, value in headers.items():
        if name.lower() in _FRAMING_HEADERS or not is_sendable(name, value):
            return InputError(
                f"{where}: the header {name!r} cannot be sent as {value!r}",
                hint="use visible ASCII without blanks at the ends, and leave the framing "
                "headers (connection, content-length, transfer-encoding) to the provider",
            )
    return None
