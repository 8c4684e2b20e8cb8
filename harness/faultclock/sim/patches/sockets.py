"""Which names of `socket`, `ssl`, `select` and `selectors` the world replaces, and by what.

Only descriptions: the installer applies them once, follows aliases, and takes them back. Every
replacement decides at use whether the calling thread is simulated; outside the world it does
exactly what the original does.
"""

from __future__ import annotations

import select
import selectors
import socket
import ssl
from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.kernel import current
from faultclock.sim.net.lookup import query
from faultclock.sim.net.network import current_network
from faultclock.sim.net.selecting import SimEpoll, SimPoll, sim_select
from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.ssl_sockets import SimSSLSocket
from faultclock.sim.net.tls import PlainSSLObject
from faultclock.sim.patches.registry import Patch, dispatching, named_like, refusing

Function = Callable[..., Any]
Maker = Callable[[Any], Any]

#: What a machine inside the world is called; the real name would differ between machines.
_HOST_NAME = "localhost"


def _static(maker: Maker) -> Maker:
    """Wrap for a class attribute that held a builtin: a function would become a method."""
    return lambda original: staticmethod(maker(original))


# ---------------------------------------------------------------------- socket


def _make_socket_class(original: type[socket.socket]) -> type[socket.socket]:
    """Return a class whose call makes a simulated socket in the world, a real one elsewhere.

    `isinstance` and `issubclass` answer as for the original, so sockets made before it was
    installed, real ones and simulated ones all are sockets.
    """

    class DispatchingMeta(type(original)):  # type: ignore[misc]
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            if cls is not replacement:
                if current() is not None:
                    refuse(f"{cls.__module__}.{cls.__qualname__}, a subclass of socket.socket,")
                return super().__call__(*args, **kwargs)
            return _new_socket(original, *args, **kwargs)

        def __instancecheck__(cls, instance: object) -> bool:
            if cls is replacement:
                return isinstance(instance, original)
            return type.__instancecheck__(cls, instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            if cls is replacement:
                return issubclass(subclass, original)
            return type.__subclasscheck__(cls, subclass)

    class replacement(original, metaclass=DispatchingMeta):  # type: ignore[valid-type,misc]  # noqa: N801
        __doc__ = original.__doc__
        __slots__ = ()

    replacement.__name__ = original.__name__
    replacement.__qualname__ = original.__qualname__
    replacement.__module__ = original.__module__
    return replacement


def _new_socket(
    original: type[socket.socket],
    family: int = -1,
    type: int = -1,
    proto: int = -1,
    fileno: int | None = None,
) -> socket.socket:
    if current() is None:
        return original(family, type, proto, fileno)
    if fileno is not None:
        refuse("socket.socket(fileno=...)")
    if family not in (-1, socket.AF_INET, socket.AF_INET6):
        refuse(f"socket.socket of family {getattr(family, 'name', family)}")
    if type != -1 and type & ~(socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC) != socket.SOCK_STREAM:
        refuse(f"socket.socket of type {getattr(type, 'name', type)}")
    return SimSocket(family, type, proto)


def _getaddrinfo(
    host: str | bytes | None,
    port: Any,
    family: int = 0,
    type: int = 0,
    proto: int = 0,
    flags: int = 0,
) -> Any:
    asked = query(host, port, family, type, flags)
    return asked.answer(current_network().resolve(asked.host, asked.port))


def _gethostbyname(hostname: str) -> str:
    asked = query(hostname, None)
    return current_network().resolve(asked.host, None)


def _gethostbyname_ex(hostname: str) -> tuple[str, list[str], list[str]]:
    return hostname, [], [_gethostbyname(hostname)]


def _gethostbyaddr(ip_address: str) -> tuple[str, list[str], list[str]]:
    network = current_network()
    address = network.resolve(ip_address, None)
    return network.name_of(address), [], [address]


def _getnameinfo(sockaddr: Any, flags: int) -> tuple[str, str]:
    return current_network().name_of(sockaddr[0]), str(sockaddr[1])


def _gethostname() -> str:
    return _HOST_NAME


# ---------------------------------------------------------------------- ssl


def _make_wrap_socket(original: Function) -> Function:
    def wrap_socket(
        self: ssl.SSLContext,
        sock: socket.socket,
        server_side: bool = False,
        do_handshake_on_connect: bool = True,
        suppress_ragged_eofs: bool = True,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLSocket:
        if isinstance(sock, SimSocket):
            return SimSSLSocket(
                sock, self, server_side=server_side, server_hostname=server_hostname
            )
        wrapped: ssl.SSLSocket = original(
            self,
            sock,
            server_side=server_side,
            do_handshake_on_connect=do_handshake_on_connect,
            suppress_ragged_eofs=suppress_ragged_eofs,
            server_hostname=server_hostname,
            session=session,
        )
        return wrapped

    return named_like(wrap_socket, original)


def _make_wrap_bio(original: Function) -> Function:
    def wrap_bio(
        self: ssl.SSLContext,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        if current() is not None:
            return PlainSSLObject(
                self, incoming, outgoing, server_side=server_side, server_hostname=server_hostname
            )
        wrapped: ssl.SSLObject = original(
            self,
            incoming,
            outgoing,
            server_side=server_side,
            server_hostname=server_hostname,
            session=session,
        )
        return wrapped

    return named_like(wrap_bio, original)


def _load_nothing(*_args: Any, **_kwargs: Any) -> None:
    """Load no certificates: none is checked in the world, and reading them costs 20 ms."""


# ---------------------------------------------------------------------- the list

_SELECT = dispatching(sim_select)
_POLL = dispatching(SimPoll)
_EPOLL = dispatching(SimEpoll)

#: Applied by the installer in this order; every owner holds the name as an attribute.
PATCHES: tuple[Patch, ...] = (
    Patch(owner=socket, name="socket", make=_make_socket_class),
    Patch(owner=socket, name="getaddrinfo", make=dispatching(_getaddrinfo)),
    Patch(owner=socket, name="gethostbyname", make=dispatching(_gethostbyname)),
    Patch(owner=socket, name="gethostbyname_ex", make=dispatching(_gethostbyname_ex)),
    Patch(owner=socket, name="gethostbyaddr", make=dispatching(_gethostbyaddr)),
    Patch(owner=socket, name="getnameinfo", make=dispatching(_getnameinfo)),
    Patch(owner=socket, name="gethostname", make=dispatching(_gethostname)),
    Patch(owner=socket, name="socketpair", make=refusing("socket.socketpair")),
    Patch(owner=socket, name="fromfd", make=refusing("socket.fromfd")),
    Patch(owner=ssl.SSLContext, name="wrap_socket", make=_make_wrap_socket),
    Patch(owner=ssl.SSLContext, name="wrap_bio", make=_make_wrap_bio),
    Patch(
        owner=ssl.SSLContext,
        name="load_verify_locations",
        make=dispatching(_load_nothing),
    ),
    Patch(
        owner=ssl.SSLContext,
        name="load_default_certs",
        make=dispatching(_load_nothing),
    ),
    Patch(
        owner=ssl.SSLContext,
        name="set_default_verify_paths",
        make=dispatching(_load_nothing),
    ),
    Patch(owner=select, name="select", make=_SELECT),
    Patch(owner=select, name="poll", make=_POLL),
    Patch(owner=select, name="epoll", make=_EPOLL),
    Patch(owner=selectors.SelectSelector, name="_select", make=_static(_SELECT)),
    Patch(owner=selectors.PollSelector, name="_selector_cls", make=_static(_POLL)),
    Patch(owner=selectors.EpollSelector, name="_selector_cls", make=_static(_EPOLL)),
)
