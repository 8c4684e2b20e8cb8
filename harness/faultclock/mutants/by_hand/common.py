"""Wrong adapters by the common demands that are code."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from faultclock.mutants.by_hand.shared import LenientExchange
from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import CommonTalk
from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.reference import ask_once, converse
from faultclock.subjects.reference_common import CommonCall
from faultclock.subjects.stud import AttemptError, Policy

wrong = ByHand("common")


# How long it waits, and how often.


# Layers, cancels and what was passed on.


class _Inner(CommonTalk):
    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        policy = super().policy(failure, kind)
        return policy and replace(policy, attempts_max=3, first_wait_s=0.5)


@wrong.run(
    "two-layers",
    "Retries around a library that retries",
    fails="retries.layers",
    shown_by="common/unavailable-for-ever",
)
async def _two_layers(request: ProviderRequest) -> Reply:
    for number in (1, 2, 3):
        try:
            return await converse(request, _Inner(request))
        except TypedError as error:
            if number == 3 or error.context.get("retry_after") is not None:
                raise
        await asyncio.sleep(4.0 * number)
    raise AssertionError("the last round returns or raises")


@wrong.run(
    "begins-anew",
    "Begins the answer anew after a part of it was passed on",
    fails="retries.after-content",
    shown_by="common/stream-breaks-after-content",
    origin="HKUDS/nanobot#4038",
)
async def _begins_anew(request: ProviderRequest) -> Reply:
    call = CommonCall(request)
    while True:
        exchange = ChatExchange(request)
        try:
            reply = await ask_once(exchange, call.deadline_s)
        except AttemptError as failure:
            if exchange.received_text:
                request.host.delivered(exchange.received_text)
            wait_s = call.next_wait_s(failure)
        else:
            request.host.delivered(reply.text)
            return reply
        await asyncio.sleep(wait_s)


# What the caller gets.


@wrong(
    "reads-numbers-only",
    "Crashes where Retry-After is a date",
    fails="handler.crash",
    shown_by="rate-limits/retry-after-http-date",
    origin="interviewstreet/hiring-agent#386",
)
class _ReadsNumbersOnly(CommonTalk):
    def retry_after_s(self, failure: AttemptError) -> float | None:
        return None if failure.retry_after is None else float(failure.retry_after)


@wrong.run(
    "takes-a-part",
    "Takes half an answer for a whole one",
    fails="answers.whole",
    shown_by="provider-transient/stream-ends-without-finish",
    origin="ag-ui-protocol/ag-ui#2300",
)
async def _takes_a_part(request: ProviderRequest) -> Reply:
    return await converse(request, CommonCall(request), LenientExchange)


@wrong.run(
    "one-error-for-all",
    "Raises the same error for everything",
    fails="errors.apart",
    shown_by="common/four-failures",
)
async def _one_error_for_all(request: ProviderRequest) -> Reply:
    try:
        return await converse(request, CommonCall(request))
    except Exception:  # noqa: BLE001 - that is its fault
        raise RuntimeError("the model could not be asked") from None


@wrong.run(
    "key-in-the-error",
    "Names the API key in its error",
    fails="errors.secrets",
    shown_by="provider-transient/bad-key",
    origin="BerriAI/litellm#15799",
)
async def _key_in_the_error(request: ProviderRequest) -> Reply:
    try:
        return await converse(request, CommonCall(request))
    except Exception as error:
        raise RuntimeError(f"no answer for {request.api_key}") from error


class _Undecoded(ChatExchange):
    def feed(self, data: bytes) -> None:
        try:
            super().feed(data)
        except AttemptError as failure:
            if failure.kind == "malformed":
                json.loads("\x00")
            raise


@wrong.run(
    "raw-decoder-error",
    "Lets the error of the JSON decoder through",
    fails="handler.unreadable",
    shown_by="provider-transient/corrupt-body",
)
async def _raw_decoder_error(request: ProviderRequest) -> Reply:
    return await converse(request, CommonCall(request), _Undecoded)
