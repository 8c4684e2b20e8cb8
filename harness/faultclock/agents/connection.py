"""Carrying an exchange, async or blocking: on a connection of its own. Nothing is tried again here.

Certificates and host names are verified, as any careful client does.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from functools import cache
from typing import Generic, TypeVar, cast

from faultclock.agents.exchange import Exchange

T = TypeVar("T")

_READ_BYTES = 65_536
#: How often blocking code looks up from its work, in seconds.
_LOOK_S = 0.25


@cache
def _tls() -> ssl.SSLContext:
    # Reading the trusted certificates takes longer than a whole simulated call, so the first
    # https call does it, and a program that only lists subjects does not.
    return ssl.create_default_context()


class Attempt(Generic[T]):
    """An exchange on a connection of its own.

    Args:
        exchange: a fresh one.
        deadline_s: seconds from now in which the answer must be whole; None waits for ever.
    """

    def __init__(self, exchange: Exchange[T], deadline_s: float | None) -> None:
        self.exchange = exchange
        now_s = asyncio.get_running_loop().time()
        self._give_up_at = None if deadline_s is None else now_s + deadline_s
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self) -> None:
        """Open the connection and send the request on it.

        Raises:
            Exception: what the exchange calls its failure.
        """
        exchange = self.exchange
        try:
            async with asyncio.timeout_at(self._give_up_at):
                self._reader, self._writer = await asyncio.open_connection(
                    exchange.host, exchange.port, ssl=_tls() if exchange.secure else None
                )
                self._writer.write(exchange.request_bytes)
        except OSError as error:
            raise exchange.unreachable(error) from error

    async def receive(self) -> T:
        """Read the answer to its end.

        Raises:
            Exception: what the exchange calls its failure.
        """
        exchange, reader = self.exchange, self._reader
        assert reader is not None, "the request was sent"
        try:
            async with asyncio.timeout_at(self._give_up_at):
                while not exchange.done:
                    exchange.feed(await reader.read(_READ_BYTES))
        except OSError as error:
            raise exchange.unreachable(error) from error
        return cast("T", exchange.answer)

    def drop(self) -> None:
        """Let the connection go, if there is one; an unfinished exchange is broken off."""
        writer, self._writer = self._writer, None
        if writer is not None and self.exchange.at_end and self.exchange.keeps_alive:
            writer.close()
        elif writer is not None:
            # A TLS goodbye could take long.
            writer.transport.abort()


async def ask_once(exchange: Exchange[T], deadline_s: float | None) -> T:
    """Make one attempt; its connection is closed by the end of it.

    Raises:
        Exception: what the exchange calls its failure.
    """
    attempt = Attempt(exchange, deadline_s)
    try:
        await attempt.send()
        return await attempt.receive()
    finally:
        attempt.drop()


def ask_once_blocking(
    exchange: Exchange[T],
    deadline_s: float,
    *,
    connect_s: float | None = None,
    look: Callable[[], None] | None = None,
) -> T:
    """Make one attempt with blocking sockets; the same contract as `ask_once`.

    Args:
        connect_s: how long it may take to connect; None: what is left of the deadline.
        look: called now and then; what it raises ends the attempt.
    """
    give_up_at = time.monotonic() + deadline_s
    try:
        limit_s = _seconds_left(give_up_at) if connect_s is None else connect_s
        plain = socket.create_connection((exchange.host, exchange.port), timeout=limit_s)
        with plain:
            connection = plain
            if exchange.secure:
                connection = _tls().wrap_socket(plain, server_hostname=exchange.host)
            with connection:
                connection.sendall(exchange.request_bytes)
                while not exchange.done:
                    exchange.feed(_received(connection, give_up_at, look))
    except OSError as error:
        raise exchange.unreachable(error) from error
    return cast("T", exchange.answer)


def _received(
    connection: socket.socket, give_up_at: float, look: Callable[[], None] | None
) -> bytes:
    while True:
        left_s = _seconds_left(give_up_at)
        connection.settimeout(left_s if look is None else min(left_s, _LOOK_S))
        try:
            return connection.recv(_READ_BYTES)
        except TimeoutError:
            if look is None:
                raise
            look()


def _seconds_left(give_up_at: float) -> float:
    left_s = give_up_at - time.monotonic()
    if left_s <= 0:
        # A socket timeout of zero would mean "do not block".
        raise TimeoutError("the deadline of the attempt has passed")
    return left_s
