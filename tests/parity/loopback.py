"""The real half of the parity check: scripts played on loopback sockets, in real time."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from tests.parity.cells import CERTIFICATE, PATIENCE_S, Cell, Outcome, call, outcome_of
from tests.sim.net.scripted import FIN, RESET, STALL, Reply, RequestReader, Requests, Send, Wait


class ConnectCounter:
    """Counts connection attempts by port, by wrapping `connect` of the real class."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_port: dict[int, int] = {}

    def count(self, port: int) -> int:
        """Return how many attempts were made to `port`."""
        return self._by_port.get(port, 0)

    @contextmanager
    def watching(self) -> Iterator[ConnectCounter]:
        """Count while inside."""
        # The base of SSLSocket is the class of real sockets, whatever `socket.socket` is now.
        real_class: type[socket.socket] = ssl.SSLSocket.__bases__[0]
        original = real_class.connect

        def connect(sock: socket.socket, address: Any, /) -> None:
            with self._lock:
                self._by_port[address[1]] = self.count(address[1]) + 1
            original(sock, address)

        real_class.connect = connect  # type: ignore[method-assign]
        try:
            yield self
        finally:
            del real_class.connect


def run_for_real(cell: Cell, scheme: str, counter: ConnectCounter) -> Outcome:
    """Run one cell over loopback, over `http` or `https`, and return what it came to.

    A client whose patience ends before its request has arrived met a slow machine and not the
    stall of the script. That cell is played again with twice the patience.
    """
    outcome = _play_cell(cell, scheme, counter)
    while outcome.requests < outcome.connects and cell.timeout_s < PATIENCE_S:
        cell = replace(cell, timeout_s=2 * cell.timeout_s)
        outcome = _play_cell(cell, scheme, counter)
    return outcome


def _play_cell(cell: Cell, scheme: str, counter: ConnectCounter) -> Outcome:
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        port = int(listening.getsockname()[1])
        # The system may have given the port to an earlier cell.
        earlier = counter.count(port)
        subject = call(cell, f"{scheme}://127.0.0.1:{port}")
        if cell.replies is None:
            # Bound but not listening: the port stays ours, and connecting is refused.
            return Outcome(outcome_of(subject), 0, counter.count(port) - earlier)
        requests = Requests(cell.replies)
        listening.listen()
        accepting = threading.Thread(
            target=_accept, args=(listening, requests, scheme), daemon=True
        )
        accepting.start()
        result = outcome_of(subject)
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()
        return Outcome(result, requests.count, counter.count(port) - earlier)


def tls_hides_resets() -> bool:
    """Return whether this interpreter reads a reset of a blocking TLS socket as a clean end.

    CPython 3.10 to 3.12 had that bug until gh-115627 was fixed; it is asked, not assumed,
    because the fix was given to some patch releases.
    """
    with closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        requests = Requests(((RESET,),))
        accepting = threading.Thread(target=_accept, args=(listening, requests, "https"))
        accepting.start()
        plain = socket.create_connection(listening.getsockname())
        context = ssl.create_default_context(cafile=CERTIFICATE)
        with context.wrap_socket(plain, server_hostname="localhost") as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            try:
                hides = sock.recv(1) == b""
            except ConnectionResetError:
                hides = False
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()
        return hides


def _accept(listening: socket.socket, requests: Requests, scheme: str) -> None:
    serve = _serve_tls if scheme == "https" else _serve
    players: list[threading.Thread] = []
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            break
        player = threading.Thread(target=serve, args=(connection, requests), daemon=True)
        player.start()
        players.append(player)
    for player in players:
        player.join()


def _serve_tls(connection: socket.socket, requests: Requests) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    try:
        wrapped = context.wrap_socket(connection, server_side=True)
    except OSError:
        connection.close()
        return
    _serve(wrapped, requests)


def _serve(connection: socket.socket, requests: Requests) -> None:
    reader = RequestReader()
    with connection:
        try:
            while data := connection.recv(65536):
                for target in reader.feed(data):
                    if not _play(connection, requests.reply_to(target)):
                        return
        except OSError:
            # The client has gone; real servers meet that every day.
            return


def _play(connection: socket.socket, reply: Reply) -> bool:
    """Play the steps; return whether the connection goes on."""
    for step in reply:
        if isinstance(step, Wait):
            time.sleep(step.delay_ns / 1e9)
        elif isinstance(step, Send):
            connection.sendall(step.data)
        elif step is FIN:
            return False
        elif step is RESET:
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return False
        else:
            assert step is STALL
            while connection.recv(65536):
                pass
            return False
    return True
