"""Other hosts of a world: what a tool asks there is answered by a script, or refused by name.

A service is a provider that speaks to no model: the same engine answers, with the same faults. Its
facts have kinds of their own, and the network records nothing of its connections, so no judge can
take what a tool asks for an attempt at the model's provider.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct, field

from faultclock.errors import InternalError
from faultclock.fakes.provider.planned import PlannedExchange
from faultclock.fakes.provider.provider import ExchangeNumbers, FakeProvider, ProviderState
from faultclock.fakes.provider.stdio_servers import StdioServers
from faultclock.fakes.wire.dialect import Asked
from faultclock.fakes.wire.headers import scrubbed_url
from faultclock.fakes.wire.http_server import (
    BadRequest,
    ContinueWanted,
    HttpRequest,
    ServerConnection,
)
from faultclock.load.payloads import load_payloads
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.service_host import ServiceHost
from faultclock.sim.kernel.escapes import end_refused
from faultclock.sim.net.fates import ConnectFate, ResolveFails, ResolveFate, Unreachable

if TYPE_CHECKING:
    from faultclock.sim.kernel.kernel import Kernel
    from faultclock.sim.kernel.streams import Streams
    from faultclock.sim.net.endpoint import Endpoint
    from faultclock.sim.world import World

#: Ports that need not be written after a host.
_USUAL_PORTS = (80, 443)
#: How long a client that was connected may say nothing, before it is refused for that.
_SILENT_NS = 5 * SECOND_NS


class ServicesState(Struct):
    """What all services remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        of: by host.
    """

    of: dict[str, ProviderState] = field(default_factory=dict)

    @classmethod
    def initial(cls, services: Iterable[ServiceHost]) -> ServicesState:
        """Return the state before the first request; all services number them together."""
        numbers = ExchangeNumbers()
        return cls(of={service.place: ProviderState(numbers=numbers) for service in services})


class FakeServices:
    """The other hosts of one life of the subject.

    Args:
        unreachable: hosts that have no address, which a framework asks for purposes of its own.

    Raises:
        UnknownNameError, InputError: a script cannot be played; see FakeProvider.
    """

    def __init__(
        self,
        services: Iterable[ServiceHost],
        state: ServicesState,
        world: World,
        seed: int,
        unreachable: Iterable[str] = (),
    ) -> None:
        for name in unreachable:
            world.network.stand_beside(name, None, _no_connection, _NoAddress())
        self._services = [
            FakeService(service, state.of[service.place], world.kernel, seed, world.choices.streams)
            for service in services
        ]
        for service in self._services:
            host = service.host
            if host.host is not None:
                world.network.stand_beside(host.name, host.port, service.accept, service)
        started = [service for service in self._services if service.host.host is None]
        if started:
            StdioServers(started, world.kernel)
        world.network.nowhere = _Unanswered(world.kernel).accept

    def seal(self) -> None:
        """Record every rule that was never met. Call it once, after the last life."""
        for service in self._services:
            service.seal()


class _NoAddress:
    """Of a host that cannot be looked up, as behind a firewall."""

    def on_resolve(self, *_: object) -> ResolveFate:
        """Find nothing."""
        return ResolveFails()

    def on_connect(self, *_: object) -> ConnectFate:
        """Find no way to an address that is known from elsewhere."""
        return Unreachable()


def _no_connection(endpoint: Endpoint) -> None:
    raise InternalError(f"{endpoint.hostname} has no address, and was connected to")


class FakeService(FakeProvider):
    """One other host of one life.

    Args:
        state: of the run; it is changed in place.
        seed: of the run.
    """

    actor: ClassVar[str] = "service"
    about: ClassVar[str] = "service"
    exchanges: ClassVar[str] = "s"

    def __init__(
        self,
        host: ServiceHost,
        state: ProviderState,
        kernel: Kernel,
        seed: int,
        streams: Streams,
    ) -> None:
        script = host.script
        payloads = load_payloads(str(script.dialect))
        super().__init__(script, payloads, seed, state=state, streams=streams)
        self.stand_in(kernel)
        self._world_kernel = kernel
        self._endpoints: dict[str, Endpoint] = {}
        self.host = host
        self.mark = {"service": host.place}
        self.whose = {"of": f"service {host.place}"}

    def accept(self, endpoint: Endpoint) -> None:  # type: ignore[override]
        """Serve one connection of the world."""
        self._endpoints[endpoint.connection_id] = endpoint
        super().accept(endpoint)

    def _told_the_model(self, asked: Asked) -> dict[str, object]:
        """Return what a request is called; no model is told anything here."""
        return {"asks": asked.named[0]} if asked.named else {}

    def plan(self, request: HttpRequest, connection: str, call: str | None) -> PlannedExchange:
        """Record `request`, and return what is to be done about it; refuse it where nothing is."""
        planned = super().plan(request, connection, call)
        if planned.unanswered:
            endpoint = self._endpoints[connection]
            refuse_request(self._world_kernel, endpoint, self.host.place, request)
        return planned


class _Unanswered:
    """Stands at every host that nothing answers: it hears what is asked, and refuses that by name.

    So the refusal can say what would answer it.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def accept(self, endpoint: Endpoint, asker: str) -> None:
        """Take a connection that `asker` (in words) has opened."""
        endpoint.sink = _Listening(self._kernel, endpoint, asker)


class _Listening:
    """One connection to a host that nothing answers."""

    def __init__(self, kernel: Kernel, endpoint: Endpoint, asker: str) -> None:
        self._kernel, self._endpoint, self._asker = kernel, endpoint, asker
        self._http = ServerConnection()
        self._silent = kernel.call_after(_SILENT_NS, self._refuse, "a connection")

    def on_readable(self) -> None:
        """Take what arrived; called by the endpoint."""
        data = bytes(self._endpoint.rx)
        del self._endpoint.rx[:]
        if not data:
            if self._endpoint.eof or self._endpoint.error is not None:
                self._silent.cancel()
            return
        self._http.receive(data)
        for event in self._http.events():
            self._silent.cancel()
            match event:
                case HttpRequest():
                    asker = f" of {self._asker}"
                    refuse_request(self._kernel, self._endpoint, self._place, event, asker)
                    return
                case BadRequest():
                    self._refuse("bytes that are no HTTP")
                    return
                case ContinueWanted():
                    self._endpoint.send(event.answer)

    @property
    def _place(self) -> str:
        host, port = self._endpoint.hostname, self._endpoint.local_address[1]
        host = "localhost" if host == "127.0.0.1" else host
        return host if port in _USUAL_PORTS else f"{host}:{port}"

    def _refuse(self, what: str) -> None:
        told = f"{what} of {self._asker} to {self._place} (nothing in the scenario answers it)"
        end_refused(self._kernel, told, self._endpoint.opened_at)


def refuse_request(
    kernel: Kernel, endpoint: Endpoint, host: str, request: HttpRequest, asker: str = ""
) -> None:
    """End the run: nothing says what is answered to `request`."""
    target = scrubbed_url(request.target)
    kernel.record(
        *("service", "service.unanswered"),
        host=host,
        method=request.method,
        target=target,
        call=endpoint.last_call_id,
    )
    told = f"a request{asker} to {host}, {request.method} {target}"
    end_refused(kernel, f"{told} (nothing in the scenario answers it)", endpoint.opened_at)
