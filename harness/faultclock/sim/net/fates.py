"""What the world answers to a name lookup or to a connection attempt, as plain values.

A ConnectPolicy decides; the network only carries the decision out. Values here hold no
behaviour and know neither sockets nor the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

#: Linux gives up on an unanswered connect after 6 retransmissions of its first packet
#: (`tcp_syn_retries`, ip-sysctl documentation): 1+2+4+8+16+32+64 seconds.
CONNECT_GIVE_UP_NS = 127_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """The name has an address, known after `delay_ns` (0 or more)."""

    delay_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveFails:
    """The name has no address (or none just now), known after `delay_ns`.

    Attributes:
        temporary: True gives EAI_AGAIN ("Temporary failure in name resolution"), False gives
            EAI_NONAME ("Name or service not known").
    """

    delay_ns: int = 0
    temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    """The connection stands one round trip and `delay_ns` later, if a service listens."""

    delay_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """The far host answers with a reset: ECONNREFUSED after one round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreachable:
    """A router answers that there is no way: EHOSTUNREACH after one round trip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blackhole:
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
