"""Refuses a provider script that could not be played, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import InputError, InternalError, UnknownNameError
from harness.fakes.dialect import Asked, Dialect, Exchange
from harness.fakes.headers import is_sendable
from harness.model.fault import FaultRule, HeaderValue, HttpError, OkWithErrorBody, StreamError
from harness.model.payload import ErrorPayload
from harness.model.scenario import ProviderScript

__all__ = ["check_script"]

#: A scenario that overrides these would break the framing, and with it the fault it plans.
_FRAMING_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})
#: Any stream, to see whether an error can stand in one.
_ASKED = Asked(model="any", stream=True, refusal=None, body={})
_EXCHANGE = Exchange(number=1, seed=0, unix_s=0, think_ms=0)


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
    needed = list(dialect.own_payloads)
    for rule in script.faults:
        if isinstance(rule.then, (HttpError, OkWithErrorBody, StreamError)):
            needed.append(rule.then.error)
    needed += [rule.error for rule in script.refusals]
    for name in needed:
        if name not in payloads:
            raise UnknownNameError("error payload", name, tuple(payloads))
    # Those of a dialect are checked by its tests; what a scenario brings along is checked here.
    for name in script.payloads:
        payload = payloads[name]
        headers = {"content-type": payload.content_type, **payload.headers}
        _check_headers(f"the payload {name!r}", headers)
    for rule in script.faults:
        _check_rule(rule, payloads, dialect)


def _check_rule(rule: FaultRule, payloads: Mapping[str, ErrorPayload], dialect: Dialect) -> None:
    fault = rule.then
    if isinstance(fault, (OkWithErrorBody, StreamError)):
        payload = payloads[fault.error]
        told = payload.body is not None and dialect.error_facts(payload.body) is not None
        if not told or (isinstance(fault, StreamError) and not _has_event(payload, dialect)):
            raise InputError(
                f"fault {rule.id!r}: the payload {fault.error!r} has no error object",
                hint=f"name one whose body is JSON, and an error in the dialect {dialect.name}",
            )
    if isinstance(fault, HttpError):
        _check_headers(f"fault {rule.id!r}", fault.headers)


def _has_event(payload: ErrorPayload, dialect: Dialect) -> bool:
    """Whether the error can stand inside a stream: there it may need more than in an answer."""
    try:
        dialect.error_event(payload, _ASKED, _EXCHANGE, 0)
    except InternalError:
        return False
    return True


def _check_headers(where: str, headers: Mapping[str, HeaderValue]) -> None:
    for name, value in headers.items():
        if name.lower() in _FRAMING_HEADERS or not is_sendable(name, value):
            raise InputError(
                f"{where}: the header {name!r} cannot be sent as {value!r}",
                hint="use visible ASCII without blanks at the ends, and leave the framing "
                "headers (connection, content-length, transfer-encoding) to the provider",
            )
