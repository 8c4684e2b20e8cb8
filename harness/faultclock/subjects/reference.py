"""The reference: a correct stud-cli provider adapter without an SDK, async and blocking.

It is the error model's document as a program: `stud` decides, `chat_exchange` reads the wire,
and this file does the I/O. The whole of a call is `converse`:

    attempt -> failed? -> classify, audit -> wait exactly as long as the policy says -> attempt

One connection per attempt: it is closed before the wait begins, so that nothing of a failed
attempt can disturb the next one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable

from faultclock.model.trace.trace import Declares
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.chat_exchange import ChatExchange
from faultclock.subjects.ports import OPENAI_ALIKE, ProviderRequest, Reply
from faultclock.subjects.stud import AttemptError, StudCall

#: What the reference says about itself on the way: all that its checks need.
DECLARES: tuple[Declares, ...] = ("errors", "audit", "user", "model")
_READ_BYTES = 65_536


@provider_adapter(
    id="reference",
    title="Correct stud-cli adapter without an SDK, async",
    declares=DECLARES,
    inline=True,
    dialect=OPENAI_ALIKE,
)
async def reference(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    return await converse(request, StudCall(request))


@provider_adapter(
    id="reference-sync",
    title="Correct stud-cli adapter without an SDK, blocking",
    declares=DECLARES,
    inline=True,
    dialect=OPENAI_ALIKE,
)
def reference_sync(request: ProviderRequest) -> Reply:
    """Answer `request`, or raise the typed error that ends the call."""
    return converse_blocking(request, StudCall(request))


def converse_blocking(
    request: ProviderRequest,
    call: StudCall,
    exchange_type: Callable[[ProviderRequest], ChatExchange] = ChatExchange,
) -> Reply:
    """Attempt until there is an answer or `call` raises, with blocking sockets."""
    while True:
        try:
            return ask_once_blocking(exchange_type(request), request.timeout_s)
        except AttemptError as failure:
            wait_s = call.next_wait_s(failure)
        time.sleep(wait_s)


async def converse(
    request: ProviderRequest,
    call: StudCall,
    exchange_type: Callable[[ProviderRequest], ChatExchange] = ChatExchange,
) -> Reply:
    """Attempt until there is an answer or `call` raises."""
    while True:
        try:
            return await ask_once(exchange_type(request), call.deadline_s)
        except AttemptError as failure:
            wait_s = call.next_wait_s(failure)
        await asyncio.sleep(wait_s)


async def ask_once(exchange: ChatExchange, deadline_s: float | None) -> Reply:
    """Make one attempt.

    Args:
        exchange: a fresh one.
        deadline_s: seconds from now in which the answer must be whole; None waits for ever.

    Raises:
        AttemptError: it failed; the connection is closed by then.
    """
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(deadline_s):
            reader, writer = await asyncio.open_connection(
                exchange.host,
                exchange.port,
                ssl=_tls() if exchange.secure else None,
            )
            writer.write(exchange.request_bytes)
            while exchange.reply is None:
                exchange.feed(await reader.read(_READ_BYTES))
            return exchange.reply
    except TimeoutError as error:
        raise AttemptError("deadline", "the provider did not answer in time") from error
    except OSError as error:
        raise AttemptError("network", "the connection to the provider failed") from error
    finally:
        if writer is not None:
            _end(writer, in_peace=exchange.at_end)


def _end(writer: asyncio.StreamWriter, *, in_peace: bool) -> None:
    if in_peace:
        writer.close()
    else:
        # An unfinished exchange is dropped at once: a TLS goodbye could take long.
        writer.transport.abort()


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
    except TimeoutError as error:
        raise AttemptError("deadline", "the provider did not answer in time") from error
    except OSError as error:
        raise AttemptError("network", "the connection to the provider failed") from error


def _wrapped(plain: socket.socket, exchange: ChatExchange) -> socket.socket:
    return _tls().wrap_socket(plain, server_hostname=exchange.host)


def _seconds_left(give_up_at: float) -> float:
    left_s = give_up_at - time.monotonic()
    if left_s <= 0:
        # A socket timeout of zero would mean "do not block".
        raise TimeoutError("the deadline of the attempt has passed")
    return left_s


def _tls() -> ssl.SSLContext:
    # Imported here, so that only a call to an https host pays for it.
    from faultclock.subjects.trust import CONTEXT

    return CONTEXT
