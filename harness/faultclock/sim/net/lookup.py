"""`getaddrinfo` inside the world, shared by the blocking and the asyncio callers."""

from __future__ import annotations

import socket
from typing import Any

from faultclock.sim.net.network import is_literal

AddressInfo = tuple[
    socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]
]

#: The service names that need no system database.
_PORTS = {"": 0, "http": 80, "https": 443}


class Query:
    """One `getaddrinfo` call after its arguments were checked.

    Attributes:
        host: the name or literal address to look up.
        port: 0 to 65535.
    """

    __slots__ = ("_canonical_name", "_family", "_kind", "host", "port")

    def __init__(
        self, host: str, port: int, family: int, kind: int, *, canonical_name: bool
    ) -> None:
        self.host = host
        self.port = port
        self._family = family
        self._kind = kind
        self._canonical_name = canonical_name

    def answer(self, address: str) -> list[AddressInfo]:
        """Return what `getaddrinfo` returns for the address that the lookup gave.

        Raises:
            socket.gaierror: the address is not of the wanted family.
        """
        v6 = ":" in address
        family = socket.AF_INET6 if v6 else socket.AF_INET
        if self._family not in (socket.AF_UNSPEC, family):
            raise socket.gaierror(socket.EAI_NODATA, "No address associated with hostname")
        kind = socket.SocketKind(self._kind) if self._kind else socket.SOCK_STREAM
        proto = socket.IPPROTO_UDP if kind == socket.SOCK_DGRAM else socket.IPPROTO_TCP
        name = self.host if self._canonical_name else ""
        where = (address, self.port, 0, 0) if v6 else (address, self.port)
        return [(family, kind, proto, name, where)]


def query(
    host: str | bytes | None, port: Any, family: int = 0, kind: int = 0, flags: int = 0
) -> Query:
    """Check the arguments of a `getaddrinfo` call.

    Raises:
        socket.gaierror: a service name or family that this world does not have.
    """
    if isinstance(host, bytes):
        host = host.decode("ascii")
    if family not in (socket.AF_UNSPEC, socket.AF_INET, socket.AF_INET6):
        raise socket.gaierror(socket.EAI_FAMILY, "ai_family not supported")
    if not host:
        host = "0.0.0.0" if flags & socket.AI_PASSIVE else "127.0.0.1"  # noqa: S104
    if flags & socket.AI_NUMERICHOST and not is_literal(host):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return Query(
        host, _port_number(port), family, kind, canonical_name=bool(flags & socket.AI_CANONNAME)
    )


def _port_number(port: Any) -> int:
    if port is None:
        return 0
    if isinstance(port, bytes):
        port = port.decode("ascii")
    if isinstance(port, str):
        number = int(port) if port.isdecimal() else _PORTS.get(port)
        if number is None:
            raise socket.gaierror(socket.EAI_SERVICE, "Servname not supported for ai_socktype")
        return number
    return int(port)
