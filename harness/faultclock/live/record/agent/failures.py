"""Which failure of the network an exception of an HTTP client stands for.

Clients wrap what the operating system said, each in exceptions of its own, so the whole chain is
looked at, and names count where a class cannot be imported.
"""

from __future__ import annotations

import asyncio
import socket

#: The program went away by itself; the provider did nothing wrong.
LEFT = "left"
_CHAIN_MAX = 30
_ENDED = frozenset(
    {
        "BadStatusLine",
        "ClientPayloadError",
        "ContentLengthError",
        "IncompleteRead",
        "ProtocolError",
        "RemoteDisconnected",
        "RemoteProtocolError",
        "ServerDisconnectedError",
        "TransferEncodingError",
    }
)
_CONNECTING = frozenset({"ConnectTimeout", "ConnectTimeoutError", "ConnectionTimeoutError"})
_READING = frozenset({"ReadTimeout", "ReadTimeoutError", "SocketTimeoutError"})


def kind_of(error: BaseException) -> str:
    """Return the kind of a failure, or the name of its class where it is none that is known.

    Kinds are `connect_refused`, `connect_timeout`, `dns_failure`, `reset`, `eof`, `stall` (no
    answer, or no more of it, within the client's patience) and `left`.
    """
    chain = _chain(error)
    names = {cls.__name__ for one in chain for cls in type(one).__mro__}
    if any(isinstance(one, socket.gaierror) for one in chain):
        return "dns_failure"
    if any(isinstance(one, ConnectionRefusedError) for one in chain):
        return "connect_refused"
    if names & _CONNECTING:
        return "connect_timeout"
    if any(isinstance(one, (ConnectionResetError, BrokenPipeError)) for one in chain):
        # Some clients have a name of their own for an end that is not a reset, and derive it.
        return "eof" if names & {"RemoteDisconnected", "ServerDisconnectedError"} else "reset"
    if names & _READING or any(isinstance(one, TimeoutError) for one in chain):
        return "stall"
    if names & _ENDED:
        return "eof"
    if isinstance(error, (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, SystemExit)):
        return LEFT
    return type(error).__name__


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo and len(found) < _CHAIN_MAX:
        one = todo.pop(0)
        if one is None or any(one is known for known in found):
            continue
        found.append(one)
        todo += [one.__cause__, one.__context__]
        if isinstance(one, BaseExceptionGroup):
            todo += one.exceptions
    return found
