"""Miniatures that no scenario shows as it is written: only exploration finds them.

Each has one bug that needs a certain order of what happens at one instant, a cancel or a crash at
a certain moment, or a certain mix of faults. Whoever runs them sees them pass. One module for each
role, and what registers them is in `table`:

adapters   a token that two refresh, retries that multiply
runtimes   approvals that are counted, a cancel in a backoff, a resume that acts again
breakers   a probe that is cancelled while it connects
"""

from faultclock.subjects.race_miniatures import adapters, breakers, runtimes
from faultclock.subjects.race_miniatures.table import RACE_MINIATURES

__all__ = ["RACE_MINIATURES", "adapters", "breakers", "runtimes"]
