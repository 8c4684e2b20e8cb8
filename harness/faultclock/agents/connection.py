"""One attempt at a provider, async or blocking: a connection of its own for one exchange.

The bytes are read by `chat_exchange`. Nothing is tried again here.
"""

from __future__ import annotations

import asyncio
import socket
import time

from faultclock.agents.chat_exchange import ChatExchange
from faultclock.agents.trust import tls
from faultclock.subjects.ports import Reply
from faultclock.subjects.stud import AttemptError

_READ_BYTES = 65_536


class Attempt:
    """An exchange on a connection of its own.

    Args:
        exchange: a fresh one.
        deadline_s: seconds from now in which the answer must be whole; None waits for ever.
    """

    def __init__(self, exchange: ChatExchange, deadline_s: float | None) -> None:
        self.exchange = exchange
        now_s = asyncio.get_running_loop().time()
        self._give_up_at = None if deadline_s is None else now_s + deadline_s
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self) -> None:
        """Open the connection and send the request on it.

        Raises:
            AttemptError: it failed.
        """
        exchange = self.exchange
        try:
            async with asyncio.timeout_at(self._give_up_at):
                self._reader, self._writer = await asyncio.open_connection(
                    exchange.host, exchange.port, ssl=tls() if exchange.secure else None
                )
                self._writer.write(exchange.request_bytes)
        except OSError as error:
            raise _seen(error) from error

    async def receive(self) -> Reply:
        """Read the answer to its end.

        Raises:
            AttemptError: it failed, and says whether some of the answer's text had arrived.
        """
        exchange, reader = self.exchange, self._reader
        assert reader is not None, "the request was sent"
        try:
            async with asyncio.timeout_at(self._give_up_at):
                while exchange.reply is None:
                    exchange.feed(await reader.read(_READ_BYTES))
            return exchange.reply
        except AttemptError as error:
            error.after_content = bool(exchange.received_text)
            raise
        except OSError as error:
            raise _seen(error, after_content=bool(exchange.received_text)) from error

    def drop(self) -> None:
        """Let the connection go, if there is one; an unfinished exchange is broken off."""
        writer, self._writer = self._writer, None
        if writer is not None and self.exchange.at_end:
            writer.close()
        elif writer is not None:
            # A TLS goodbye could take long.
            writer.transport.abort()


async def ask_once(exchange: ChatExchange, deadline_s: float | None) -> Reply:
    """Make one attempt; its connection is closed by the end of it.

    Raises:
        AttemptError: it failed.
    """
    attempt = Attempt(exchange, deadline_s)
    try:
        await attempt.send()
        return await attempt.receive()
    finally:
        attempt.drop()


def ask_once_blocking(exchange: ChatExchange, deadline_s: float) -> Reply:
    """Make one attempt with blocking sockets; the same contract as `ask_once`."""
    give_up_at = time.monotonic() + deadline_s
    try:
        plain = socket.create_connection(
            (exchange.host, exchange.port), timeout=_seconds_left(give_up_at)
        )
        with plain:
            connection = _wrapped(plain, exchange) if exchange.secure else plain
            with connection:
                connection.sendall(exchange.request_bytes)
                while exchange.reply is None:
                    connection.settimeout(_seconds_left(give_up_at))
                    exchange.feed(connection.recv(_READ_BYTES))
                return exchange.reply
    except OSError as error:
        raise _seen(error) from error


def _seen(error: OSError, *, after_content: bool = False) -> AttemptError:
    if isinstance(error, TimeoutError):
        seen = AttemptError("deadline", "the provider did not answer in time")
    else:
        seen = AttemptError("network", "the connection to the provider failed")
    seen.after_content = after_content
    return seen


def _wrapped(plain: socket.socket, exchange: ChatExchange) -> socket.socket:
    return tls().wrap_socket(plain, server_hostname=exchange.host)


def _seconds_left(give_up_at: float) -> float:
    left_s = give_up_at - time.monotonic()
    if left_s <= 0:
        # A socket timeout of zero would mean "do not block".
        raise TimeoutError("the deadline of the attempt has passed")
    return left_s
