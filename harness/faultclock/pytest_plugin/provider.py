"""`fake_provider`: a model provider in the simulated network, told by a test what goes wrong.

What it can say and how it can fail is what a scenario's `provider:` can: the same words, the same
error bodies, the same dialects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from faultclock.errors import InputError, UnknownNameError
from faultclock.fakes.provider.provider import FakeProvider, ProviderState
from faultclock.fakes.wire.injector import unmet
from faultclock.load.payloads import dialect_names, load_dialect, load_payloads
from faultclock.model.scenario.fault import Fault, FaultRule, Trigger
from faultclock.model.scenario.provider_script import DEFAULT_DIALECT, ProviderScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.sim.world import World
from faultclock.subjects.ports import API_KEY

_KINDS: Mapping[str, Any] = {
    get_args(kind.model_fields["kind"].annotation)[0]: kind for kind in get_args(get_args(Fault)[0])
}
_CONDITIONS = frozenset(Trigger.model_fields) - {"attempts", "scope", "task"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request that arrived, and what was answered.

    Attributes:
        at_s: virtual seconds at which it arrived.
        attempt: its number, 1-based.
        method, target: of the HTTP request.
        headers: of it, in lower case, without secrets.
        model: that it asks for.
        stream: whether it asks for a stream.
        status: of the answer; None where there was none.
        error: code and message of the answer; None where it was a good one.
    """

    at_s: float
    attempt: int
    method: str
    target: str
    headers: Mapping[str, str]
    model: str | None
    stream: bool
    status: int | None = None
    error: Mapping[str, Any] | None = None


class ScriptedProvider:
    """A provider that every client finds, whatever host it asks.

    Args:
        dialect: the API that it speaks; None: `openai-chat`.
        seed: of the ids that it makes up.

    Attributes:
        dialect: as above.
        base_url: where its API begins, for clients that take an address.
        api_key: a key that opens nothing.
        model: name of a model that its clients ask for by default.

    Raises:
        UnknownNameError: there is no such dialect.
    """

    def __init__(self, *, dialect: str | None = None, seed: int = 0) -> None:
        self.dialect = dialect or DEFAULT_DIALECT
        if self.dialect not in dialect_names():
            raise UnknownNameError("dialect", self.dialect, dialect_names())
        known = load_dialect(self.dialect)
        self.base_url = known.base_url
        self.model = known.model
        self.api_key = API_KEY
        self._seed = seed
        self._script = ProviderScript(dialect=self.dialect)
        self._state = ProviderState()
        self._world: World | None = None

    # ------------------------------------------------------------------ what a test plans

    def fault(
        self,
        kind: str,
        *,
        attempts: int | str = 1,
        optional: bool = False,
        **more: Any,
    ) -> str:
        """Plan a fault, and return its id. The first that was planned and fits is what happens.

        Args:
            kind: as in a scenario: `http_error`, `connect_refused`, `stall`, ...
            attempts: which requests meet it, counted from 1: `2`, `"1-3"`, `"3+"` or `"every"`.
            optional: whether the test may pass although nobody met it.
            more: what else a fault of that kind has, such as `error`, `status` and `headers`,
                and its other conditions: `stream`, `from_time` and `until_time`.

        Raises:
            InputError: there is no such fault.
        """
        __tracebackhide__ = True
        if kind not in _KINDS:
            raise UnknownNameError("kind of fault", kind, tuple(_KINDS))
        when = {name: more.pop(name) for name in tuple(more) if name in _CONDITIONS}
        self._check_error(more)
        if kind == "http_error" and "error" in more:
            more.setdefault("status", self._payloads()[more["error"]].status)
        id_ = f"{kind.replace('_', '-')}-{len(self._script.faults) + 1}"
        rule = {
            "id": id_,
            "when": {"attempts": attempts, **when},
            "then": {"kind": kind, **more},
            "optional": optional,
        }
        try:
            planned = FaultRule.model_validate(rule)
        except ValidationError as error:
            raise InputError(f"no such {kind}: {_in_words(error)}") from None
        faults = (*self._script.faults, planned)
        self._script = self._script.model_copy(update={"faults": faults})
        return id_

    def script(self, **provider: Any) -> None:
        """Set what else a scenario's `provider:` can say, such as `reply="Hi."`.

        Raises:
            InputError: it cannot say that.
        """
        __tracebackhide__ = True
        written = self._script.model_dump(mode="json")
        try:
            self._script = ProviderScript.model_validate({**written, **provider})
        except ValidationError as error:
            raise InputError(f"no such provider: {_in_words(error)}") from None

    # ------------------------------------------------------------------ what a test looks at

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The requests that arrived so far, each with what was answered."""
        if self._world is None:
            return ()
        events = [TraceEvent(*fact) for fact in self._world.recorder.events]
        answered = {
            event.payload["exchange"]: event.payload
            for event in events
            if event.kind == "http.response"
        }
        asked = (event for event in events if event.kind == "http.request")
        return tuple(_exchange(event, answered) for event in asked)

    # ------------------------------------------------------------------ for the simulation

    def mount(self, world: World) -> None:
        """Stand in the world of one run, with what is remembered of those before.

        Raises:
            InputError: what was planned cannot be put on the wire.
        """
        self._world = world
        FakeProvider(
            self._script, load_payloads(self.dialect), self._seed, state=self._state
        ).mount(world)

    def check_met(self) -> None:
        """Fail the test if a planned fault did not happen.

        Raises:
            pytest.fail.Exception: one did not.
        """
        __tracebackhide__ = True
        missed = [
            rule for rule in unmet(self._script.faults, self._state.injector) if not rule.optional
        ]
        if missed:
            names = " and ".join(_told(rule) for rule in missed)
            pytest.fail(
                f"nobody met {names}: {len(self.exchanges)} requests arrived. A test in which a"
                " planned fault does not happen shows nothing (optional=True lets it be)",
                pytrace=False,
            )

    def _payloads(self) -> Mapping[str, Any]:
        return {**load_payloads(self.dialect), **self._script.payloads}

    def _check_error(self, more: Mapping[str, Any]) -> None:
        __tracebackhide__ = True
        name = more.get("error")
        known = self._payloads()
        if name is not None and name not in known:
            raise UnknownNameError(f"error of {self.dialect}", str(name), tuple(known))


def _told(rule: FaultRule) -> str:
    attempts = FaultRule.model_dump(rule, mode="json")["when"]["attempts"]
    return f"{rule.id!r} ({rule.then.kind} at attempt {attempts})"


def _exchange(event: TraceEvent, answered: Mapping[str, Mapping[str, Any]]) -> Exchange:
    asked = event.payload
    answer = answered.get(asked["exchange"], {})
    return Exchange(
        at_s=event.at_ns / 1_000_000_000,
        attempt=asked["attempt"],
        method=asked["method"],
        target=asked["target"],
        headers=asked["headers"],
        model=asked["model"],
        stream=bool(asked["stream"]),
        status=answer.get("status"),
        error=answer.get("error"),
    )


def _in_words(error: ValidationError) -> str:
    """Return the first problem in one line."""
    first = error.errors(include_url=False)[0]
    places = [str(part) for part in first["loc"] if part not in ("then", "when", *_KINDS)]
    return f"{'.'.join(places)}: {first['msg']}" if places else str(first["msg"])
