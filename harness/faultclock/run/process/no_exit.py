"""Keeps a run that is made in this process from ending the process.

`os._exit` ends it on the spot: no verdict would come out, and with the code 0 it would look green.
A child that is forked for the run needs none of this: the parent sees that it died.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from faultclock.sim.kernel.escapes import refuse


@contextmanager
def staying() -> Iterator[None]:
    """Refuse `os._exit` in this process, as what cannot be simulated."""
    real, here = os._exit, os.getpid()

    def refused(status: int) -> NoReturn:
        if os.getpid() != here:
            # A child of the subject's own: it may end as it likes.
            real(status)
        refuse("os._exit")

    os._exit = refused
    try:
        yield
    finally:
        os._exit = real
