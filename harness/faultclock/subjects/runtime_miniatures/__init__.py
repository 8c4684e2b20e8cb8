"""Miniatures of runtimes: the reference runtime, each with one named defect, and its check.

They prove that every check of a whole turn can fail. Where the defect is a real one, the title of
its class or its `origin` names the public issue. One module for each theme:

approvals      who decides, and what is written down
dialogs        the person: deadlines, answers, screens
tools          executions, effects, and what the model is told
turns          stages, ends, limits
persistence    the session store
resume         stored sessions and their slots
cancellation   cancels
stages         an attached state machine
lifecycle      extensions
telling        the three audiences
common         what the model `common` alone has a check for
reported_...   what was reported of other runtimes, and fits none of these alone
"""

from faultclock.subjects.runtime_miniatures import (
    approvals,
    cancellation,
    common,
    dialogs,
    lifecycle,
    persistence,
    reported_tools,
    reported_turns,
    resume,
    stages,
    telling,
    tools,
    turns,
)
from faultclock.subjects.runtime_miniatures.table import RUNTIME_MINIATURES

__all__ = [
    "RUNTIME_MINIATURES",
    "approvals",
    "cancellation",
    "common",
    "dialogs",
    "lifecycle",
    "persistence",
    "reported_tools",
    "reported_turns",
    "resume",
    "stages",
    "telling",
    "tools",
    "turns",
]
