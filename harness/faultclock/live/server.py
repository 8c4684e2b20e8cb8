"""One fake provider on one port of the loopback interface, from its first connection to its last.

It accepts, separates connections and calls, and hands them to the provider. What is said on a
connection is the business of `endpoint` and of the provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.fakes.provider.place import Waiting
from faultclock.live.endpoint import LiveEndpoint
from faultclock.live.kernel import LiveKernel
from faultclock.live.provider import LiveProvider
from faultclock.live.routes import Routes
from faultclock.live.servable import base_path, check_servable
from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.bind_scenario import payloads_of

#: Only programs on this machine are served.
HOST = "127.0.0.1"
#: Often enough to notice what keeps this process from running.
_BEAT_NS = 10 * MILLISECOND_NS


class LiveServer:
    """Serves the provider of one scenario.

    Args:
        scenario: with its dialect filled in; see `run.bind_scenario`.
        seed: of the run.

    Attributes:
        kernel: its clock and ledger.
        routes: which path leads to which call.
        latency_ns: how much later the client gets what it is sent.
        place: host and port, as facts name them.

    Raises:
        InputError: some of the scenario cannot be played on a socket.
    """

    def __init__(self, scenario: Scenario, kernel: LiveKernel, *, seed: int = 0) -> None:
        check_servable(scenario)
        self.scenario = scenario
        self.kernel = kernel
        self.routes = Routes(scenario)
        self.latency_ns = scenario.provider.latency
        self.place: Mapping[str, Any] = {"host": HOST, "port": 0}
        self._provider = LiveProvider(
            scenario, payloads_of(scenario.provider), self.routes, seed, kernel.epoch_ns
        )
        self._provider.stand_in(kernel)
        self._server: asyncio.Server | None = None
        self._open: dict[LiveEndpoint, None] = {}
        self._connections = 0
        self._begun: set[str] = set()
        self._beating: Waiting | None = None
        self._tasks = {task.id: task for task in scenario.tasks}
        kernel.record("harness", "run.started")

    # ------------------------------------------------------------------ for the owner of the server

    async def start(self, port: int = 0) -> None:
        """Listen at `port` of the loopback interface; 0 takes any that is free.

        Raises:
            OSError: another program listens there.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: LiveEndpoint(self), HOST, port)
        port = int(self._server.sockets[0].getsockname()[1])
        self.place = {"host": HOST, "port": port}
        self._beat()

    def base_url(self, call: str | None = None) -> str:
        """Return what a client has to know: for one call, or for all of them together."""
        prefix = "" if call is None else self.routes.prefix(call)
        return f"http://{HOST}:{self.place['port']}{prefix}{base_path(self.scenario)}"

    def begin_calls(self) -> None:
        """Record that all calls of the scenario begin now: a program was started for them."""
        for call in self.routes.calls:
            self.begin_call(call, self.kernel.now_ns)

    def expect_calls(self) -> None:
        """Leave it to the caller to say when calls begin."""
        self._begun.update(self.routes.calls)

    @property
    def begun(self) -> tuple[str, ...]:
        """The calls that have begun, in the scenario's order."""
        return tuple(call for call in self.routes.calls if call in self._begun)

    async def stop(self) -> None:
        """Accept nothing more, drop what is open, and record the faults that were not met."""
        if self._server is not None:
            self._server.close()
        for endpoint in tuple(self._open):
            endpoint.abandon()
        if self._server is not None:
            await self._server.wait_closed()
        if self._beating is not None:
            self._beating.cancel()
            self.kernel.record("harness", "clock.late", late_ns=self.kernel.late_ns)
        self._provider.seal()

    def _beat(self) -> None:
        """Keep a timer going, so that the kernel sees how late this process is served itself."""
        self._beating = self.kernel.call_after(_BEAT_NS, self._beat)

    # ------------------------------------------------------------------ for its connections

    def opened(self, endpoint: LiveEndpoint) -> str:
        """Serve one more connection and return its id."""
        self._connections += 1
        self._open[endpoint] = None
        endpoint.connection_id = f"c{self._connections}"
        self._provider.accept(endpoint)
        return endpoint.connection_id

    def gone(self, endpoint: LiveEndpoint) -> None:
        """Forget a connection that is over."""
        self._open.pop(endpoint, None)

    def begin_call(self, call: str | None, at_ns: int) -> None:
        """Record that a call began, unless it is known to have."""
        if call is None or call in self._begun:
            return
        self._begun.add(call)
        task_id, _, copy = call.rpartition("/")
        task = self._tasks[task_id]
        self.kernel.record_at(
            at_ns,
            "harness",
            "call.started",
            call=call,
            task=task_id,
            copy=int(copy),
            stream=task.stream,
            prompt=task.prompt,
        )
