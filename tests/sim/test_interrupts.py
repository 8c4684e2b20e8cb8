"""Ctrl-C is a person's, and no subject can swallow it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time

import pytest

from faultclock.sim.world import World


async def swallowing() -> None:
    """Catch whatever comes, and go on for ever."""
    while True:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(1)
        except BaseException:
            await asyncio.sleep(1)


async def in_a_task() -> None:
    """Let a task of its own be hit."""
    await asyncio.create_task(swallowing())


def blocking() -> None:
    """Do the same without a loop."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except BaseException:
        time.sleep(1)


@pytest.mark.parametrize("subject", [swallowing, in_a_task, blocking])
def test_an_interrupt_that_is_swallowed_still_ends_the_run(subject: object) -> None:
    """It is raised where the run was started."""
    world = World()
    with pytest.raises(KeyboardInterrupt):
        world.run(subject)  # type: ignore[arg-type]
    assert world.kernel.now_ns <= 1_000_000_000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_code_raises_by_itself_is_its_own() -> None:
    """What it catches is over, and the run goes on."""

    def subject() -> str:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            time.sleep(1)
            return "went on"

    assert World().run(subject).value == "went on"


def test_another_handler_is_left_alone() -> None:
    """Who has installed one knows what to do."""
    caught: list[int] = []
    kept = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        ending = World().run(lambda: os.kill(os.getpid(), signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, kept)
    assert (ending.reason, caught) == ("completed", [signal.SIGINT])


def test_these_tests_pass_where_interrupts_are_ignored() -> None:
    """As below `nohup`, or in the background of a script: what starts them passes that on."""
    words = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = subprocess.run(
            [*words, __file__, "-k", "swallowed"], capture_output=True, text=True, timeout=120
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 0, done.stdout
