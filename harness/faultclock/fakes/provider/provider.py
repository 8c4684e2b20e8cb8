"""The fake provider: listens on every host, asks the injector, plays answers, keeps the ledger.

It brings together what is pure (injector, delivery, dialect, HTTP framing) with one world's
network and clock. Every fact about an exchange is recorded here and nowhere else. It judges
nothing and knows no error model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.fakes.dialects import dialect_named
from faultclock.fakes.provider.accounts import Refused
from faultclock.fakes.provider.connection import ProviderConnection
from faultclock.fakes.provider.conversation import objection
from faultclock.fakes.provider.doorkeeper import Doorkeeper, Memory
from faultclock.fakes.provider.planned import PlannedExchange
from faultclock.fakes.provider.refusal_words import filled, truthful
from faultclock.fakes.provider.script_check import played_payloads
from faultclock.fakes.provider.transcript import Transcript
from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.fakes.wire.condensed import Remembered
from faultclock.fakes.wire.delivery import steps_of
from faultclock.fakes.wire.dialect import Asked, Exchange, RateStanding
from faultclock.fakes.wire.headers import merged, scrubbed, scrubbed_url
from faultclock.fakes.wire.http_server import HttpRequest, names_of, scripted
from faultclock.fakes.wire.in_words import Spoken
from faultclock.fakes.wire.injector import (
    Connecting,
    Fate,
    Happening,
    InjectorState,
    Requesting,
    Resolving,
    coming,
    decide,
    mark_met,
)
from faultclock.fakes.wire.offered import offered_tools
from faultclock.fakes.wire.question import Questions
from faultclock.model.duration import MILLISECOND_NS, SECOND_NS
from faultclock.model.scenario.fault import (
    AnswerEnds,
    ConnectRefused,
    ConnectTimeout,
    DnsFailure,
    Fault,
    FaultRule,
    HttpError,
    OkWithErrorBody,
    ResetBeforeResponse,
    Stall,
    StreamError,
    Truncate,
)
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_limits import RefusalRule
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT, ProviderScript
from faultclock.model.secrets import without_secrets
from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim.kernel.streams import Streams
from faultclock.sim.net.fates import (
    Accept,
    Blackhole,
    ConnectFate,
    Refuse,
    Resolve,
    ResolveFails,
    ResolveFate,
)

if TYPE_CHECKING:
    from faultclock.fakes.provider.place import Clockwork, ServerSide
    from faultclock.sim.world import World


class ExchangeNumbers(Struct):
    """Numbers the requests to all providers of a run; they are called "x1", "x2"..."""

    last: int = 0

    def next(self) -> int:
        """Return the number of one more request, 1-based."""
        self.last += 1
        return self.last


class ProviderState(Struct):
    """What a provider remembers over the lives of the subject. Plain data: it is pickled.

    Attributes:
        injector: the fold over the fault plan.
        numbers: of the requests; providers of one run share it.
        memory: of its limits, and of how many it answered.
        kept: what its API keeps from one request to the next, by id.
        fitting: how many requests fitted each of the script's answers so far, by its place.
        spoken: what it answered to which conversation.
        remembered: what was said in it.
    """

    injector: InjectorState = field(default_factory=lambda: InjectorState(attempts={}))
    numbers: ExchangeNumbers = field(default_factory=ExchangeNumbers)
    memory: Memory = field(default_factory=Memory)
    kept: dict[str, Any] = field(default_factory=dict)
    fitting: dict[int, int] = field(default_factory=dict)
    spoken: Spoken = field(default_factory=dict)
    remembered: Remembered = field(default_factory=Remembered)


class FakeProvider:
    """One provider of one run.

    Args:
        script: the scenario's provider.
        payloads: error bodies of the script's dialect, by name.
        seed: of the run; ids are made from it.
        wall_epoch_ns: wall-clock instant of virtual time 0, in nanoseconds since 1970.
        state: of the run, when its subject has several lives; it is changed in place.
        observant: also record what requests tell the model, and what answers ask it for.
        tools: names of the subject's own; it is observant, and may have others that only answer.
        id: of a fallback, which each fact about it then has; empty for the first provider.
        streams: what is left to chance is drawn from; None: from the seed.

    Raises:
        UnknownNameError: the script names a dialect or payload that does not exist.
        InputError: a fault of the script cannot be put on the wire as it is written.
    """

    #: Who records its facts, what they begin with, and what its exchanges do.
    actor: ClassVar[str] = "provider"
    about: ClassVar[str] = "http"
    exchanges: ClassVar[str] = "x"

    def __init__(
        self,
        script: ProviderScript,
        payloads: Mapping[str, ErrorPayload],
        seed: int = 0,
        wall_epoch_ns: int = WALL_EPOCH_NS,
        *,
        state: ProviderState | None = None,
        observant: bool = False,
        tools: Collection[str] = (),
        offers: bool = False,
        id: str = "",
        streams: Streams | None = None,
    ) -> None:
        self._dialect = dialect = dialect_named(script.dialect or DEFAULT_DIALECT)
        self._payloads, self._objections = played_payloads(script, payloads, dialect)
        self._script = script
        self._questions = Questions(dialect.labels)
        self._seed = seed
        self._wall_epoch_ns = wall_epoch_ns
        self._state = state = state or ProviderState()
        self._door = Doorkeeper(script, streams or Streams(seed), id or "first", self._state.memory)
        self.observant = observant
        self._transcript = (
            Transcript(dialect, state.spoken, state.remembered, tools, offers=offers)
            if observant
            else None
        )
        #: What separates its facts from those of the first provider, and those of its faults.
        self.mark: Mapping[str, str] = {"provider": id} if id else {}
        self.whose = self.mark
        self._kernel: Clockwork | None = None

    @property
    def kernel(self) -> Clockwork:
        """The clock and the ledger of the world that it stands in."""
        assert self._kernel is not None, "mount the provider first"
        return self._kernel

    def mount(self, world: World, host: str | None = None) -> None:
        """Serve every port of `host` in `world`, and the lookups.

        Args:
            host: None for every host that no other provider serves.
        """
        self.stand_in(world.kernel)
        world.network.policy = self
        world.network.listen(host, None, self.accept)

    def stand_in(self, kernel: Clockwork) -> None:
        """Take the clock and the ledger of a world; who connects is handed to `accept`."""
        self._kernel = kernel

    def seal(self) -> None:
        """Record every rule and every limit that was never met. Call it once, after the run."""
        met = self._state.injector.met
        rules: tuple[FaultRule | RefusalRule, ...] = (*self._script.faults, *self._script.refusals)
        for rule in (rule for rule in rules if rule.id not in met):
            self.kernel.record(
                self.actor, "fault.unmet", fault=rule.id, optional=rule.optional, **self.whose
            )

    # ------------------------------------------------------------------ for the network

    def accept(self, endpoint: ServerSide) -> None:
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
        exchange_id = f"{self.exchanges}{number}"
        now_ns = self.kernel.now_ns
        exchange = Exchange(
            number=number,
            seed=self._seed,
            unix_s=(self._wall_epoch_ns + now_ns) // SECOND_NS,
            think_ms=self._script.think_time // MILLISECOND_NS,
        )
        asked = self._read(request, exchange, call)
        good = None
        if asked.refusal is None:
            good = self._dialect.good_answer(self._script, asked, exchange)
        shape = None if good is None else good.shape
        named = (*asked.named, *names_of(request))
        counts = asked.shown is not None and asked.shown.counts
        fate = (
            coming(self._state.injector, call)
            if counts
            else self._decide(Requesting(call=call, now_ns=now_ns, answer=shape, named=named))
        )
        self._record_request(request, asked, exchange_id, connection, call, fate.attempt)
        fault = None if fate.rule is None else fate.rule.then
        ruling = None
        if isinstance(fault, AnswerEnds):
            exchange = replace(exchange, ends=fault)
            good = good and self._dialect.good_answer(self._script, asked, exchange)
        if good is not None and not counts:
            ruling = self._door.ruling(exchange_id, request, asked, good, fault, call, now_ns)
        tempo = self._door.tempo(good, fault, ruling)
        if ruling is not None or self._script.pace is not None:
            think_ms = tempo.think_ns // MILLISECOND_NS
            standing = None if ruling is None else ruling.standing
            exchange = replace(exchange, think_ms=think_ms, standing=standing)
            good = good and self._dialect.good_answer(self._script, asked, exchange)
        if ruling is not None and ruling.refused is not None:
            fault, answer = self._refusal(ruling.refused, ruling.standing, exchange)
        else:
            answer = self._answer(asked, exchange, good, fault)
            self._keep(answer, fault)
            if self._transcript is not None:
                self._transcript.answered(asked, call, answer, fault)
        event: tuple[bytes, ErrorFacts] | None = None
        if isinstance(fault, StreamError):
            data, error = self._dialect.error_event(
                self._payloads[fault.error],
                asked,
                exchange,
                len(answer.chunks[: fault.after_chunks]),
            )
            event = (data, self._meant(fault.error, error, None) or error)
        return PlannedExchange(
            id=exchange_id,
            call=call,
            attempt=fate.attempt,
            rule=fate.rule,
            ruling=ruling,
            close=isinstance(fault, HttpError) and fault.close,
            steps=tuple(steps_of(answer, fault, tempo, event)),
            unanswered=self._is_unanswered(asked, fault),
        )

    def _read(self, request: HttpRequest, exchange: Exchange, call: str | None) -> Asked:
        """Return what `request` asks for; it is refused for the conversation in it as well."""
        asked = self._dialect.read(request)
        asked = self._dialect.recalled(asked, request, self._state.kept, exchange)
        if asked.refusal is not None:
            return asked
        if self._script.answers:
            fitting = self._state.fitting
            return replace(asked, scripted=scripted(self._script.answers, fitting, request))
        asked = replace(asked, refusal=objection(self._dialect, asked, self._objections))
        if self._transcript is None or asked.refusal is not None or asked.beside:
            return asked
        return self._transcript.heard(asked, call)

    def _is_unanswered(self, asked: Asked, fault: Fault | None) -> bool:
        """Return whether the script has answers, and none for this request."""
        return bool(self._script.answers) and asked.scripted is None and fault is None

    def _keep(self, answer: Answer, fault: Fault | None) -> None:
        """Keep what an answer leaves behind, as far as the provider comes to its end."""
        cut = isinstance(fault, (StreamError, Truncate)) or (
            isinstance(fault, Stall) and fault.resume_after is None
        )
        unheard = isinstance(fault, ResetBeforeResponse)
        if unheard or (cut and answer.stream and not answer.runs_on):
            return
        for name, value in answer.keeps.items():
            if value is None:
                self._state.kept.pop(name, None)
            else:
                self._state.kept[name] = value

    def wall_ns(self) -> int:
        """Return the wall-clock instant of now, in nanoseconds since 1970."""
        return self._wall_epoch_ns + self.kernel.now_ns

    def fired(self, exchange: PlannedExchange) -> None:
        """Record that the fault of `exchange` reaches the wire now."""
        if exchange.rule is not None:
            self._state.injector = mark_met(self._state.injector, exchange.rule.id)
            self._record_fired(exchange.rule, exchange.call, exchange.attempt, exchange.id)
        elif exchange.ruling is not None and exchange.ruling.refused is not None:
            self._record_refused(exchange, exchange.ruling.account, exchange.ruling.refused)

    def ended(self, exchange: PlannedExchange) -> None:
        """Take note that nothing more of `exchange` will be sent."""
        self._door.gone(exchange.id)

    def _decide(self, happening: Happening) -> Fate:
        self._state.injector, fate = decide(self._script.faults, self._state.injector, happening)
        return fate

    def _refusal(
        self, refused: Refused, standing: RateStanding, exchange: Exchange
    ) -> tuple[HttpError, Answer]:
        """Return what a refusal looks like: an error with its usual status, in true figures."""
        name = refused.rule.error
        payload = truthful(self._payloads[name], refused, standing)
        fault = HttpError(kind="http_error", status=payload.status, error=name)
        return fault, self._error_answer(name, payload, payload.status, exchange)

    def _answer(
        self, asked: Asked, exchange: Exchange, good: Answer | None, fault: Fault | None
    ) -> Answer:
        if asked.refusal is not None:
            name, values = asked.refusal.payload, asked.refusal.values
            payload = filled(self._objections.get(name, self._payloads[name]), asked.refusal.places)
            return self._error_answer(name, payload, payload.status, exchange, values)
        if isinstance(fault, HttpError):
            payload = self._payloads[fault.error]
            answer = self._error_answer(fault.error, payload, fault.status, exchange, asked.values)
            return replace(answer, headers=merged(answer.headers, fault.headers))
        if isinstance(fault, OkWithErrorBody):
            if fault.error is None:
                return Answer(status=fault.status, headers=(), chunks=(b"",))
            payload = self._payloads[fault.error]
            return self._error_answer(fault.error, payload, fault.status, exchange, asked.values)
        assert good is not None, "a request that is not refused has a good answer"
        if not isinstance(fault, AnswerEnds) or good.finish_reason is None:
            # An answer that is not made yet says later how it ended.
            return good
        error = self._failure_in(good) if fault.how == "failed" else None
        return replace(good, ends=fault.how, error=error)

    def _failure_in(self, answer: Answer) -> ErrorFacts:
        """Return what an answer says of the failure that ended it, which may be nothing."""
        content_type = str(dict(answer.headers).get("content-type", ""))
        heard = self._dialect.heard(b"".join(answer.chunks), content_type)
        return heard.error or {"code": None, "type": None, "message": None}

    def _error_answer(
        self,
        name: str,
        payload: ErrorPayload,
        status: int,
        exchange: Exchange,
        values: Mapping[str, Any] = MappingProxyType({}),
    ) -> Answer:
        answer = self._dialect.error_answer(payload, status, exchange, values)
        return replace(answer, error=self._meant(name, answer.error, status))

    def _meant(self, name: str, error: ErrorFacts | None, status: int | None) -> ErrorFacts | None:
        """Return the facts of an error with what is meant by it, where its code does not say so.

        The names of errors are the same in every dialect, and the codes are each provider's own.
        What a scenario brings along has a name of its own, which means nothing to others unless
        the scenario says what.

        Args:
            status: None inside a stream. Where neither a status nor a code nor a type tells one
                error from another, nobody could know what is meant.
        """
        meaning = self._payloads[name].means or name
        if error is None or meaning in (error.get("code"), error.get("type")):
            return error
        if meaning == name and name in self._script.payloads:
            return error
        told = error.get("code") is not None or error.get("type") is not None
        if not told and (status is None or status < 400):
            return error
        return {**error, "means": meaning}

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
            self.actor,
            f"{self.about}.request",
            exchange=exchange,
            connection=connection,
            call=call,
            attempt=attempt,
            method=request.method,
            target=scrubbed_url(request.target),
            headers=scrubbed(request.headers, sent=True),
            **self._questions.facts(request.body, asked, self._dialect.chat(asked), call, exchange),
            body_bytes=len(request.body),
            model=None if asked.model is None else without_secrets(asked.model),
            stream=asked.stream,
            **({"counts": True} if asked.shown is not None and asked.shown.counts else {}),
            **self._told_the_model(asked),
            **self.mark,
        )

    def _told_the_model(self, asked: Asked) -> dict[str, object]:
        """Return what a request says to the model: of a runtime all, of others the tools alone."""
        if self._transcript is not None:
            return self._transcript.facts(asked)
        tools = offered_tools(asked.body)
        return {"tools": tools} if tools else {}

    def _record_fired(
        self, rule: FaultRule, call: str | None, attempt: int, exchange: str | None
    ) -> None:
        self.kernel.record(
            self.actor,
            "fault.fired",
            fault=rule.id,
            fault_kind=rule.then.kind,
            call=call,
            attempt=attempt,
            exchange=exchange,
            **self.whose,
        )

    def _record_refused(self, exchange: PlannedExchange, account: int, refused: Refused) -> None:
        """Record that a limit bit, and which caller came although it had to wait."""
        self._state.injector = mark_met(self._state.injector, refused.rule.id)
        early = {"early_ns": refused.early_ns, "pushed_back_ns": refused.pushed_back_ns}
        self.kernel.record(
            self.actor,
            "fault.fired",
            fault=refused.rule.id,
            fault_kind=refused.rule.fault_kind,
            call=exchange.call,
            attempt=exchange.attempt,
            exchange=exchange.id,
            account=account,
            retry_after_ns=refused.retry_after_ns,
            **(early if refused.early_ns is not None else {}),
            **self.mark,
        )
