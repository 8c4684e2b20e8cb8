"""Fake services around a runtime: hooks, a telemetry sink, a queue.

Each answers in virtual time, raises an ordinary exception, or never comes back, as its script
says. What is exported or pushed is not kept: a trace says that it was, and how it went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Style, waiting
from faultclock.fakes.ports.uses import Used, UseRule, Uses, UsesState
from faultclock.model.scenario.services_script import (
    HookScript,
    HookSlot,
    QueueScript,
    ServiceRule,
    TelemetryScript,
)
from faultclock.model.secrets import without_secrets
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.promise import Promise

_Clean = Callable[[str], str]


class FakeHook(Uses):
    """One hook in one life of the subject; it implements the port `Hook`.

    `run` is a coroutine function for an async subject and blocks the simulated thread of a
    blocking one. A hook that raises does so with RuntimeError; one whose task is cancelled stops.

    Args:
        style: of the subject.
        state: of this hook, over all lives; it is changed in place.
        life: 1-based.
        clean: takes out of what it raises what may stand in no trace.
    """

    run: Callable[[Mapping[str, Any]], Any]

    def __init__(
        self,
        script: HookScript,
        kernel: Kernel,
        style: Style,
        state: UsesState,
        life: int = 1,
        *,
        clean: _Clean = without_secrets,
    ) -> None:
        self.id = script.id
        self.slot: HookSlot = script.slot
        used = Used(
            actor="hook",
            of=f"hook {script.id}",
            begins="hook.called",
            takes_ns=script.takes,
            stops=True,
        )
        rules = _rules(script.rules, RuntimeError, clean)
        super().__init__(used, rules, kernel, state, life)
        self.run = waiting(style, self._begin)

    def _begin(self, payload: Mapping[str, Any]) -> Promise:  # noqa: ARG002 - the port's
        return self.begin({"hook": self.id, "slot": self.slot})


class _Outside(Uses):
    """A service that lies outside of the subject's process.

    It goes on when its caller has stopped waiting, and raises ConnectionError where it fails.

    Args:
        style, state, life, clean: as those of a FakeHook.
    """

    #: What it is called in facts, and what they call the thing that it is given.
    _name: ClassVar[str]
    _given: ClassVar[str]

    def __init__(
        self,
        script: TelemetryScript | QueueScript,
        kernel: Kernel,
        style: Style,
        state: UsesState,
        life: int = 1,
        *,
        clean: _Clean = without_secrets,
    ) -> None:
        self._clean = clean
        used = Used(
            actor=self._name,
            of=self._name,
            begins=f"{self._name}.asked",
            takes_ns=script.takes,
            stops=False,
        )
        rules = _rules(script.rules, ConnectionError, clean)
        super().__init__(used, rules, kernel, state, life)
        self._wait = waiting(style, self._begin)

    def _begin(self, given: str, more: Mapping[str, Any]) -> Promise:  # noqa: ARG002 - the port's
        return self.begin({self._given: plain(given, self._clean)})


class FakeTelemetry(_Outside):
    """The telemetry sink of one life; it implements the port `TelemetrySink`."""

    _name, _given = "telemetry", "name"

    @property
    def export(self) -> Callable[[str, Mapping[str, Any]], Any]:
        """The port's method: a coroutine function for an async subject."""
        return self._wait


class FakeQueue(_Outside):
    """The queue of one life; it implements the port `Queue`."""

    _name, _given = "queue", "item"

    @property
    def push(self) -> Callable[[str, Mapping[str, Any]], Any]:
        """The port's method: a coroutine function for an async subject."""
        return self._wait


def _rules(
    rules: tuple[ServiceRule, ...], raised: type[Exception], clean: _Clean
) -> Iterator[UseRule]:
    for rule in rules:
        yield UseRule(
            rule=rule,
            fault_kind=rule.then,
            make_error=None if rule.then == "hangs" else _maker(raised, rule.message),
            error={"type": raised.__name__, "message": clean(rule.message)},
        )


def _maker(raised: type[Exception], message: str) -> Callable[[], Exception]:
    return lambda: raised(message)
