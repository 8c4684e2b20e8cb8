"""The fake provider of a scenario, where its requests say by their path which call they are of.

Everything else is the provider of the simulation: the same dialect, faults, timing and ledger.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from faultclock.fakes.provider.planned import PlannedExchange
from faultclock.fakes.provider.provider import FakeProvider
from faultclock.fakes.wire.http_server import HttpRequest
from faultclock.live.routes import Routes
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.scenario import Scenario


class LiveProvider(FakeProvider):
    """The provider of one scenario on a real socket.

    Args:
        payloads: error bodies of the scenario's dialect, by name.
        seed: of the run.
        epoch_ns: wall-clock instant of time 0, in nanoseconds since 1970.
    """

    def __init__(
        self,
        scenario: Scenario,
        payloads: Mapping[str, ErrorPayload],
        routes: Routes,
        seed: int,
        epoch_ns: int,
    ) -> None:
        super().__init__(scenario.provider, payloads, seed, epoch_ns)
        self._routes = routes

    def plan(
        self,
        request: HttpRequest,
        connection: str,
        call: str | None,  # noqa: ARG002 - a connection may be shared by calls; the path decides
    ) -> PlannedExchange:
        """Record `request` without the prefix of its path, and return what is to be done."""
        routed = self._routes.of_target(request.target)
        return super().plan(replace(request, target=routed.target), connection, routed.call)
