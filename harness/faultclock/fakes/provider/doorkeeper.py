"""Lets requests in or refuses them, for one provider: what `limits` and `pacing` need, and keep.

It reads from a request which key it shows and what it costs, draws what is left to chance, and
keeps the state of the fold. A key itself is never kept: only a digest of it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct, field

from faultclock.fakes.provider.accounts import Arrival, LimitsState, Rules, Ruling
from faultclock.fakes.provider.limits import ended, new_life, rule_on
from faultclock.fakes.provider.pacing import Pacing, tokens_in
from faultclock.fakes.wire.answer import Answer
from faultclock.fakes.wire.delivery import Tempo
from faultclock.fakes.wire.dialect import Asked
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.fakes.wire.said import tokens_of
from faultclock.model.scenario.fault import Fault, HttpError, OkWithErrorBody, ResetBeforeResponse
from faultclock.model.scenario.provider_script import ProviderScript
from faultclock.sim.kernel.streams import Streams

#: Where providers look for a key, in the order in which it is looked for.
_KEY_HEADERS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_KEY_PARAMETER = "key"
#: AWS signs each request anew; whose it is stands in the credential.
_AWS_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)")
#: Members of request bodies, in any dialect, whose texts the model reads.
_READ = frozenset({"arguments", "content", "input", "instructions", "prompt", "system", "text"})
#: What a message costs beside its text.
_MESSAGE_TOKENS = 4
#: Deeper than any body that a provider accepts.
_DEPTH_MAX = 32
_REPLACED = (HttpError, OkWithErrorBody, ResetBeforeResponse)


class Memory(Struct):
    """What is kept over the lives of the subject. Plain data: it is pickled.

    Attributes:
        limits: the fold over accounts.
        arrived: requests so far; numbers the draws of an overload.
        answered: answers of the model so far; numbers the draws of the pace.
    """

    limits: LimitsState = field(default_factory=LimitsState)
    arrived: int = 0
    answered: int = 0


class Doorkeeper:
    """Rules on each request to one provider.

    Args:
        provider: what its streams of chance are called after.
        memory: of the run; it is changed in place.
    """

    def __init__(
        self, script: ProviderScript, streams: Streams, provider: str, memory: Memory
    ) -> None:
        self._rules = Rules(limits=script.limits, overload=script.overload)
        self._refuses = bool(script.refusals)
        self._streams = streams
        self._provider = provider
        self._memory = memory
        self._pacing = Pacing(script=script, streams=streams, provider=provider)
        memory.limits = new_life(memory.limits)

    def ruling(
        self,
        exchange: str,
        request: HttpRequest,
        asked: Asked,
        good: Answer,
        fault: Fault | None,
        call: str | None,
        now_ns: int,
    ) -> Ruling | None:
        """Return what becomes of a request that the provider would answer; None without limits.

        Args:
            good: the answer that it would get.
            fault: what the plan makes of it.
        """
        if not self._refuses:
            return None
        overload, percent = self._rules.overload, 0
        if overload is not None and overload.percent is not None:
            stream = f"overload/{self._provider}"
            percent = self._streams.below(stream, self._memory.arrived, 100)
        self._memory.arrived += 1
        key = key_digest(request)
        failed = isinstance(fault, _REPLACED)
        arrival = Arrival(
            exchange=exchange,
            key=key,
            caller=key if call is None else call,
            now_ns=now_ns,
            tokens=cost_of(asked, good),
            percent=percent,
            planned=None if fault is None else "failed" if failed else "answered",
        )
        self._memory.limits, ruling = rule_on(self._rules, self._memory.limits, arrival)
        return ruling

    def tempo(self, good: Answer | None, fault: Fault | None, ruling: Ruling | None) -> Tempo:
        """Return how fast an answer goes out; only the model's own takes its time."""
        refused = ruling is not None and ruling.refused is not None
        if good is None or refused or isinstance(fault, _REPLACED):
            return self._pacing.steady
        number = self._memory.answered
        self._memory.answered += 1
        return self._pacing.tempo(good, number)

    def gone(self, exchange: str) -> None:
        """Note that an exchange is over."""
        self._memory.limits = ended(self._memory.limits, exchange)


def key_digest(request: HttpRequest) -> str:
    """Return a digest of the key that a request shows, wherever it shows it; empty without one."""
    shown = next(filter(None, (request.headers.get(name) for name in _KEY_HEADERS)), None)
    if shown is None:
        query = request.target.partition("?")[2]
        shown = next(iter(parse_qs(query).get(_KEY_PARAMETER, ())), None)
    if shown is None:
        return ""
    signed = _AWS_CREDENTIAL.search(shown)
    text = shown if signed is None else signed[1]
    return hashlib.sha256(text.strip().encode("utf-8", "surrogateescape")).hexdigest()


def cost_of(asked: Asked, good: Answer) -> int:
    """Return how many tokens a request and its answer have, as the answer's usage has them.

    An answer without usage costs what its words and those of the request have, roughly.
    """
    total = (good.usage or {}).get("total_tokens")
    return total if isinstance(total, int) else _read_in(asked.body, 0) + tokens_in(good)


def _read_in(value: Any, depth: int) -> int:
    if depth > _DEPTH_MAX:
        return 0
    if isinstance(value, Mapping):
        own = _MESSAGE_TOKENS if "role" in value else 0
        for name, member in value.items():
            if isinstance(member, str):
                own += tokens_of(member) if name in _READ else 0
            else:
                own += _read_in(member, depth + 1)
        return own
    if isinstance(value, (list, tuple)):
        return sum(_read_in(item, depth + 1) for item in value)
    return 0
