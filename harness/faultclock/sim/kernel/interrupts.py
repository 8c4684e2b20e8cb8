"""A person's interrupt ends a run, whatever the code in which it lands makes of it.

Python raises KeyboardInterrupt wherever the main thread is. That may be inside the subject, which
catches everything, or whose exceptions are data; so the end of the run is noted first.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from faultclock.sim.kernel.ending import Ending
from faultclock.sim.kernel.kernel import Kernel


@contextmanager
def interruptible(kernel: Kernel) -> Iterator[None]:
    """Let SIGINT end the run of `kernel`; only where Python's own handler would have it.

    A KeyboardInterrupt that code raises by itself is not affected.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(_number: int, _frame: object) -> NoReturn:
        kernel.end(Ending(reason="raised", error=KeyboardInterrupt()))
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
