"""Miniatures of provider adapters that have a bug of somebody else's: each names its public issue.

One module for each place that can be wrong: what is read of a hint to wait, how long and how often
it is tried, what a failure is taken for, and what becomes of an answer; and one for those that
are wrong by the common demands. They are in the one table of adapter miniatures.
"""

from faultclock.subjects.adapter_miniatures import answers, bounds, classes, common, hints, waits
from faultclock.subjects.miniatures import MINIATURES as ADAPTER_MINIATURES

__all__ = ["ADAPTER_MINIATURES", "answers", "bounds", "classes", "common", "hints", "waits"]
