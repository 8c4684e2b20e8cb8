"""The fake provider: listens on every host, asks the injector, plays answers, keeps the ledger.

It brings together what is pure (injector, delivery, dialect, HTTP framing) with one world's
network and clock. Every fact about an exchange is recorded here and nowhere else. It judges
nothing and knows no error model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import UnknownNameError
from harness.fakes.answer import Answer, ErrorFacts
from harness.fakes.connection import ProviderConnection
from harness.fakes.delivery import Step, Tempo, steps_of
from harness.fakes.dialect import Asked, Dialect, Exchange
from harness.fakes.headers import merged, scrubbed, scrubbed_url
from harness.fakes.http_json import HttpJson
from harness.fakes.http_server import HttpRequest
from harness.fakes.injector import (
    Connecting,
    Fate,
    Happening,
    InjectorState,
    Requesting,
    Resolving,
    decide,
    mark_met,
    unmet,
)
from harness.fakes.openai_chat import OpenAIChat
from harness.fakes.script_check import check_script
from harness.model.duration import MILLISECOND_NS, SECOND_NS
from harness.model.fault import (
    ConnectRefused,
    ConnectTimeout,
    DnsFailure,
    FaultRule,
    HttpError,
    OkWithErrorBody,
    StreamError,
)
from harness.model.payload import ErrorPayload
from harness.model.scenario import ProviderScript
from harness.model.secrets import without_secrets
from harness.model.trace import WALL_EPOCH_NS
from harness.sim.net.fates import (
    Accept,
    Blackhole,
    ConnectFate,
    Refuse,
    Resolve,
    ResolveFails,
    ResolveFate,
)

if TYPE_CHECKING:
    from harness.sim.kernel import Kernel
    from harness.sim.net.endpoint import Endpoint
    from harness.sim.world import World

__all__ = ["DIALECTS", "ExchangeNumbers", "FakeProvider", "PlannedExchange", "ProviderState"]

#: The APIs that can be spoken, by the name that scenarios use.
DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (OpenAIChat(), HttpJson())}


@dataclass(slots=True)
class ExchangeNumbers:
    """Numbers the requests to all providers of a run; they are called "x1", "x2"..."""

    last: int = 0

    def next(self) -> int:
        """Return the number of one more request, 1-based."""
        self.last += 1
        return self.last


@dataclass(slots=True)
class ProviderState:
    """What a provider remembers over the lives of the subject. Plain data: it is pickled.

    Attributes:
        injector: the fold over the fault plan.
        numbers: of the requests; providers of one run share it.
    """

    injector: InjectorState = field(default_factory=lambda: InjectorState(attempts={}))
    numbers: ExchangeNumbers = field(default_factory=ExchangeNumbers)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExchange:
    """What the provider decided to do about one request.

    Attributes:
        id: "x1", "x2"... in the order in which requests arrived.
        call: the call that sent it.
        attempt: its 1-based number within the call.
        rule: the rule that shapes it, if one does.
        close: whether the connection ends after the answer.
        steps: how the answer goes out.
    """

    id: str
    call: str | None
    attempt: int
    rule: FaultRule | None
    close: bool
    steps: tuple[Step, ...]


class FakeProvider:
    """One provider of one run.

    Args:
        script: the scenario's provider.
        payloads: error bodies of the script's dialect, by name.
        seed: of the run; ids are made from it.
        wall_epoch_ns: wall-clock instant of virtual time 0, in nanoseconds since 1970.
        state: of the run, when its subject has several lives; it is changed in place.
        observant: also record what requests tell the model, and what answers ask it for.
        id: of a fallback, which is then told by each fact about it; empty for the first provider.

    Raises:
        UnknownNameError: the script names a dialect or payload that does not exist.
        InputError: a fault of the script cannot be put on the wire as it is written.
    """

    def __init__(
        self,
        script: ProviderScript,
        payloads: Mapping[str, ErrorPayload],
        seed: int = 0,
        wall_epoch_ns: int = WALL_EPOCH_NS,
        *,
        state: ProviderState | None = None,
        observant: bool = False,
        id: str = "",
    ) -> None:
        if script.dialect not in DIALECTS:
            raise UnknownNameError("dialect", script.dialect, tuple(DIALECTS))
        self._dialect = DIALECTS[script.dialect]
        check_script(script, payloads, self._dialect.own_payloads)
        self._script = script
        self._payloads = payloads
        self._seed = seed
        self._wall_epoch_ns = wall_epoch_ns
        self._tempo = Tempo(think_ns=script.think_time, chunk_interval_ns=script.chunk_interval)
        self._state = state or ProviderState()
        self.observant = observant
        #: What tells the facts of a fallback from those of the first provider.
        self.mark: Mapping[str, str] = {"provider": id} if id else {}
        self._kernel: Kernel | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel of the world that it is mounted in."""
        assert self._kernel is not None, "mount the provider first"
        return self._kernel

    def mount(self, world: World, host: str | None = None) -> None:
        """Serve every port of `host` in `world`, and the lookups.

        Args:
            host: None for every host that nobody else serves.
        """
        self._kernel = world.kernel
        world.network.policy = self
        world.network.listen(host, None, self.accept)

    def seal(self) -> None:
        """Record every rule of the plan that nobody met. Call it once, after the run."""
        for rule in unmet(self._script.faults, self._state.injector):
            self.kernel.record(
                "provider", "fault.unmet", fault=rule.id, optional=rule.optional, **self.mark
            )

    # ------------------------------------------------------------------ for the network

    def accept(self, endpoint: Endpoint) -> None:
        """Serve one connection."""
        ProviderConnection(self, endpoint)

    def on_resolve(
        self,
        host: str,  # noqa: ARG002 - the provider is behind every host and port
        port: int | None,  # noqa: ARG002
        call_id: str | None,
        now_ns: int,
    ) -> ResolveFate:
        """Return the answer to one lookup (see ConnectPolicy)."""
        fate = self._decide(Resolving(call=call_id, now_ns=now_ns))
        if fate.rule is not None and isinstance(fate.rule.then, DnsFailure):
            self._record_fired(fate.rule, call_id, fate.attempt, None)
            return ResolveFails()
        return Resolve()

    def on_connect(
        self,
        host: str,  # noqa: ARG002 - as above
        port: int,  # noqa: ARG002
        call_id: str | None,
        now_ns: int,
    ) -> ConnectFate:
        """Return the answer to one attempt to connect (see ConnectPolicy)."""
        fate = self._decide(Connecting(call=call_id, now_ns=now_ns))
        if fate.rule is None:
            return Accept()
        self._record_fired(fate.rule, call_id, fate.attempt, None)
        match fate.rule.then:
            case ConnectRefused():
                return Refuse()
            case ConnectTimeout():
                return Blackhole()
        return Accept()

    # ------------------------------------------------------------------ for a connection

    def plan(self, request: HttpRequest, connection: str, call: str | None) -> PlannedExchange:
        """Record `request`, and return what is to be done about it."""
        number = self._state.numbers.next()
        exchange_id = f"x{number}"
        now_ns = self.kernel.now_ns
        exchange = Exchange(
            number=number,
            seed=self._seed,
            unix_s=(self._wall_epoch_ns + now_ns) // SECOND_NS,
            think_ms=self._script.think_time // MILLISECOND_NS,
        )
        asked = self._dialect.read(request)
        good = None
        if asked.refusal is None:
            good = self._dialect.good_answer(self._script, asked, exchange)
        shape = None if good is None else good.shape
        fate = self._decide(Requesting(call=call, now_ns=now_ns, answer=shape))
        self._record_request(request, asked, exchange_id, connection, call, fate.attempt)
        fault = None if fate.rule is None else fate.rule.then
        answer = self._answer(asked, exchange, good, fate)
        event: tuple[bytes, ErrorFacts] | None = None
        if isinstance(fault, StreamError):
            event = self._dialect.error_event(self._payloads[fault.error])
        return PlannedExchange(
            id=exchange_id,
            call=call,
            attempt=fate.attempt,
            rule=fate.rule,
            close=isinstance(fault, HttpError) and fault.close,
            steps=tuple(steps_of(answer, fault, self._tempo, event)),
        )

    def wall_ns(self) -> int:
        """Return the wall-clock instant of now, in nanoseconds since 1970."""
        return self._wall_epoch_ns + self.kernel.now_ns

    def fired(self, exchange: PlannedExchange) -> None:
        """Record that the fault of `exchange` reaches the wire now."""
        if exchange.rule is not None:
            self._state.injector = mark_met(self._state.injector, exchange.rule.id)
            self._record_fired(exchange.rule, exchange.call, exchange.attempt, exchange.id)

    def _decide(self, happening: Happening) -> Fate:
        self._state.injector, fate = decide(self._script.faults, self._state.injector, happening)
        return fate

    def _answer(self, asked: Asked, exchange: Exchange, good: Answer | None, fate: Fate) -> Answer:
        fault = None if fate.rule is None else fate.rule.then
        if asked.refusal is not None:
            payload = self._payloads[asked.refusal.payload]
            values = asked.refusal.values
            return self._dialect.error_answer(payload, payload.status, exchange, values)
        if isinstance(fault, HttpError):
            payload = self._payloads[fault.error]
            answer = self._dialect.error_answer(payload, fault.status, exchange, {})
            headers = merged(answer.headers, fault.headers)
            return Answer(
                status=answer.status, headers=headers, chunks=answer.chunks, error=answer.error
            )
        if isinstance(fault, OkWithErrorBody):
            return self._dialect.error_answer(self._payloads[fault.error], 200, exchange, {})
        assert good is not None, "a request that is not refused has a good answer"
        return good

    # ------------------------------------------------------------------ the ledger

    def _record_request(
        self,
        request: HttpRequest,
        asked: Asked,
        exchange: str,
        connection: str,
        call: str | None,
        attempt: int,
    ) -> None:
        self.kernel.record(
            "provider",
            "http.request",
            exchange=exchange,
            connection=connection,
            call=call,
            attempt=attempt,
            method=request.method,
            target=scrubbed_url(request.target),
            headers=scrubbed(request.headers),
            body_sha256=hashlib.sha256(request.body).hexdigest(),
            body_bytes=len(request.body),
            model=None if asked.model is None else without_secrets(asked.model),
            stream=asked.stream,
            **({"messages": self._dialect.messages(asked)} if self.observant else {}),
            **self.mark,
        )

    def _record_fired(
        self, rule: FaultRule, call: str | None, attempt: int, exchange: str | None
    ) -> None:
        self.kernel.record(
            "provider",
            "fault.fired",
            fault=rule.id,
            fault_kind=rule.then.kind,
            call=call,
            attempt=attempt,
            exchange=exchange,
            **self.mark,
        )
