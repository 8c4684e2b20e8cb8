"""Wrong provider adapters that are code."""

from __future__ import annotations

import asyncio
import contextlib
import random
import subprocess
import traceback
from pathlib import Path
from typing import NoReturn
from weakref import WeakKeyDictionary

from faultclock.mutants.by_hand.shared import LenientExchange
from faultclock.mutants.by_hand.table import ByHand
from faultclock.mutants.talks import StudTalk
from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.reference import ask_once, converse
from faultclock.subjects.stud import AttemptError, StudCall

wrong = ByHand("adapters")


_RATE_LIMITED = ("ProviderTransient", "RateLimited")


_NETWORK_TIMEOUT = ("ProviderTransient", "NetworkTimeout")


_PROVIDER_5XX = ("ProviderTransient", "Provider5xx")


# How long it waits.


@wrong("jitters-retry-after", "Adds jitter to Retry-After", fails="backoff.retry-after")
class _JittersRetryAfter(StudTalk):
    def retry_after_s(self, failure: AttemptError) -> float | None:
        asked_s = super().retry_after_s(failure)
        return None if asked_s is None else asked_s * random.uniform(1.0, 1.1)


# What it says of the end.


@wrong("loses-code-on-wrapping", "Wraps without class and code", fails="wrapping.identity")
class _LosesCode(StudTalk):
    def give_up(self, error: TypedError) -> NoReturn:
        raise RuntimeError(f"the provider failed: {error}") from error


@wrong("loses-cause", "Hides what the wrapped error was", fails="wrapping.cause")
class _LosesCause(StudTalk):
    def give_up(self, error: TypedError) -> NoReturn:
        message = f"gave up after {self.attempt} attempts"
        raise TypedError(error.error_class, error.code, message) from None


@wrong("stack-to-model", "Hands its stack to the model", fails="audience.model")
class _StackToModel(StudTalk):
    def tell_model(self, error_class: str | None, code: str | None, failure: AttemptError) -> None:
        frames = traceback.extract_tb(failure.__traceback__)
        # File names without folders: a trace is the same on every machine.
        lines = [f'  File "{Path(f.filename).name}", line {f.lineno}, in {f.name}' for f in frames]
        stack = "\n".join(["Traceback (most recent call last):", *lines, f"{failure}"])
        self.request.host.tell_model({"class": error_class, "code": code, "message": stack})


# When it ends.


@wrong.run(
    "accepts-cut-stream",
    "Takes half an answer for a whole one",
    fails="swallow.silent",
    origin="ag-ui-protocol/ag-ui#2300",
)
async def _accepts_cut_stream(request: ProviderRequest) -> Reply:
    return await converse(request, StudCall(request), LenientExchange)


@wrong.run(
    "retries-after-the-end", "Goes on after it has raised", fails="ordering.nothing-after-the-end"
)
async def _retries_after_the_end(request: ProviderRequest) -> Reply:
    try:
        return await converse(request, StudCall(request))
    except Exception:
        # The loop keeps only a weak reference to a task; its own callback keeps this one.
        task = asyncio.get_running_loop().create_task(_once_more(request))
        _BACKGROUND.add(task)
        task.add_done_callback(_BACKGROUND.discard)
        raise


_BACKGROUND: set[asyncio.Task[None]] = set()


async def _once_more(request: ProviderRequest) -> None:
    await asyncio.sleep(30.0)
    try:
        await ask_once(ChatExchange(request), request.timeout_s)
    except AttemptError as failure:
        request.host.event("background-retry-failed", signal=failure.kind)


#: A pause in a stream that lasts longer than this.
_PAUSE_S = 0.25


@wrong.run("pause-is-the-end", "Takes a pause in a stream for its end", fails="swallow.silent")
async def _pause_is_the_end(request: ProviderRequest) -> Reply:
    exchange, call, told = ChatExchange(request), StudCall(request), ""
    asking = asyncio.create_task(ask_once(exchange, request.timeout_s))
    while not (await asyncio.wait({asking}, timeout=_PAUSE_S))[0]:
        if exchange.received_text and exchange.received_text == told:
            asking.cancel()
            await asyncio.wait({asking})
            return Reply(told)
        told = exchange.received_text
    try:
        return asking.result()
    except AttemptError as failure:
        await asyncio.sleep(call.next_wait_s(failure))
    return await converse(request, call)


#: For how many seconds each call waits before it begins, by the loop that they share.
_COOL_DOWN_S: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


class _Cooling(StudTalk):
    def next_wait_s(self, failure: AttemptError) -> float:
        loop = asyncio.get_running_loop()
        _COOL_DOWN_S[loop] = 2 * _COOL_DOWN_S.get(loop, 0.25)
        return super().next_wait_s(failure)


@wrong.run(
    "cool-down-only-grows",
    "Doubles the cool-down of all its calls at each failure, and never takes it back",
    fails="liveness.settles",
)
async def _cool_down_only_grows(request: ProviderRequest) -> Reply:
    await asyncio.sleep(_COOL_DOWN_S.get(asyncio.get_running_loop(), 0.0))
    return await converse(request, _Cooling(request))


# What the evidence checks are for.


@wrong.run("starts-a-process", "Leaves the simulated world, unseen", fails="evidence.no-leaks")
async def _starts_a_process(request: ProviderRequest) -> Reply:
    # Hiding the refusal is part of the defect: the run is inconclusive all the same.
    with contextlib.suppress(BaseException):
        subprocess.run(["true"], check=False)  # noqa: S607 - the planted defect
    return await converse(request, StudCall(request))
