"""TLS that carries plain bytes: no handshake, no certificates, no cryptography.

A client believes that it speaks TLS 1.3 to a host whose certificate is in order. Everything
that can go wrong below TLS (reset, stall, truncation) reaches it; TLS alerts, certificate
failures and HTTP/2 negotiation are not modelled. End of stream needs no closing alert, as
Python's default contexts allow (OP_IGNORE_UNEXPECTED_EOF).

A reset raises ConnectionResetError in blocking clients too. CPython 3.10 to early 3.12 hid it
from them behind a clean end of stream (gh-115627); a world behaves as the repaired releases do,
on every interpreter, so that a trace does not depend on a patch release.
"""

from __future__ import annotations

import ipaddress
import ssl
from functools import lru_cache
from typing import Any

VERSION = "TLSv1.3"
CIPHER = ("TLS_AES_256_GCM_SHA384", VERSION, 256)

#: Anything with the buffer protocol; it has a type of its own only from Python 3.12 on.
Buffer = Any

#: Only HTTP/1.1 is spoken, whatever the client offers.
ALPN_PROTOCOL = "http/1.1"


def host_text(host: str | bytes | None) -> str | None:
    """Return a server host name as text."""
    return host.decode("ascii") if isinstance(host, bytes) else host


def certificate_for(host: str | None) -> dict[str, Any]:
    """Return what `getpeercert` tells of a certificate that fits `host`."""
    name = host or "localhost"
    return {
        "subject": ((("commonName", name),),),
        "issuer": ((("commonName", "simulated authority"),),),
        "version": 3,
        "notBefore": "Jan  1 00:00:00 2020 GMT",
        "notAfter": "Jan  1 00:00:00 2100 GMT",
        "subjectAltName": ((_kind_of(name), name),),
    }


@lru_cache
def _kind_of(name: str) -> str:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "DNS"
    return "IP Address"


def _copy(data: bytes, buffer: Any) -> int:
    buffer[: len(data)] = data
    return len(data)


class PlainSession:
    """What both kinds of TLS object tell of a session that is none."""

    _context: ssl.SSLContext
    server_side: bool
    server_hostname: str | None

    @property
    def context(self) -> ssl.SSLContext:
        """The context that the client made it with."""
        return self._context

    @property
    def session(self) -> None:
        """No session can be resumed."""
        return

    @property
    def session_reused(self) -> bool:
        """No session can be resumed."""
        return False

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return a certificate that fits the host (b"" in binary form)."""
        return b"" if binary_form else certificate_for(self.server_hostname)

    def get_verified_chain(self) -> list[bytes]:
        """Return no certificates."""
        return []

    def get_unverified_chain(self) -> list[bytes]:
        """Return no certificates."""
        return []

    def selected_alpn_protocol(self) -> str | None:
        """Return `http/1.1`."""
        return ALPN_PROTOCOL

    def selected_npn_protocol(self) -> str | None:
        """Return nothing: the extension is obsolete."""
        return None

    def cipher(self) -> tuple[str, str, int] | None:
        """Return the cipher of a usual TLS 1.3 connection."""
        return CIPHER

    def shared_ciphers(self) -> list[tuple[str, str, int]] | None:
        """Return the one cipher on the accepting side, nothing on the other."""
        return [CIPHER] if self.server_side else None

    def compression(self) -> str | None:
        """Return nothing: TLS 1.3 does not compress."""
        return None

    def version(self) -> str | None:
        """Return `TLSv1.3`."""
        return VERSION

    def get_channel_binding(self, cb_type: str = "tls-unique") -> bytes | None:
        """Return nothing: TLS 1.3 has no `tls-unique` binding."""
        return None

    def verify_client_post_handshake(self) -> None:
        """Succeed at once."""


class PlainSSLObject(PlainSession, ssl.SSLObject):  # type: ignore[misc,override]
    """Stands in for `ssl.SSLObject` over two memory buffers; bytes pass through unchanged."""

    def __init__(
        self,
        context: ssl.SSLContext,
        incoming: ssl.MemoryBIO | None,
        outgoing: ssl.MemoryBIO | None,
        *,
        server_side: bool,
        server_hostname: str | bytes | None,
    ) -> None:
        self._context = context
        self._incoming = incoming
        self._outgoing = outgoing
        self._server_side = server_side
        self._server_hostname = host_text(server_hostname)

    @property
    def server_side(self) -> bool:  # type: ignore[override]
        """Whether this side accepted the connection."""
        return self._server_side

    @property
    def server_hostname(self) -> str | None:  # type: ignore[override]
        """The host that the client meant."""
        return self._server_hostname

    def do_handshake(self) -> None:
        """Succeed at once: the connection is ready as soon as TCP is."""

    def read(self, len: int = 1024, buffer: Any = None) -> Any:
        """Take bytes, or raise SSLWantReadError when none are there; b"" or 0 at the end.

        Raises:
            ssl.SSLWantReadError: nothing is buffered yet.
        """
        assert self._incoming is not None
        data = self._incoming.read(len)
        if not data and not self._incoming.eof:
            raise ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete")
        return data if buffer is None else _copy(data, buffer)

    def write(self, data: Buffer) -> int:
        """Pass bytes on and return how many."""
        assert self._outgoing is not None
        return self._outgoing.write(data)

    def unwrap(self) -> None:
        """Succeed at once: there is no closing alert."""

    def pending(self) -> int:
        """Return how many bytes can be read without waiting."""
        return 0 if self._incoming is None else self._incoming.pending
