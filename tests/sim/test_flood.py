"""A subject that records without end is ended before it fills the memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from faultclock.run.host import RecordingHost
from faultclock.sim.kernel.kernel import Limits, current
from tests.sim.running import run


def declares() -> None:
    """Declare one event."""
    here = current()
    assert here is not None
    RecordingHost(here[0]).event("again")


@pytest.mark.parametrize("record", [declares, lambda: os.urandom(1)], ids=["declares", "draws"])
def test_a_flood_of_facts_ends_the_run(record: Callable[[], Any]) -> None:
    """Although the clock never moves and nothing waits."""

    def subject() -> None:
        while True:
            record()

    world, ending = run(subject, limits=Limits(events_max=1_000))
    assert (ending.reason, ending.detail) == ("event_limit", ("1000 facts were recorded",))
    assert len(world.recorder.events) == 1_001  # the last one tells what was touched
