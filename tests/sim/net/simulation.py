"""What the network's tests share: run something in a world and look at what was recorded."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from faultclock.sim.kernel.kernel import Limits
from faultclock.sim.net.fates import (
    Accept,
    ConnectFate,
    Resolve,
    ResolveFate,
)
from faultclock.sim.world import World
from tests.sim.net.scripted import Reply, SimService

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@dataclass
class FixedPolicy:
    """The same fates each time, unless `connects` still holds some."""

    resolve: ResolveFate = field(default_factory=Resolve)
    connect: ConnectFate = field(default_factory=Accept)
    connects: tuple[ConnectFate, ...] = ()

    def on_resolve(
        self, host: str, port: int | None, call_id: str | None, now_ns: int
    ) -> ResolveFate:
        """Return the fixed fate."""
        return self.resolve

    def on_connect(self, host: str, port: int, call_id: str | None, now_ns: int) -> ConnectFate:
        """Return the next fate."""
        if self.connects:
            fate, *rest = self.connects
            self.connects = tuple(rest)
            return fate
        return self.connect


@dataclass(frozen=True)
class Run:
    """What happened in one world."""

    world: World
    service: SimService
    reason: str
    value: Any
    error: BaseException | None

    @property
    def seconds(self) -> float:
        """Virtual time at the end."""
        return self.world.kernel.now_ns / SECOND

    @property
    def kinds(self) -> list[str]:
        """Kinds of the network's facts, in order."""
        return [kind for _, _, actor, kind, _ in self.world.recorder.events if actor == "network"]

    def facts(self, kind: str) -> list[dict[str, Any]]:
        """Payloads of one kind, with the time as `at`, in seconds."""
        return [
            {"at": at_ns / SECOND, **payload}
            for _, at_ns, _, found, payload in self.world.recorder.events
            if found == kind
        ]

    @property
    def chain(self) -> list[str]:
        """Class names of the error and its causes."""
        names = []
        error = self.error
        while error is not None:
            names.append(type(error).__name__)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return names


def simulate(
    subject: Callable[[], Any],
    *replies: Reply,
    policy: FixedPolicy | None = None,
    prepare: Callable[[World], None] | None = None,
    latency_ns: int = 5 * MILLISECOND,
) -> Run:
    """Run `subject` in a fresh world where every host answers with `replies`."""
    limits = Limits(
        virtual_ns_max=10_000 * SECOND, events_max=1_000_000, events_per_instant_max=20_000
    )
    world = World(seed=1, limits=limits, latency_ns=latency_ns)
    service = SimService(world.kernel, *replies)
    world.network.listen(None, None, service)
    world.network.policy = policy
    if prepare is not None:
        prepare(world)
    # A blocking subject runs on this very thread: what other tests set does not concern it.
    ending = contextvars.Context().run(world.run, subject)
    return Run(world, service, ending.reason, ending.value, ending.error)
