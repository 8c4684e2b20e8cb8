"""The OpenAI SDK under the stud-cli policy: SDK retries off, `tenacity` in their place.

What to look at when you write an adapter of your own: the SDK's many ways to say that an attempt
failed become one `AttemptError` each (`failure_of`), some failures that it does not notice are
noticed here (an error object in a 200, a stream without an end), each attempt has one deadline,
and `tenacity` is told per failure whether, when and how often to retry.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from faultclock.subjects.asking import arguments
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.reading import StreamedReply, reply_of
from faultclock.subjects.retry_after import retry_after_s
from faultclock.subjects.stud import (
    JITTER,
    POLICIES,
    AttemptError,
    Policy,
    StudCall,
    classify,
    error_object,
)


def _client(request: ProviderRequest) -> openai.AsyncOpenAI:
    # The SDK's timeouts are per read; the deadline of an attempt is set around it instead.
    return openai.AsyncOpenAI(
        api_key=request.api_key, base_url=request.base_url, max_retries=0, timeout=None
    )


@provider_adapter(
    id="openai-stud",
    title="OpenAI SDK with tenacity, by the stud-cli model",
    open=_client,
    declares=("errors", "audit", "user", "model"),
    warm_in_place=True,
    distributions=("openai", "httpx2", "tenacity"),
)
async def openai_stud(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    rules = _Rules(request)
    retrying = AsyncRetrying(
        retry=retry_if_exception(rules.wants_retry),
        stop=rules.is_last,
        wait=rules.wait_s,
        before_sleep=rules.audit,
        sleep=asyncio.sleep,
        reraise=True,
    )
    try:
        return await retrying(_attempt, request, client)
    except AttemptError as failure:
        raise rules.final_error(failure) from failure


async def _attempt(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
    try:
        async with asyncio.timeout(request.timeout_s):
            return await _ask(request, client)
    except _FAILURES as error:
        raise failure_of(error) from error


async def _ask(request: ProviderRequest, client: openai.AsyncOpenAI) -> Reply:
    completions = client.chat.completions
    if not request.stream:
        return _checked(await completions.create(**arguments(request)))
    streamed = StreamedReply()
    async for chunk in await completions.create(**arguments(request), stream=True):
        with _reading():
            _touch(choice.delta for choice in chunk.choices)
            streamed.add(chunk)
    if streamed.finish_reason is None:
        raise AttemptError("cut", "the stream ended before the answer was whole", status=200)
    return streamed.reply()


def _checked(completion: Any) -> Reply:
    # The SDK does not validate answers: an error object becomes a completion without choices.
    error = getattr(completion, "error", None)
    if isinstance(error, Mapping):
        raise error_object("error_body", error, status=200)
    with _reading():
        _touch([completion.choices[0].message])
    reply = reply_of(completion)
    assert isinstance(reply, Reply), "a message has a text, if only an empty one"
    return reply


def _touch(messages: Iterable[Any]) -> None:
    """Read what an answer must have, as a program does that trusts its types."""
    for message in messages:
        "".join([message.content or ""])
        for call in message.tool_calls or ():
            "".join([call.function.name or "", call.function.arguments or ""])


@contextmanager
def _reading() -> Iterator[None]:
    # Nor does it validate the types of what is in an answer.
    try:
        yield
    except (AttributeError, IndexError, TypeError) as error:
        raise AttemptError(
            "malformed", "the answer is not a chat completion", status=200
        ) from error


#: What the SDK lets through; the last two are a 200 that is no JSON.
_FAILURES = (
    openai.OpenAIError,
    httpx2.HTTPError,
    TimeoutError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)


def failure_of(error: BaseException) -> AttemptError:
    """Return what an exception of an attempt says, by its type and fields, not by its message."""
    match error:
        case openai.APIStatusError():
            retry_after = error.response.headers.get("retry-after")
            body = error.body if isinstance(error.body, Mapping) else {}
            return error_object("http_error", body, error.status_code, retry_after)
        case TimeoutError() | openai.APITimeoutError() | httpx2.TimeoutException():
            return AttemptError("deadline", "the provider did not answer in time")
        case openai.APIConnectionError() | httpx2.TransportError():
            return AttemptError("network", "the connection to the provider failed")
        case openai.APIError() if isinstance(error.body, Mapping):
            return error_object("stream_error", error.body, status=200)
    return AttemptError("malformed", "the answer is not a chat completion", status=200)


class _Rules:
    """What `tenacity` is told about the failures of one call."""

    def __init__(self, request: ProviderRequest) -> None:
        self._request = request
        self._report = StudCall(request)
        self._counts: Counter[str] = Counter()

    def wants_retry(self, error: BaseException) -> bool:
        """Count the failure; return whether its class may be retried at all."""
        if not isinstance(error, AttemptError):
            return False
        self._report.attempt += 1
        policy = self._policy(error)
        if policy is not None:
            self._counts[policy.name] += 1
        return policy is not None

    def is_last(self, state: RetryCallState) -> bool:
        """Return whether the attempts of this failure's policy are used up."""
        policy = self._policy(_failure(state))
        return policy is None or self._counts[policy.name] >= policy.attempts_max

    def wait_s(self, state: RetryCallState) -> float:
        """Return what Retry-After asks, otherwise the schedule's wait, jittered."""
        failure = _failure(state)
        asked_s = retry_after_s(failure.retry_after, time.time_ns())
        policy = self._policy(failure)
        if asked_s is not None or policy is None:
            return asked_s or 0.0
        nominal_s: float = policy.first_wait_s * 2 ** (self._counts[policy.name] - 1)
        return nominal_s + nominal_s * random.uniform(-JITTER, JITTER)

    def audit(self, state: RetryCallState) -> None:
        """Audit a retry before its wait begins."""
        failure = _failure(state)
        kind = classify(failure)
        if kind is not None:
            self._report.audit_retry(TypedError(*kind, str(failure), failure.context()))

    def final_error(self, failure: AttemptError) -> Exception:
        """Tell everyone of the end, and return the error to raise."""
        kind = classify(failure)
        if kind is None:
            self._report.tell_everyone(None, None, failure)
            return self._report.unmapped(failure)
        self._report.tell_everyone(*kind, failure)
        message = f"attempt {self._report.attempt} was the last: {failure}"
        return TypedError(*kind, message, failure.context())

    def _policy(self, failure: AttemptError) -> Policy | None:
        kind = classify(failure)
        return None if kind is None else POLICIES.get(kind)


def _failure(state: RetryCallState) -> AttemptError:
    error = state.outcome.exception() if state.outcome is not None else None
    if not isinstance(error, AttemptError):
        raise TypeError(f"tenacity asks about {error!r}, which wants_retry refused")
    return error
