"""Ends a forked process together with the one that forked it, however that one ends.

A process that is killed runs no exit handler of its own: its workers would wait for work for
ever, and a run that hangs would lose its watchdog. So the kernel is asked to end them. Linux
only; where the call does not exist, a child outlives a killed parent.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable
from typing import Any

#: From <linux/prctl.h>: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def _find_prctl() -> Callable[..., Any] | None:
    try:
        function: Callable[..., Any] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return None
    return function


#: Looked up once, before any simulation watches what a process loads.
_PRCTL = _find_prctl()


def end_with(parent: int) -> None:
    """Have this process killed as soon as `parent` ends, which must have forked it.

    Args:
        parent: process id, as `os.getpid` gave it before the fork.
    """
    if _PRCTL is None:
        return
    _PRCTL(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        # It ended before the kernel was asked, and no other process would say so.
        os._exit(1)
