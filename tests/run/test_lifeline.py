"""Whoever kills Faultclock leaves nothing of it behind."""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Callable
from typing import NoReturn

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.run.process.isolate import run_isolated
from faultclock.run.process.lifeline import end_with
from faultclock.run.suite import SuiteRequest, run_suite
from faultclock.subjects.binding import provider_adapter
from faultclock.subjects.ports import ProviderRequest
from tests.run.conftest import small

#: Real seconds in which processes end at the latest, on a loaded machine.
PATIENT_S = 30


def ended_after_a_kill(parent_does: Callable[[int], object], *, signs: int) -> bool:
    """Kill a process after `signs` bytes of life, and return whether all that it forked ended.

    All of them hold one end of a pipe, which closes when the last one ends.
    """
    read, write = os.pipe()
    parent = os.fork()
    if parent == 0:
        os.close(read)
        # Whoever is left over by a mistake of ours does not compute for ever.
        resource.setrlimit(resource.RLIMIT_CPU, (3 * PATIENT_S, 3 * PATIENT_S))
        try:
            parent_does(write)
        finally:
            os._exit(1)
    os.close(write)
    poller = select.poll()
    poller.register(read, select.POLLIN)
    try:
        for _ in range(signs):
            assert poller.poll(PATIENT_S * 1_000), "the children did not begin"
            assert os.read(read, 1), "the children ended by themselves"
        os.kill(parent, signal.SIGKILL)
        os.waitpid(parent, 0)
        return bool(poller.poll(PATIENT_S * 1_000)) and os.read(read, 1) == b""
    finally:
        os.close(read)


def live(write: int) -> NoReturn:
    """Show a sign of life, then compute without an end."""
    os.write(write, b".")
    while True:
        pass


def test_a_child_ends_when_its_parent_is_killed() -> None:
    """No exit handler runs in the parent, so the kernel does it."""

    def forks(write: int) -> None:
        parent = os.getpid()
        if os.fork() == 0:
            end_with(parent)
            live(write)
        os.wait()

    assert ended_after_a_kill(forks, signs=1)


def test_an_isolated_run_ends_with_its_watchdog() -> None:
    """A subject that spins would otherwise keep a core busy for ever."""

    def runs(write: int) -> None:
        run_isolated(lambda: live(write), wall_limit_s=PATIENT_S)

    assert ended_after_a_kill(runs, signs=1)


def test_workers_of_a_killed_suite_end(model: ErrorModel) -> None:
    """Two of them, each with a run that hangs."""

    def suite(write: int) -> None:
        @provider_adapter
        def spins(request: ProviderRequest) -> str:
            live(write)

        run_suite(
            SuiteRequest(
                scenarios=tuple(small(id=f"tests/number-{number}") for number in range(8)),
                binding=spins,
                subject_spec="s",
                model=model,
                jobs=2,
                wall_limit_s=PATIENT_S,
            )
        )

    assert ended_after_a_kill(suite, signs=2)
