"""Blocking sockets that believe they speak TLS."""

from __future__ import annotations

import errno
import os
import ssl
from typing import Any, NoReturn

from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.tls import (
    ALPN_PROTOCOL,
    CIPHER,
    VERSION,
    Buffer,
    PlainSSLObject,
    certificate_for,
    host_text,
)


class SimSSLSocket(SimSocket, ssl.SSLSocket):  # type: ignore[misc]
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

    @property
    def context(self) -> ssl.SSLContext:  # type: ignore[override]
        """The context that the client made it with."""
        return self._context

    @property
    def session(self) -> None:  # type: ignore[override]
        """No session can be resumed."""
        return

    @property
    def session_reused(self) -> bool:
        """No session can be resumed."""
        return False

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
        return b"" if binary_form else certificate_for(self.server_hostname)

    def get_verified_chain(self) -> list[bytes]:
        """Return no certificates."""
        return []

    def get_unverified_chain(self) -> list[bytes]:
        """Return no certificates."""
        return []

    def version(self) -> str | None:
        """Return `TLSv1.3`."""
        return VERSION

    def cipher(self) -> tuple[str, str, int] | None:
        """Return the cipher of a usual TLS 1.3 connection."""
        return CIPHER

    def shared_ciphers(self) -> list[tuple[str, str, int]] | None:
        """Return the one cipher on the accepting side, nothing on the other."""
        return [CIPHER] if self.server_side else None

    def compression(self) -> str | None:
        """Return nothing: TLS 1.3 does not compress."""
        return None

    def selected_alpn_protocol(self) -> str | None:
        """Return `http/1.1`."""
        return ALPN_PROTOCOL

    def selected_npn_protocol(self) -> str | None:
        """Return nothing: the extension is obsolete."""
        return None

    def get_channel_binding(self, cb_type: str = "tls-unique") -> bytes | None:
        """Return nothing: TLS 1.3 has no `tls-unique` binding."""
        return None

    def verify_client_post_handshake(self) -> None:
        """Succeed at once."""

    def _would_block(self) -> NoReturn:
        if self.endpoint is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete")
