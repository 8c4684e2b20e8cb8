"""One run, one child: results come back, hangs are ended and explained."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from faultclock.errors import InputError
from faultclock.run.process import isolate
from faultclock.run.process.child import fork_process
from faultclock.run.process.confinement import Watch
from faultclock.run.process.isolate import (
    Died,
    Hung,
    run_contained,
    run_isolated,
)
from faultclock.run.process.stacks import in_words, stacks_in
from faultclock.sim.world import World

#: Real seconds for a child that is expected to end by itself.
PATIENT_S = 60.0
#: Real seconds for a child that is expected to hang.
BRIEF_S = 0.5


def spin() -> None:
    """Compute for ever, without a clock."""
    while True:
        pass


def test_a_result_comes_back() -> None:
    """Whatever can be pickled."""
    assert run_isolated(lambda: {"pid": 1, "big": b"x" * 3_000_000}, wall_limit_s=PATIENT_S) == {
        "pid": 1,
        "big": b"x" * 3_000_000,
    }


def test_nothing_of_the_child_stays() -> None:
    """It is another process."""
    seen: list[int] = []

    def child() -> int:
        seen.append(1)
        return os.getpid()

    assert run_isolated(child, wall_limit_s=PATIENT_S) != os.getpid()
    assert seen == []


def test_what_the_function_raises_is_raised_here() -> None:
    """With the child's traceback as a note."""

    def fails() -> None:
        raise InputError("no such thing", hint="try another")

    with pytest.raises(InputError, match="no such thing") as caught:
        run_isolated(fails, wall_limit_s=PATIENT_S)
    assert caught.value.hint == "try another"
    assert "in the isolated child" in caught.value.__notes__[0]


class _FussyError(Exception):
    """Is made of two things, and keeps one: it can be written, and not be read again."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code

    # Dask's tblib teaches pickle to read every exception again that leaves this to its base.
    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args


def test_an_exception_that_cannot_be_pickled_is_described() -> None:
    """Many can be written and not be read again."""

    def fails() -> None:
        raise _FussyError("it broke", 7)

    outcome = run_isolated(fails, wall_limit_s=PATIENT_S)
    assert isinstance(outcome, Died)
    assert outcome.detail[0].startswith("_FussyError: it broke")


def test_a_result_that_cannot_be_pickled_is_a_death(capfd: pytest.CaptureFixture[str]) -> None:
    """And its reason is on standard error."""
    outcome = run_isolated(lambda: threading.Lock(), wall_limit_s=PATIENT_S)
    assert isinstance(outcome, Died)
    assert outcome.detail == ("the child ended with exit code 1 and no result",)
    assert "cannot be pickled" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: os._exit(3), "the child ended with exit code 3 and no result"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the child was killed by SIGKILL"),
    ],
    ids=["exit", "signal"],
)
def test_a_child_that_dies_says_how(act: Any, text: str) -> None:
    """Its parent lives on."""
    assert run_isolated(act, wall_limit_s=PATIENT_S) == Died(detail=(text,))


def test_a_child_that_computes_for_ever_is_ended_with_its_stack() -> None:
    """The watchdog needs no cooperation from it."""
    outcome = run_isolated(spin, wall_limit_s=BRIEF_S)
    assert isinstance(outcome, Hung)
    assert outcome.detail[0] == "no end after 0.5 s of real time"
    assert "is running at test_isolate.py:" in outcome.detail[1]
    assert " spin" in outcome.detail[1]


def test_a_child_whose_time_is_up_hands_over_what_it_has() -> None:
    """One that hangs in C code cannot, and is ended all the same."""
    made: list[int] = []

    def begins() -> None:
        made.append(7)
        spin()

    def in_c_code() -> None:
        sum(itertools.repeat(0))

    for function, known in ((begins, [7]), (in_c_code, None)):
        outcome = run_isolated(function, wall_limit_s=BRIEF_S, so_far=lambda: made)
        assert isinstance(outcome, Hung)
        assert outcome.so_far == known


def test_what_goes_wrong_on_handing_over_loses_that_and_nothing_else() -> None:
    """The run has hung, whatever becomes of its events."""
    outcome = run_isolated(spin, wall_limit_s=BRIEF_S, so_far=lambda: threading.Lock())
    assert isinstance(outcome, Hung)
    assert (outcome.so_far, len(outcome.detail)) == (None, 2)


def test_a_simulated_thread_that_spins_is_told_from_those_that_wait() -> None:
    """The one to blame comes first."""

    def subject() -> None:
        thread = threading.Thread(target=spin)
        thread.start()
        thread.join()

    outcome = run_isolated(lambda: World().run(subject).reason, wall_limit_s=BRIEF_S)
    assert isinstance(outcome, Hung)
    assert "is running at test_isolate.py:" in outcome.detail[1]
    assert "waits" in outcome.detail[2]
    assert " subject" in outcome.detail[2]


def test_a_real_block_in_a_run_is_ended_too() -> None:
    """Such as reading a pipe that nobody writes to."""
    read, write = os.pipe()
    try:
        outcome = run_isolated(
            lambda: World().run(lambda: os.read(read, 1)).reason, wall_limit_s=BRIEF_S
        )
    finally:
        os.close(read)
        os.close(write)
    assert isinstance(outcome, Hung)
    assert any("test_isolate.py" in line for line in outcome.detail[1:])


def test_no_descriptor_and_no_child_is_left() -> None:
    """However it ended."""

    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    def children() -> set[str]:
        # Other tests of this worker may have a process of their own: there need not be none.
        found = set()
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # It has ended meanwhile.
                # Behind the name, which is in parentheses, stand the state and the parent.
                parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
                found |= {place.name} if int(parent) == os.getpid() else set()
        return found

    before = descriptors(), children()
    for function in (int, lambda: os._exit(1), spin):
        run_isolated(function, wall_limit_s=BRIEF_S)
    assert (descriptors(), children()) == before


def test_an_interrupt_in_the_parent_ends_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's Ctrl-C does not wait for a child that hangs."""

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "until_readable", interrupted)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_isolated(spin, wall_limit_s=PATIENT_S)
    assert time.monotonic() - started < PATIENT_S / 2


def test_an_interrupt_that_only_the_child_knows_of_ends_no_more_than_the_child() -> None:
    """A subject may raise anything; the other runs go on."""

    def raises() -> None:
        raise KeyboardInterrupt

    outcome = run_contained(raises, wall_limit_s=PATIENT_S)
    assert isinstance(outcome, Died)
    assert "without an interrupt from outside" in outcome.detail[0]


def test_a_persons_interrupt_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reached this process, not the code in the child."""

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(isolate, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_contained(int, wall_limit_s=PATIENT_S)


def test_results_of_runs_can_be_pickled() -> None:
    """Facts are plain data."""

    def child() -> list[Any]:
        world = World()
        world.run(lambda: time.sleep(5))
        return world.recorder.events

    events = run_isolated(child, wall_limit_s=PATIENT_S)
    assert isinstance(events, list)
    assert [fact[3] for fact in events] == ["sleep", "world.touched"]
    assert pickle.loads(pickle.dumps(events)) == events


def test_a_dump_is_cut_to_what_is_the_same_on_every_machine() -> None:
    """File names without folders, one line a thread, the running ones first, and no caller."""
    dump = """Thread 0x00007f1 (most recent call first):
  File "/x/faultclock/sim/kernel/kernel.py", line 10 in _switch
  File "/x/faultclock/sim/kernel/kernel.py", line 20 in _dispatch
  File "/home/me/app.py", line 5 in waits

Current thread 0x00007f2 (most recent call first):
  File "/home/me/app.py", line 7 in spins
  File "/x/faultclock/subjects/binding.py", line 156 in invoke
  File "/x/faultclock/run/drive.py", line 180 in main
  File "/usr/lib/python3/threading.py", line 1 in run

Thread 0x00007f3 (most recent call first):
  File "/x/faultclock/run/drive.py", line 12 in main
"""
    assert in_words(stacks_in(dump)) == (
        "thread 2 is running at app.py:7 spins",
        "thread 3 is running at drive.py:12 main",
        "thread 1 waits at app.py:5 waits",
    )


def test_a_person_can_interrupt_a_run_whose_main_thread_waits() -> None:
    """The interrupt waits for the baton, unwinds the run, and reaches the caller."""

    def interrupts() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    def subject() -> None:
        thread = threading.Thread(target=interrupts)
        thread.start()
        thread.join()
        threading.Event().wait()

    def interrupted() -> str:
        # Whoever started the tests in the background had the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return World().run(subject).reason

    with pytest.raises(KeyboardInterrupt):
        run_isolated(interrupted, wall_limit_s=PATIENT_S)


_INTERRUPTED_FORK = """
import os, signal
from faultclock.run.process.child import fork_process

signal.signal(signal.SIGINT, signal.default_int_handler)
# What comes while a fork is made is seen in the first hook after it.
os.register_at_fork(before=lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    process = fork_process()
except KeyboardInterrupt:
    try:
        os.waitpid(-1, 0)
    except ChildProcessError:
        print("interrupted, and no child is left")
else:
    # A child that is quicker than its end says nothing.
    if process:
        print("lost")
"""


def test_an_interrupt_that_comes_before_a_fork_does_not_leave_the_signal_blocked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CPython raises it when the signal is blocked already, and leaves it so."""
    before, real = signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.pthread_sigmask

    def raises(how: int, mask: Iterable[int]) -> set[Any]:
        was = real(how, mask)
        if how == signal.SIG_BLOCK and signal.SIGINT in mask:
            raise KeyboardInterrupt
        return was

    with monkeypatch.context() as patched:
        patched.setattr(signal, "pthread_sigmask", raises)
        with pytest.raises(KeyboardInterrupt):
            fork_process()
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_an_interrupt_that_comes_amid_a_fork_is_not_lost() -> None:
    """CPython drops what is raised in a hook of a fork, so it waits until the fork is made."""
    command = [sys.executable, "-c", _INTERRUPTED_FORK]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("interrupted, and no child is left\n", "")
