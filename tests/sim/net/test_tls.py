"""TLS inside the world passes bytes through, and TLS outside it is the real thing."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from typing import Any

import pytest

from faultclock.sim.net.tls import PlainSSLObject, certificate_for
from tests.sim.net.scripted import FIN, THINK, Send
from tests.sim.net.simulation import simulate


def test_memory_buffers_pass_bytes_through() -> None:
    """wrap_bio gives an SSLObject that wants bytes, passes them on and ends cleanly."""

    def subject() -> list[Any]:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        wrapped = ssl.create_default_context().wrap_bio(
            incoming, outgoing, server_hostname="api.example.com"
        )
        wrapped.do_handshake()
        with pytest.raises(ssl.SSLWantReadError):
            wrapped.read(10)
        incoming.write(b"abcdef")
        buffer = bytearray(2)
        seen = [wrapped.read(3), wrapped.read(2, buffer), bytes(buffer), wrapped.pending()]
        wrapped.write(b"out")
        incoming.write_eof()
        return [
            *seen,
            outgoing.read(),
            wrapped.read(5),
            wrapped.read(5),
            isinstance(wrapped, ssl.SSLObject),
        ]

    assert simulate(subject).value == [b"abc", 2, b"de", 1, b"out", b"f", b"", True]


def test_wrapped_socket_looks_like_tls() -> None:
    """A wrapped socket is an SSLSocket that names its version, cipher and a fitting certificate."""

    def subject() -> list[Any]:
        context = ssl.create_default_context()
        plain = socket.create_connection(("api.example.com", 443))
        wrapped = context.wrap_socket(plain, server_hostname="api.example.com")
        certificate = wrapped.getpeercert()
        assert certificate is not None
        return [
            isinstance(wrapped, ssl.SSLSocket),
            wrapped.version(),
            wrapped.selected_alpn_protocol(),
            certificate["subjectAltName"],
            wrapped.server_hostname,
            plain.fileno(),
            wrapped.context is context,
        ]

    names = (("DNS", "api.example.com"),)
    expected = [True, "TLSv1.3", "http/1.1", names, "api.example.com", -1, True]
    assert simulate(subject).value == expected


def test_non_blocking_tls_wants_to_read() -> None:
    """A non-blocking TLS socket raises SSLWantReadError, as the ssl module does."""

    def subject() -> bytes:
        plain = socket.create_connection(("api.example.com", 443))
        wrapped = ssl.create_default_context().wrap_socket(plain, server_hostname="x")
        wrapped.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        wrapped.setblocking(False)
        with pytest.raises(ssl.SSLWantReadError):
            wrapped.recv(1)
        wrapped.setblocking(True)
        return wrapped.read(10)

    assert simulate(subject, (THINK, Send(b"abc"), FIN)).value == b"abc"


def test_wrap_in_a_worker_thread() -> None:
    """wrap_bio and wrap_socket work in worker threads of the world."""

    async def subject() -> list[str]:
        def wrap() -> str:
            context = ssl.create_default_context()
            wrapped = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
            plain = socket.create_connection(("api.example.com", 443))
            with context.wrap_socket(plain, server_hostname="x") as sock:
                return f"{type(wrapped).__name__} {type(sock).__name__}"

        return list(await asyncio.gather(*(asyncio.to_thread(wrap) for _ in range(2))))

    assert simulate(subject).value == ["PlainSSLObject SimSSLSocket"] * 2


def test_loading_certificates_costs_nothing_in_the_world() -> None:
    """In the world a context loads no certificates; outside it loads them as ever."""

    def subject() -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cafile="there is no such file")
        context.load_default_certs()
        context.set_default_verify_paths()
        return len(context.get_ca_certs())

    assert simulate(subject).value == 0
    with pytest.raises(FileNotFoundError):
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile="no such file")


def test_outside_the_world_tls_is_real() -> None:
    """Under the patches but outside a world, wrap_bio gives the real object."""
    context = ssl.create_default_context()
    wrapped = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="x")
    assert not isinstance(wrapped, PlainSSLObject)
    with pytest.raises(ssl.SSLWantReadError):
        wrapped.do_handshake()


def test_certificate_of_an_address_names_the_address() -> None:
    """A certificate for an IP literal has an address as its alternative name."""
    assert certificate_for("192.0.2.1")["subjectAltName"] == (("IP Address", "192.0.2.1"),)
    assert time.strptime(certificate_for(None)["notAfter"], "%b %d %H:%M:%S %Y GMT").tm_year == 2100
