"""The stud-cli error model as a provider adapter applies it, without any I/O.

    AttemptError      what one attempt could see of its failure
      -> classify()     class and code, by status and provider code, never by message
      -> StudCall       retry or not, after what wait; who is told what

The document's rows, in the words of this file:

    ProviderTransient / RateLimited      6 attempts; 5, 10, 20, 40, 80 s, each ±20 %
    ProviderTransient / NetworkTimeout   3 attempts; 1, 2 s, each ±20 %
    ProviderTransient / Provider5xx      the same, counted together with NetworkTimeout
    Retry-After                          honored exactly, in place of the schedule
    ProviderCapability                   fails fast
    no class in the document             fails fast, with neither class nor code

The arithmetic is this file's own on purpose: what judges it must not share a bug with it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

from msgspec import Struct

from faultclock.subjects.ports import ProviderRequest, TypedError
from faultclock.subjects.provider_words import Meaning, said
from faultclock.subjects.retry_after import retry_after_s

FailureKind = Literal[
    "http_error", "error_body", "stream_error", "network", "deadline", "cut", "malformed"
]
#: Half width of the jitter around a scheduled wait.
JITTER = 0.2

_RATE_LIMITED = ("ProviderTransient", "RateLimited")
_PROVIDER_5XX = ("ProviderTransient", "Provider5xx")
_NETWORK_TIMEOUT = ("ProviderTransient", "NetworkTimeout")
_CONTEXT_WINDOW = ("ProviderCapability", "ContextWindowTooSmall")

#: How providers say that a prompt does not fit; Cohere and Perplexity do so in the type.
_TOO_LONG = frozenset({"context_length_exceeded", "TOO_MANY_TOKENS", "too_many_prompt_tokens"})
_ANSWERS: dict[Meaning, tuple[str, str] | None] = {
    "limit": _RATE_LIMITED,
    "server": _PROVIDER_5XX,
    "overloaded": _PROVIDER_5XX,
    "timeout": _PROVIDER_5XX,
}

#: What a person is told. No class names, no codes, nothing of the provider's own text.
_FOR_THE_USER = {
    "RateLimited": "The AI provider is limiting requests at the moment. Please try again in a"
    " few minutes.",
    "Provider5xx": "The AI provider has a problem of its own. Please try again later.",
    "NetworkTimeout": "The AI provider could not be reached. Please check the connection and"
    " try again.",
    "ContextWindowTooSmall": "This conversation is too long for the chosen model. Please shorten"
    " it or pick a model with a larger context window.",
}
_FOR_THE_USER_OTHERWISE = (
    "The AI provider did not accept the request. An operator can find the details in the audit"
    " trail."
)
_FOR_THE_MODEL = "The model provider did not answer the request."


class AttemptError(Exception):
    """One attempt failed. Carries what could be seen, and no judgement.

    Attributes:
        kind: where it was seen: in a status, in an error object, or on the connection.
        status: HTTP status, None when there was none.
        provider_code: the provider's own `error.code`.
        provider_type: the provider's own `error.type`.
        provider_message: its words, for operators; nothing is decided by them.
        retry_after: text of the Retry-After header.
        after_content: whether some of the answer's text had arrived by then.
    """

    after_content = False

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        status: int | None = None,
        provider_code: str | int | None = None,
        provider_type: str | None = None,
        provider_message: str | None = None,
        retry_after: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.provider_code = provider_code
        self.provider_type = provider_type
        self.provider_message = provider_message
        self.retry_after = retry_after

    def context(self) -> dict[str, Any]:
        """Return what operators want to know, without anything secret."""
        facts = {
            "signal": self.kind,
            "status": self.status,
            "provider_code": self.provider_code,
            "provider_type": self.provider_type,
            "provider_message": self.provider_message,
            "retry_after": self.retry_after,
        }
        return {name: value for name, value in facts.items() if value is not None}


def error_object(
    kind: FailureKind,
    fields: Mapping[str, Any],
    status: int,
    retry_after: str | None = None,
    place: str = "",
) -> AttemptError:
    """Return what the fields of a provider's error object say; `place` is where it stands."""
    code, type_, message = (fields.get(name) for name in ("code", "type", "message"))
    return AttemptError(
        kind,
        f"the provider answered {status} with an error{place} ({code or type_ or 'no code'})",
        status=status,
        provider_code=code if isinstance(code, (str, int)) else None,
        provider_type=type_ if isinstance(type_, str) else None,
        provider_message=message if isinstance(message, str) else None,
        retry_after=retry_after,
    )


class UnmappedProviderError(Exception):
    """A failure for which the document has no class: it is raised as it is, and not retried."""

    error_class: str | None = None
    code: str | None = None


class Policy(Struct, frozen=True, kw_only=True):
    """How often a failure is met before giving up, and the first wait of a doubling schedule."""

    name: str
    attempts_max: int
    first_wait_s: float


_RATE_POLICY = Policy(name="rate limit", attempts_max=6, first_wait_s=5.0)
_TRANSIENT_POLICY = Policy(name="transient", attempts_max=3, first_wait_s=1.0)
POLICIES: dict[tuple[str, str], Policy] = {
    _RATE_LIMITED: _RATE_POLICY,
    _PROVIDER_5XX: _TRANSIENT_POLICY,
    _NETWORK_TIMEOUT: _TRANSIENT_POLICY,
}


def classify(failure: AttemptError) -> tuple[str, str] | None:
    """Return class and code of `failure`, None where the document has none."""
    if failure.kind in ("network", "deadline", "cut"):
        return _NETWORK_TIMEOUT
    if failure.kind == "malformed":
        return None
    code = str(failure.provider_code)
    if failure.kind == "http_error":
        status = failure.status or 0
        too_long = 400 <= status <= 499 and _TOO_LONG & {code, failure.provider_type}
        return _CONTEXT_WINDOW if too_long else _by_status(status)
    if _TOO_LONG & {code, failure.provider_type}:
        return _CONTEXT_WINDOW
    return said(failure.provider_code, failure.provider_type, _ANSWERS, _by_status)


def _by_status(status: int) -> tuple[str, str] | None:
    if status == 429:
        return _RATE_LIMITED
    return _PROVIDER_5XX if 500 <= status <= 599 else None


class StudCall:
    """One call's way through its failures: counts them, waits or gives up, tells who must know.

    A call object is told of each failure; it answers with a wait, or raises the error that ends
    the call. Each step is a method of its own, so that a miniature can get exactly one wrong.
    """

    def __init__(self, request: ProviderRequest) -> None:
        self.request = request
        self.deadline_s: float | None = request.timeout_s
        self.attempt = 0
        self._failures: dict[str, int] = {}

    def next_wait_s(self, failure: AttemptError) -> float:
        """Return how many seconds to wait before the next attempt.

        Raises:
            TypedError: the failure is terminal, or its attempts are used up.
            UnmappedProviderError: the document has no class for it.
        """
        self.attempt += 1
        kind = self.classify(failure)
        if kind is None:
            self.tell_everyone(None, None, failure)
            raise self.unmapped(failure) from failure
        error = TypedError(*kind, str(failure), failure.context())
        error.__cause__ = failure
        policy = self.policy(failure, kind)
        if policy is None:
            self.tell_everyone(*kind, failure)
            raise error
        # Failures of one policy do not use up the attempts of another.
        count = self._failures[policy.name] = self._failures.get(policy.name, 0) + 1
        if count >= policy.attempts_max:
            self.tell_everyone(*kind, failure)
            self.give_up(error)
        self.audit_retry(error)
        return self.wait_s(failure, policy, count)

    def classify(self, failure: AttemptError) -> tuple[str, str] | None:
        """Return class and code."""
        return classify(failure)

    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        """Return the retry policy of `kind`, None when it is terminal."""
        del failure
        return POLICIES.get(kind)

    def wait_s(self, failure: AttemptError, policy: Policy, count: int) -> float:
        """Return the wait after the `count`-th failure (1-based) of this policy, in seconds."""
        asked_s = self.retry_after_s(failure)
        return self.scheduled_s(policy, count) if asked_s is None else asked_s

    def retry_after_s(self, failure: AttemptError) -> float | None:
        """Return what the provider asks for, None when it asks nothing."""
        return retry_after_s(failure.retry_after, time.time_ns())

    def scheduled_s(self, policy: Policy, count: int) -> float:
        """Return first wait * 2 ** (count - 1), anywhere within ±20 %."""
        return policy.first_wait_s * float(2 ** (count - 1)) * self.jitter_factor()

    def jitter_factor(self) -> float:
        """Return what a scheduled wait is multiplied with."""
        return random.uniform(1 - JITTER, 1 + JITTER)

    def audit_retry(self, error: TypedError) -> None:
        """Put the retry into the audit trail, before it happens."""
        self.request.host.audit(
            error_class=error.error_class,
            code=error.code,
            context={**error.context, "retried": True},
            attempt=self.attempt,
        )

    def tell_everyone(
        self, error_class: str | None, code: str | None, failure: AttemptError
    ) -> None:
        """Tell audit trail, user and model of the end, each what is theirs to know."""
        self.audit_end(error_class, code, failure)
        self.tell_user(code, failure)
        self.tell_model(error_class, code, failure)

    def audit_end(self, error_class: str | None, code: str | None, failure: AttemptError) -> None:
        """Put the full error into the audit trail."""
        context = {**failure.context(), "message": str(failure)}
        self.request.host.audit(
            error_class=error_class, code=code, context=context, attempt=self.attempt
        )

    def tell_user(self, code: str | None, failure: AttemptError) -> None:
        """Show a message that a person can act on."""
        del failure
        self.request.host.show_user(_FOR_THE_USER.get(code or "", _FOR_THE_USER_OTHERWISE))

    def tell_model(self, error_class: str | None, code: str | None, failure: AttemptError) -> None:
        """Hand the model a typed shape; an error without a class has none."""
        del failure
        if error_class is not None:
            self.request.host.tell_model(
                {"class": error_class, "code": code, "message": _FOR_THE_MODEL}
            )

    def unmapped(self, failure: AttemptError) -> Exception:
        """Return the error for a failure without a class."""
        return UnmappedProviderError(str(failure))

    def give_up(self, error: TypedError) -> NoReturn:
        """Raise the wrapper that ends the call: same class and code, and the cause.

        Raises:
            TypedError: always.
        """
        message = f"gave up after {self.attempt} attempts: {error}"
        raise TypedError(error.error_class, error.code, message, error.context) from error
