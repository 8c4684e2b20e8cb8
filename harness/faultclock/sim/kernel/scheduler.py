"""What the world itself does at a time: callbacks of its fakes and its network.

The kernel is built on it. Nothing here runs anything: that is the dispatcher's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faultclock.sim.kernel.env import Call
from faultclock.sim.kernel.ledger import Ledger


class Scheduler(Ledger):
    """The scheduling of one kernel."""

    def call_after(self, delay_ns: int, function: Callable[..., object], *args: Any) -> Call:
        """Call `function(*args)` after a delay; it must not block."""
        call = Call(function, args)
        self.env.schedule_at(call, self.env._now + delay_ns)
        return call

    def call_at(self, at_ns: int, function: Callable[..., object], *args: Any) -> Call:
        """Call `function(*args)` at a virtual time; it must not block."""
        call = Call(function, args)
        self.env.schedule_at(call, at_ns)
        return call

    def call_next(self, function: Callable[..., object], *args: Any) -> Call:
        """Call `function(*args)` before anything else that is due; it must not block."""
        call = Call(function, args)
        self.env.put_ahead(call)
        return call
