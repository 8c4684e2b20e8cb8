"""Blocking sockets that believe they speak TLS."""

from __future__ import annotations

import errno
import os
import ssl
from typing import Any, NoReturn

from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.tls import Buffer, PlainSession, PlainSSLObject, host_text


class SimSSLSocket(PlainSession, SimSocket, ssl.SSLSocket):  # type: ignore[misc,override]
    """Takes over a SimSocket and passes bytes through it unchanged."""

    _read_timeout_text = "The read operation timed out"

    def __init__(
        self,
        sock: SimSocket,
        context: ssl.SSLContext,
        *,
        server_side: bool,
        server_hostname: str | bytes | None,
    ) -> None:
        SimSocket.__init__(self)
        self.take_over(sock)
        self._context = context
        self.server_side = server_side
        self.server_hostname = host_text(server_hostname)
        self.do_handshake_on_connect = True
        self.suppress_ragged_eofs = True
        # Clients that look below (httpcore asks it for ALPN) find an SSLObject here.
        self._sslobj = PlainSSLObject(
            context, None, None, server_side=server_side, server_hostname=server_hostname
        )

    def do_handshake(self, block: bool = False) -> None:
        """Succeed at once."""

    def unwrap(self) -> SimSSLSocket:
        """Succeed at once: there is no closing alert and nothing to take off."""
        return self

    def accept(self) -> tuple[SimSSLSocket, Any]:
        """Return the next connection, wrapped as this listener is."""
        accepted, address = super().accept()
        assert isinstance(accepted, SimSocket)
        wrapped = SimSSLSocket(
            accepted, self._context, server_side=True, server_hostname=self.server_hostname
        )
        return wrapped, address

    def read(self, len: int = 1024, buffer: Buffer | None = None) -> Any:
        """Read as `recv` or, with a buffer, as `recv_into` does."""
        return self.recv(len) if buffer is None else self.recv_into(buffer, len)

    def write(self, data: Buffer) -> int:
        """Write as `send` does."""
        return self.send(data)

    def pending(self) -> int:
        """Return 0: no bytes are held between the socket and the reader."""
        return 0

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return a certificate that fits the host (b"" in binary form)."""
        self._connected()
        return super().getpeercert(binary_form)

    def _would_block(self) -> NoReturn:
        if self.endpoint is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete")
