"""What all tests share: how hypothesis works here.

No deadline per example, because a loaded machine is not a defect, and the same examples each
time, because a suite that fails now and then is soon ignored.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("faultclock", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("faultclock")
