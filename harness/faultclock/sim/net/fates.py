"""What the world answers to a name lookup or to a connection attempt, as plain values.

A ConnectPolicy decides; the network only carries the decision out. Values here hold no
behaviour and know neither sockets nor the clock.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

#: Linux gives up on an unanswered connect after 6 retransmissions of its first packet
#: (`tcp_syn_retries`, ip-sysctl documentation): 1+2+4+8+16+32+64 seconds.
CONNECT_GIVE_UP_NS = 127_000_000_000


class Resolve(Struct, frozen=True, kw_only=True):
    """The name has an address, known after `delay_ns` (0 or more)."""

    delay_ns: int = 0


class ResolveFails(Struct, frozen=True, kw_only=True):
    """The name has no address (or none just now), known after `delay_ns`.

    Attributes:
        temporary: True gives EAI_AGAIN ("Temporary failure in name resolution"), False gives
            EAI_NONAME ("Name or service not known").
    """

    delay_ns: int = 0
    temporary: bool = False


class Accept(Struct, frozen=True, kw_only=True):
    """The connection stands one round trip and `delay_ns` later, if a service listens."""

    delay_ns: int = 0


class Refuse(Struct, frozen=True, kw_only=True):
    """The far host answers with a reset: ECONNREFUSED after one round trip."""


class Unreachable(Struct, frozen=True, kw_only=True):
    """A router answers that there is no way: EHOSTUNREACH after one round trip."""


class Blackhole(Struct, frozen=True, kw_only=True):
    """Nobody answers: the client's own deadline fires, or ETIMEDOUT after 127 s."""


ResolveFate = Resolve | ResolveFails
ConnectFate = Accept | Refuse | Unreachable | Blackhole


class ConnectPolicy(Protocol):
    """Decides the fate of lookups and connection attempts; a pure fold over its own state."""

    def on_resolve(
        self, host: str, port: int | None, call_id: str | None, now_ns: int
    ) -> ResolveFate:
        """Return the answer to one lookup of `host`. Literal addresses are never asked."""
        ...

    def on_connect(self, host: str, port: int, call_id: str | None, now_ns: int) -> ConnectFate:
        """Return the answer to one attempt to connect to `host`:`port`."""
        ...
