"""A bucket that fills evenly and is emptied by requests: exact arithmetic, no clock, no floats.

Providers describe their limits so: capacity comes back all the time, up to a maximum, rather than
at the end of a minute (Anthropic, Rate limits, "token bucket algorithm"; OpenAI's reset headers
count down the same way). One unit of what is counted is `UNIT` parts, and a bucket of n a minute
gets n parts in a nanosecond, so a level is always a whole number.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.duration import SECOND_NS

#: Parts of one request or token: as many as a minute has nanoseconds.
UNIT = 60 * SECOND_NS


class Bucket(Struct, frozen=True, kw_only=True):
    """How full one bucket was at one instant.

    Attributes:
        per_minute: units that flow in.
        size: units that it holds.
        parts: what is in it, 0 to `size` * UNIT.
        at_ns: when that was.
    """

    per_minute: int
    size: int
    parts: int
    at_ns: int

    @classmethod
    def full(cls, per_minute: int, size: int, now_ns: int) -> Bucket:
        """Return a bucket from which nothing was taken."""
        return cls(per_minute=per_minute, size=size, parts=size * UNIT, at_ns=now_ns)

    def at(self, now_ns: int) -> Bucket:
        """Return it as it is at `now_ns`, if nothing was taken since."""
        parts = self.parts + self.per_minute * max(0, now_ns - self.at_ns)
        return replace(self, parts=min(parts, self.size * UNIT), at_ns=max(now_ns, self.at_ns))

    @property
    def units(self) -> int:
        """How many whole units are in it."""
        return self.parts // UNIT

    def wait_ns(self, units: int) -> int:
        """Return how long until `units` can be taken; more than it holds means all of it."""
        return -(-max(0, min(units, self.size) * UNIT - self.parts) // self.per_minute)

    @property
    def until_full_ns(self) -> int:
        """How long until it is full."""
        return self.wait_ns(self.size)

    def less(self, units: int) -> Bucket:
        """Return it without `units`, or empty where it has less."""
        return replace(self, parts=max(0, self.parts - units * UNIT))
