"""Miniatures that make something else of an answer, or of what is left of it."""

# ruff: noqa: ARG002 - an override takes what the step takes, needed or not

from __future__ import annotations

import asyncio

from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.miniatures import miniature
from faultclock.subjects.ports import ProviderRequest, Reply
from faultclock.subjects.reference import ask_once, converse
from faultclock.subjects.stud import AttemptError, Policy, StudCall

__all__: list[str] = []

# A failure that passes for an answer.


@miniature(
    "refused-stream-is-empty",
    "Returns an empty text where a stream was refused",
    fails="swallow.silent",
    origin="felladrin/MiniSearch#2469",
)
async def _refused_stream_is_empty(request: ProviderRequest) -> Reply:
    """The exception was swallowed on its way out of the callback that reads the stream."""
    if not request.stream:
        return await converse(request, StudCall(request))
    try:
        return await ask_once(ChatExchange(request), request.timeout_s)
    except AttemptError:
        return Reply("")


# The part of an answer that was there when it broke.


class _Begun(StudCall):
    """A call that knows whether the attempt which failed had begun to answer."""

    begun = ""

    async def talk(self) -> Reply:
        while True:
            exchange = ChatExchange(self.request)
            try:
                return self.whole(await ask_once(exchange, self.deadline_s))
            except AttemptError as failure:
                self.begun = exchange.received_text
                self.look_at(failure)
                wait_s = self.next_wait_s(failure)
            await asyncio.sleep(wait_s)

    def whole(self, reply: Reply) -> Reply:
        return reply

    def look_at(self, failure: AttemptError) -> None:
        return


class _Replays(_Begun):
    """The half that was shown is shown again, as the beginning of the whole."""

    def whole(self, reply: Reply) -> Reply:
        return Reply(self.begun + reply.text, reply.tool_calls)


@miniature(
    "replays-what-was-shown",
    "Appends the second answer to the half of the first",
    fails="swallow.silent",
    origin="HKUDS/nanobot#4038",
)
async def _replays_what_was_shown(request: ProviderRequest) -> Reply:
    """A retry after visible output began with the first word again."""
    return await _Replays(request).talk()


class _TriesUntilTheFirstWord(_Begun):
    def policy(self, failure: AttemptError, kind: tuple[str, str]) -> Policy | None:
        return None if self.begun else super().policy(failure, kind)


@miniature(
    "retries-until-the-first-word",
    "Retries a request, and not the reading of its stream",
    fails="classification.disposition",
    origin="agentscope-ai/agentscope#2757",
)
async def _retries_until_the_first_word(request: ProviderRequest) -> Reply:
    """An error while the stream was iterated was outside of the retry, and of the fallback."""
    return await _TriesUntilTheFirstWord(request).talk()


class _LetsOut(_Begun):
    def look_at(self, failure: AttemptError) -> None:
        if self.begun and failure.kind == "network":
            # The socket's own error, as if there were no adapter around it.
            raise failure.__cause__ or failure


@miniature(
    "raw-error-from-streams",
    "Lets the raw error of a connection out of a stream",
    fails="classification.disposition",
    origin="pydantic/pydantic-ai#4729",
)
async def _raw_error_from_streams(request: ProviderRequest) -> Reply:
    """What the library raised while it was streaming escaped, so that no fallback was tried."""
    return await _LetsOut(request).talk()


# An answer that never ends, and an error that says too much.
