"""Ends a run that records without end: its facts would fill the memory before the watchdog looks.

What a subject can record without ever waiting, what it declares and the entropy it draws, asks
here first. Everything else costs events, which the kernel counts.
"""

from __future__ import annotations

from faultclock.sim.kernel.ending import Ending
from faultclock.sim.kernel.kernel import Kernel


def make_room(kernel: Kernel) -> None:
    """Return at once, or end the run where as many facts are recorded as events are allowed.

    Raises:
        SimKilled: the run is over.
    """
    facts = kernel.recorder.before + len(kernel.recorder.events)
    if facts >= kernel.limits.events_max:
        kernel.end(Ending(reason="event_limit", detail=(f"{facts} facts were recorded",)))
        kernel.pause(0)
