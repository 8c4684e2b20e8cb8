"""What all tests share: how hypothesis works here, and what is read once.

No deadline per example, because a loaded machine is not a defect, and the same examples each
time, because a suite that fails now and then is soon ignored. An interrupt ends a process, as it
does on a terminal: what ignores it (`nohup`, a job in the background of a script) passes that on to
every process that it starts.

What is collected stays to the end: no search for garbage looks at it, and there are fewer of them.
The tests as pytest compiles them are kept for the next time, also where PYTHONDONTWRITEBYTECODE is
set: that goes on to hold for the subjects, which are written anew with every test.

A shipped scenario is read once by each process, and again when its file has changed.

Each event that a test's run records is held to the catalogue of event kinds, once for each set of
fields and types that it has.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

settings.register_profile("faultclock", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("faultclock")

# To collect tests and the modules that they import makes a million objects.
gc.set_threshold(50_000)
_writes_nothing, sys.dont_write_bytecode = sys.dont_write_bytecode, False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A handler is no inheritance: each child that a test starts begins with the default again.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave what was collected out of every search for garbage from here on."""
    gc.collect()
    gc.freeze()
    sys.dont_write_bytecode = _writes_nothing


@pytest.fixture(scope="session", autouse=True)
def _shipped_scenarios_are_read_once() -> None:
    """Spare the tests to read the same files again and again."""
    from tests.warm.listing import read_shipped_once

    read_shipped_once()


@pytest.fixture(scope="session", autouse=True)
def _recorded_events_fit_the_catalogue() -> Iterator[None]:
    """Check what each run of this session records where its trace is sealed."""
    from faultclock.model.trace.event_check import check_events
    from faultclock.model.trace.trace import Trace
    from faultclock.run.process.run_once import _OBSERVERS

    seen: set[Any] = set()

    def checked(header: Any, events: Any, *rest: Any, **ended: Any) -> Trace:
        fresh = []
        for event in events:
            fields = tuple((name, type(value)) for name, value in event.payload.items())
            if (shape := (event.kind, event.actor, fields)) not in seen:
                seen.add(shape)
                fresh.append(event)
        check_events(fresh)
        return Trace.sealed(header, events, *rest, **ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("faultclock.run.execute.Trace", SimpleNamespace(sealed=checked))
        # It is no subject that replaces it.
        watched = tuple(item for item in _OBSERVERS._kept if item[1] != "Trace")
        patch.setattr(_OBSERVERS, "_kept", watched)
        yield
