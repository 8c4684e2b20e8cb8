"""Signal: what a subject can see of one failure, and the rule of the error model that it meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from faultclock.model.error_model.error_model import (
    Disposition,
    ErrorModel,
    SignalKind,
    SignalPattern,
    SignalRule,
)

_WORDS: dict[SignalKind, str] = {
    "http_error": "an error status",
    "error_body": "200 with an error object",
    "stream_error": "an error object in the stream",
    "stream_cut": "the stream was cut off",
    "body_cut": "the answer was cut off",
    "malformed_body": "a body that is no whole answer",
    "dns_failure": "the host name did not resolve",
    "connect_refused": "the connection was refused",
    "connect_timeout": "the connection was never answered",
    "connection_reset": "the connection was reset before an answer",
    "connection_closed": "the connection was closed before an answer",
    "deadline": "the deadline passed",
}


class Signal(Struct, frozen=True, kw_only=True):
    """One failure, as it can be seen from the subject's side of the wire.

    Attributes:
        status: of an `http_error` only: a 200 says nothing of the failure inside it.
        error_code: the provider's own `error.code`, as text.
        error_type: the provider's own `error.type`.
        means: the name that the error has whichever provider sends it; None where it is the code,
            or where it is unknown.
        headers: of the response, lower-case names; empty where there was none.
        retry_delay: how long to wait, where the error object itself says it (`RetryInfo`).
        message: of the error object; nothing is decided by its words.
    """

    kind: SignalKind
    status: int | None = None
    error_code: str | None = None
    error_type: str | None = None
    means: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    retry_delay: str | None = None
    message: str | None = None

    def __str__(self) -> str:
        what = str(self.status) if self.status is not None else _WORDS[self.kind]
        # Some providers give the status once more as their code: that names nothing.
        named = next(
            (word for word in (self.error_code, self.error_type) if word not in (None, what)), None
        )
        if named is not None:
            what = f"{what} {named}" if self.status is not None else f"{what}: {named}"
        # What is decided by has to be seen in what is said of it.
        return what if self.means is None else f"{what} (in Faultclock: {self.means})"


class Classification(Struct, frozen=True, kw_only=True):
    """What the error model says a failure is.

    Attributes:
        pair: class and code; None where the document has none.
        disposition: None where the document does not say what to do.
        requirement: of the rule that decided; None when no rule matched.
        unmapped: why there is no class.
    """

    pair: tuple[str, str] | None
    disposition: Disposition | None
    requirement: str | None
    unmapped: str | None = None

    def __str__(self) -> str:
        return "unmapped" if self.pair is None else "/".join(self.pair)


def classify(
    model: ErrorModel, signal: Signal, rules: Sequence[SignalRule] | None = None
) -> Classification:
    """Return what `model` says of `signal`: the first rule that matches decides.

    Args:
        rules: of whom the signal is for: the `tool_signals` for a tool; None: the `signals`.
    """
    known = model.signals if rules is None else rules
    rule = next((rule for rule in known if meets(rule.when, signal)), None)
    if rule is None:
        return Classification(
            pair=None,
            disposition=None,
            requirement=None,
            unmapped="no signal rule of the error model matches it",
        )
    mapped = rule.error_class is not None and rule.code is not None
    return Classification(
        pair=(str(rule.error_class), str(rule.code)) if mapped else None,
        disposition=rule.disposition,
        requirement=rule.requirement,
        unmapped=rule.unmapped,
    )


def meets(pattern: SignalPattern, signal: Signal) -> bool:
    """Return whether every condition that `pattern` gives holds for `signal`.

    A request has neither a cause nor a node of its own: what asks for one is for other failures.
    """
    if pattern.causes or pattern.roles or pattern.where:
        return False
    if pattern.kinds and signal.kind not in pattern.kinds:
        return False
    if pattern.statuses and not any(_in_range(signal.status, item) for item in pattern.statuses):
        return False
    if pattern.error_codes and not {signal.error_code, signal.means} & {*pattern.error_codes}:
        return False
    return not pattern.error_types or signal.error_type in pattern.error_types


def _in_range(status: int | None, text: str) -> bool:
    if status is None:
        return False
    first, _, last = text.partition("-")
    return int(first) <= status <= int(last or first)
