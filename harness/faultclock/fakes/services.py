"""Fake services around a runtime: hooks, a telemetry sink, a queue.

Each answers in virtual time, raises an ordinary exception, or never comes back, as its script
says. What is exported or pushed is not kept: a trace says that it was, and how it went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from faultclock.fakes.plain import plain
from faultclock.fakes.uses import Used, UseRule, Uses, UsesState
from faultclock.model.secrets import without_secrets
from faultclock.model.services_script import (
    HookScript,
    HookSlot,
    QueueScript,
    ServiceRule,
    TelemetryScript,
)
from faultclock.sim.kernel import Kernel
from faultclock.sim.promise import Promise

__all__ = ["FakeHook", "FakeQueue", "FakeTelemetry"]

_Style = Literal["async", "sync"]
_Clean = Callable[[str], str]


class FakeHook:
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
        style: _Style,
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
        self._uses = Uses(used, rules, kernel, state, life)
        self.run = self._run_async if style == "async" else self._run_sync

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        self._uses.seal()

    @property
    def _facts(self) -> dict[str, Any]:
        return {"hook": self.id, "slot": self.slot}

    async def _run_async(self, payload: Mapping[str, Any]) -> None:  # noqa: ARG002 - the port's
        await self._uses.begin(self._facts).wait_async()

    def _run_sync(self, payload: Mapping[str, Any]) -> None:  # noqa: ARG002 - the port's
        self._uses.begin(self._facts).wait_sync()


class _Outside:
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
        style: _Style,
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
        self._uses = Uses(used, rules, kernel, state, life)
        self._style = style

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        self._uses.seal()

    def _asked(self, given: str) -> Promise:
        return self._uses.begin({self._given: plain(given, self._clean)})


class FakeTelemetry(_Outside):
    """The telemetry sink of one life; it implements the port `TelemetrySink`."""

    _name, _given = "telemetry", "name"

    @property
    def export(self) -> Callable[[str, Mapping[str, Any]], Any]:
        """The port's method: a coroutine function for an async subject."""
        return self._export_async if self._style == "async" else self._export_sync

    async def _export_async(self, name: str, fields: Mapping[str, Any]) -> None:  # noqa: ARG002
        await self._asked(name).wait_async()

    def _export_sync(self, name: str, fields: Mapping[str, Any]) -> None:  # noqa: ARG002
        self._asked(name).wait_sync()


class FakeQueue(_Outside):
    """The queue of one life; it implements the port `Queue`."""

    _name, _given = "queue", "item"

    @property
    def push(self) -> Callable[[str, Mapping[str, Any]], Any]:
        """The port's method: a coroutine function for an async subject."""
        return self._push_async if self._style == "async" else self._push_sync

    async def _push_async(self, item: str, body: Mapping[str, Any]) -> None:  # noqa: ARG002
        await self._asked(item).wait_async()

    def _push_sync(self, item: str, body: Mapping[str, Any]) -> None:  # noqa: ARG002
        self._asked(item).wait_sync()


def _rules(
    rules: tuple[ServiceRule, ...], raised: type[Exception], clean: _Clean
) -> Iterator[UseRule]:
    for rule in rules:
        yield UseRule(
            id=rule.id,
            optional=rule.optional,
            numbers=rule.uses,
            fault_kind=rule.then,
            make_error=None if rule.then == "hangs" else _maker(raised, rule.message),
            error={"type": raised.__name__, "message": clean(rule.message)},
        )


def _maker(raised: type[Exception], message: str) -> Callable[[], Exception]:
    return lambda: raised(message)
