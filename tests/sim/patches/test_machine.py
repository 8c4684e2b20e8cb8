"""The machine that a subject sees is the same everywhere."""

from __future__ import annotations

import os
import platform

from faultclock.sim.patches.machine import PROCESSORS
from tests.sim.running import run, value_of


def test_the_platform_is_fixed_and_asking_for_it_runs_no_program() -> None:
    """SDKs put it into their headers."""

    def subject() -> tuple[str, ...]:
        return (
            platform.system(),
            platform.machine(),
            platform.processor(),
            platform.platform(),
            platform.node(),
            platform.uname().release,
        )

    world, ending = run(subject)
    assert ending.value == (
        "Linux",
        "x86_64",
        "",
        "Linux-6.1.0-x86_64-with-glibc2.36",
        "localhost",
        "6.1.0",
    )
    assert world.kernel.leaks == []


def test_the_number_of_processors_is_fixed() -> None:
    """A thread pool's size follows it."""
    assert value_of(os.cpu_count) == PROCESSORS
    assert value_of(lambda: len(os.sched_getaffinity(0))) == PROCESSORS


def test_the_system_and_its_load_are_fixed() -> None:
    """The functions below `platform` tell the same."""
    assert value_of(lambda: os.uname().nodename) == "localhost"
    assert value_of(os.getloadavg) == (0.0, 0.0, 0.0)


def test_outside_the_machine_is_the_real_one() -> None:
    """Nothing of the simulated one stays in a cache."""
    run(platform.platform)
    assert platform.uname().release == os.uname().release
    assert os.uname().release in platform.platform()
