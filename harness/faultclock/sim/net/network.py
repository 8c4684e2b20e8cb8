"""The simulated network: names, addresses, listeners, connection attempts.

Any host name resolves, to an address handed out in the order of first use, so a client with
its default base URL works. What listens, and which lookups and attempts fail, is said by
whoever mounts services and a ConnectPolicy; the network carries it out and records the facts.
It knows neither asyncio nor socket objects, nor any protocol above TCP.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, assert_never
from weakref import WeakValueDictionary

from faultclock.errors import InternalError
from faultclock.sim.kernel.context import WORKING, current_call
from faultclock.sim.kernel.escapes import call_site
from faultclock.sim.kernel.kernel import TIMED_OUT, Call, Kernel, current
from faultclock.sim.kernel.streams import Streams
from faultclock.sim.net.databases import refuse_database
from faultclock.sim.net.endpoint import Address, Endpoint, link
from faultclock.sim.net.fates import (
    CONNECT_GIVE_UP_NS,
    Accept,
    Blackhole,
    ConnectFate,
    ConnectPolicy,
    Refuse,
    Resolve,
    ResolveFails,
    ResolveFate,
    Unreachable,
)

if TYPE_CHECKING:
    from faultclock.sim.net.sockets import SimSocket

#: One way; a request and its answer take twice this besides the server's own time.
DEFAULT_LATENCY_NS = 5_000_000

#: Simulated descriptors start here: far above any real one, so that a descriptor that leaks
#: into real I/O fails with EBADF instead of meeting a stranger's file.
_DESCRIPTOR_BASE = 1 << 30

_SUBJECT_ADDRESS = "10.255.0.1"
_LOOPBACK = "127.0.0.1"
#: Spellings of the subject's own machine, besides 127.0.0.0/8.
_OWN_NAMES = frozenset({"", "localhost", "0.0.0.0", "::", "::1"})  # noqa: S104 - binds nothing

#: Accepts one connection: gets the server's endpoint, must set its sink and return at once.
Service = Callable[[Endpoint], None]

#: Where a kernel keeps its network.
_PART = "network"


def current_network() -> Network:
    """Return the network of the simulated thread that calls.

    Raises:
        InternalError: the caller is no simulated thread, or its world has no network.
    """
    here = current()
    network: Network | None = None if here is None else here[0].parts.get(_PART)
    if network is None:
        raise InternalError("simulated network used outside a simulated thread")
    return network


class Attempt:
    """One attempt to connect, from the subject's first packet to its outcome.

    Attributes:
        connection_id: the id that every fact about it carries.
        done: the outcome was told or the attempt was abandoned.
    """

    __slots__ = ("_call", "_kernel", "_on_done", "_quiet", "connection_id", "done")

    def __init__(
        self,
        kernel: Kernel,
        connection_id: str,
        on_done: Callable[[Endpoint | OSError], None],
        *,
        quiet: bool,
    ) -> None:
        self._kernel = kernel
        self._quiet = quiet
        self._on_done: Callable[[Endpoint | OSError], None] | None = on_done
        self.connection_id = connection_id
        self.done = False
        self._call: Call | None = None

    @property
    def lane(self) -> str:
        """The name of the order in which its parts happen."""
        return f"{self.connection_id}/connect"

    def abandon(self) -> None:
        """Give up before the outcome: the subject's own deadline, a cancellation, a close."""
        if not self.done and self._kernel.ending is None:
            self.done = True
            if self._call is not None:
                self._call.cancel()
            # Nothing may keep an abandoned socket alive, or it would never be closed.
            self._call = self._on_done = None
            if not self._quiet:
                self._kernel.record(
                    "network",
                    "net.closed",
                    connection=self.connection_id,
                    call=current_call(),
                    how="abort",
                )

    def _after(self, delay_ns: int, outcome: Callable[[], Endpoint | OSError]) -> None:
        self._call = self._kernel.call_after(delay_ns, self._finish, outcome)

    def _finish(self, outcome: Callable[[], Endpoint | OSError]) -> None:
        self.done = True
        tell, self._on_done, self._call = self._on_done, None, None
        assert tell is not None
        tell(outcome())


class Network:
    """Names, listeners and connections of one kernel.

    Args:
        kernel: whose clock and recorder it uses.
        latency_ns: one way, 0 or more.
        jitter_ns: each delivery takes up to this much longer; the order within a connection is
            kept.
        streams: what that is drawn from; None: the kernel's seed draws it.

    Attributes:
        policy: decides lookups and attempts; None lets everything through.
        descriptors: the open simulated sockets by descriptor.
        connections_made: attempts to connect so far; the next connection's number follows.
        nowhere: takes a connection of a tool to a host that nothing answers, and who opened it.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        latency_ns: int = DEFAULT_LATENCY_NS,
        jitter_ns: int = 0,
        streams: Streams | None = None,
    ) -> None:
        self.kernel = kernel
        self.policy: ConnectPolicy | None = None
        self.descriptors: WeakValueDictionary[int, SimSocket] = WeakValueDictionary()
        self.latency_ns = latency_ns
        self.jitter_ns = jitter_ns
        self._streams = streams or Streams(kernel.seed)
        self._deliveries: dict[str, int] = {}
        self._address_of: dict[str, str] = {}
        self._name_of: dict[str, str] = {}
        self._asked: set[str] = set()
        self._services: dict[tuple[str | None, int | None], Service] = {}
        self._beside: dict[tuple[str | None, int | None], ConnectPolicy] = {}
        self.nowhere: Callable[[Endpoint, str], None] | None = None
        self.connections_made = 0
        self._descriptors_made = 0
        self._ephemeral_port = 40_000
        kernel.parts[_PART] = self

    def one_way_ns(self, lane: str) -> int:
        """Return how long the next delivery takes.

        Args:
            lane: of the endpoint that it goes to, such as `c1/client`.
        """
        if not self.jitter_ns:
            return self.latency_ns
        number = self._deliveries.get(lane, 0)
        self._deliveries[lane] = number + 1
        longer_ns = self._streams.below(f"latency/{lane}", number, self.jitter_ns + 1)
        return self.latency_ns + longer_ns

    def new_descriptor(self, sock: SimSocket) -> int:
        """Return a fresh descriptor number that stands for `sock` while it lives."""
        self._descriptors_made += 1
        descriptor = _DESCRIPTOR_BASE + self._descriptors_made
        self.descriptors[descriptor] = sock
        return descriptor

    def is_simulated_descriptor(self, descriptor: int) -> bool:
        """Return whether this world handed out `descriptor`, open or closed by now."""
        return 0 < descriptor - _DESCRIPTOR_BASE <= self._descriptors_made

    def new_port(self) -> int:
        """Return the next ephemeral port."""
        self._ephemeral_port += 1
        return self._ephemeral_port

    # ------------------------------------------------------------------ listeners

    def listen(self, host: str | None, port: int | None, service: Service) -> None:
        """Let `service` accept connections to `host`:`port`.

        Args:
            host: a name or address; "localhost" and "0.0.0.0" mean the subject's own machine,
                None any host that nobody else serves.
            port: 1 to 65535; None any port of that host that nobody else serves.
            service: called once a connection with the server's endpoint.

        Raises:
            OSError: EADDRINUSE, somebody listens exactly there.
        """
        key = self._key(host, port)
        if key in self._services:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        self._services[key] = service

    def stand_beside(
        self, host: str, port: int | None, service: Service, policy: ConnectPolicy
    ) -> None:
        """Let `service` accept connections that are no business of whoever serves the rest.

        Nothing is recorded of them here: `service` says itself what is asked, and what it answers.

        Args:
            policy: decides the lookups of `host`, and the attempts to connect to it.
        """
        self.listen(host, port, service)
        self._beside[self._key(host, port)] = policy

    def unlisten(self, host: str | None, port: int | None) -> None:
        """Take back one `listen`; nothing happens when there is none."""
        self._services.pop(self._key(host, port), None)

    def _key(self, host: str | None, port: int | None) -> tuple[str | None, int | None]:
        return (None if host is None else _canonical(self.name_of(host)), port)

    def _service_for(self, host: str, port: int) -> Service | None:
        services = self._services
        for key in ((host, port), (host, None), (None, port), (None, None)):
            if key in services:
                return services[key]
        return None

    # ------------------------------------------------------------------ names

    def begin_resolve(self, host: str, port: int | None) -> ResolveFate:
        """Ask for the fate of one lookup; the caller waits its delay, then ends the lookup."""
        if is_literal(host) or host == "localhost":
            return Resolve()
        call = current_call()
        beside = self._policies_of(host)
        if beside:
            return beside[0].on_resolve(host, port, call, self.kernel.now_ns)
        if self.policy is None or self._is_nowhere(host):
            return Resolve()
        fate = self.policy.on_resolve(host, port, call, self.kernel.now_ns)
        if fate.delay_ns:
            self.kernel.record("network", "net.resolving", host=host, call=call)
        return fate

    def _policies_of(self, host: str) -> list[ConnectPolicy]:
        """Return who decides about `host`, where that is not whoever serves the rest."""
        return [found for (name, _), found in self._beside.items() if name == _canonical(host)]

    def _is_nowhere(self, host: str) -> bool:
        """Return whether nothing answers at `host`: a tool asks it, and nothing else did before."""
        if WORKING.get() is None:
            self._asked.add(_canonical(host))
        return self.nowhere is not None and _canonical(host) not in self._asked

    def end_resolve(self, host: str, fate: ResolveFate) -> str:
        """Return the address of `host`, or raise as `fate` says.

        Raises:
            socket.gaierror: the lookup failed.
        """
        if is_literal(host):
            return host
        failed = isinstance(fate, ResolveFails)
        address = None if failed else self.address_of(host)
        error = None
        if isinstance(fate, ResolveFails):
            error = "temporary" if fate.temporary else "not_found"
        if not self._policies_of(host) and not self._is_nowhere(host):
            self.kernel.record(
                *("network", "net.resolve"),
                host=host,
                call=current_call(),
                address=address,
                error=error,
            )
        if address is not None:
            return address
        if error == "temporary":
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def resolve(self, host: str, port: int | None) -> str:
        """Return the address of `host`, blocking the simulated thread while the lookup takes.

        Raises:
            socket.gaierror: the lookup failed.
        """
        fate = self.begin_resolve(host, port)
        if fate.delay_ns:
            wake = self.kernel.waiter(f"name lookup of {host}")
            result = self.kernel.park(wake, fate.delay_ns)
            assert result is TIMED_OUT
        return self.end_resolve(host, fate)

    def name_of(self, address: str) -> str:
        """Return the name that `address` was handed out for, or `address` itself."""
        return self._name_of.get(address, address)

    def address_of(self, host: str) -> str:
        """Return the address of `host` without a lookup: no fate is asked, nothing recorded."""
        if is_literal(host):
            return host
        host = host.lower().rstrip(".")
        if host == "localhost":
            return _LOOPBACK
        address = self._address_of.get(host)
        if address is None:
            number = len(self._address_of) + 1
            address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            self._address_of[host] = address
            self._name_of[address] = host
        return address

    # ------------------------------------------------------------------ connecting

    def connect(self, address: Address, on_done: Callable[[Endpoint | OSError], None]) -> Attempt:
        """Start to connect to a literal address; `on_done` is called in an event callback.

        The subject's act is recorded now, the outcome when it is known.
        """
        host = _canonical(self.name_of(address[0]))
        port = address[1]
        call = current_call()
        listens = (host, port) in self._services or (None, port) in self._services
        if not listens:
            refuse_database(host, port)
        self.connections_made += 1
        connection_id = f"c{self.connections_made}"
        kernel = self.kernel
        policy, service = self.policy, self._service_for(host, port)
        beside = self._beside.get((host, port), self._beside.get((host, None)))
        quiet = beside is not None
        if beside is not None:
            policy = beside
        elif not listens and self._is_nowhere(host) and self.nowhere is not None:
            policy, quiet = None, True
            nowhere, asker = self.nowhere, f"the tool {WORKING.get()}"
            service = lambda endpoint: nowhere(endpoint, asker)  # noqa: E731 - a closure in its place
        fate: ConnectFate = Accept()
        if not quiet:
            kernel.record(
                "network", "net.connect", connection=connection_id, host=host, port=port, call=call
            )
        if policy is not None:
            fate = policy.on_connect(host, port, call, kernel.now_ns)
        if isinstance(fate, Accept) and service is None:
            fate = Refuse()
        opened_at = call_site() if quiet else ""
        attempt = Attempt(kernel, connection_id, on_done, quiet=quiet)
        round_trip_ns = self.one_way_ns(attempt.lane) + self.one_way_ns(attempt.lane)
        fail = partial(self._fail, connection_id, call, quiet=quiet)
        match fate:
            case Accept():
                establish = partial(
                    self._establish,
                    connection_id,
                    host,
                    address,
                    call,
                    opened_at=opened_at,
                    quietly=service if quiet else None,
                )
                attempt._after(round_trip_ns + fate.delay_ns, establish)
            case Refuse():
                attempt._after(round_trip_ns, partial(fail, "refused", errno.ECONNREFUSED))
            case Unreachable():
                attempt._after(round_trip_ns, partial(fail, "unreachable", errno.EHOSTUNREACH))
            case Blackhole():
                attempt._after(CONNECT_GIVE_UP_NS, partial(fail, "timed_out", errno.ETIMEDOUT))
            case _:
                assert_never(fate)
        return attempt

    def _establish(
        self,
        connection_id: str,
        host: str,
        address: Address,
        call: str | None,
        *,
        opened_at: str,
        quietly: Service | None,
    ) -> Endpoint | OSError:
        service = quietly or self._service_for(host, address[1])
        if service is None:
            # It stopped listening while the first packet travelled.
            return self._fail(connection_id, call, "refused", errno.ECONNREFUSED)
        local: Address = (
            _LOOPBACK if host == _LOOPBACK else _SUBJECT_ADDRESS,
            self.new_port(),
        )
        make = partial(
            Endpoint,
            self,
            connection_id=connection_id,
            hostname=host,
            call_id=call,
            opened_at=opened_at,
        )
        client = make(is_subject=True, local_address=local, remote_address=address)
        server = make(is_subject=False, local_address=address, remote_address=local)
        link(client, server)
        if not opened_at:
            self.kernel.record("network", "net.connected", connection=connection_id, call=call)
        service(server)
        return client

    def _fail(
        self, connection_id: str, call: str | None, error: str, code: int, *, quiet: bool = False
    ) -> OSError:
        if not quiet:
            self.kernel.record(
                "network", "net.connect_failed", connection=connection_id, call=call, error=error
            )
        return OSError(code, os.strerror(code))


@lru_cache
def is_literal(host: str) -> bool:
    """Return whether `host` is an IPv4 or IPv6 address rather than a name."""
    if not host or (host[0] not in _LITERAL_START and ":" not in host):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_LITERAL_START = frozenset("0123456789")


def _canonical(host: str) -> str:
    """Return one spelling for the subject's own machine; every other host is lower-cased."""
    host = host.lower().rstrip(".")
    if host in _OWN_NAMES or host.startswith("127."):
        return _LOOPBACK
    return host
