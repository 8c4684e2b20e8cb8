"""What a module keeps when it is imported is of the world in which it will run."""

from __future__ import annotations

import _thread
import asyncio
import datetime
import importlib
import os
import random
import secrets
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim import patches
from faultclock.sim.kernel.clock import MONOTONIC_BASE_NS
from faultclock.sim.patches import installed, starting, uninstall
from faultclock.sim.patches.registry import Patch

_NS = 1_000_000_000
_EPOCH = datetime.datetime.fromtimestamp(WALL_EPOCH_NS // _NS, datetime.UTC)
#: Clocks, and what each shows while a subject is loaded.
CLOCKS: dict[Callable[[], Any], Any] = {
    time.monotonic: MONOTONIC_BASE_NS / _NS,
    time.monotonic_ns: MONOTONIC_BASE_NS,
    time.perf_counter: MONOTONIC_BASE_NS / _NS,
    time.process_time: 0.0,
    time.thread_time_ns: 0,
    lambda: time.clock_gettime(time.CLOCK_MONOTONIC): MONOTONIC_BASE_NS / _NS,
    lambda: time.clock_gettime_ns(time.CLOCK_REALTIME): WALL_EPOCH_NS,
    time.time: WALL_EPOCH_NS / _NS,
    time.time_ns: WALL_EPOCH_NS,
    lambda: datetime.datetime.now(datetime.UTC): _EPOCH,
}
#: What asks the system for chance.
CHANCE: tuple[Callable[[], object], ...] = (
    lambda: random.Random().random(),
    random.random,
    lambda: os.urandom(8),
    uuid.uuid4,
    secrets.token_hex,
)


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    with installed():
        yield


@pytest.mark.parametrize("number", range(len(CLOCKS)))
def test_a_clock_shows_the_start_of_the_runs(number: int) -> None:
    """A bucket that is filled from then on has no time to come."""
    read, shown = list(CLOCKS.items())[number]
    if getattr(read, "__module__", None) == "time":
        # The name, as a module has it that is imported after the patches.
        read = getattr(time, read.__name__)
    with starting():
        assert (read(), read()) == (shown, shown)
    assert read() != shown


@pytest.mark.parametrize("number", range(len(CHANCE)))
def test_each_process_draws_the_same(number: int) -> None:
    """A generator that lives on in the runs gives them the same waits everywhere."""
    with starting():
        first = CHANCE[number]()
    with starting():
        assert CHANCE[number]() == first
    assert CHANCE[number]() != first


def test_the_module_random_is_as_it_was_afterwards() -> None:
    """What is loaded draws from a stream of its own."""
    state = random.getstate()
    with starting():
        random.random()
    assert random.getstate() == state


def test_who_waits_sees_a_clock_that_moves() -> None:
    """An event loop while a module is imported comes to its end, as does a lock with a deadline."""
    with starting():
        asyncio.run(asyncio.sleep(0.001))
        assert not threading.Event().wait(0.001)
        assert time.monotonic() == MONOTONIC_BASE_NS / _NS


def test_who_reads_again_and_again_sees_a_clock_that_moves() -> None:
    """Or `while time.monotonic() < end` would never end."""
    with starting():
        ends_s = time.monotonic() + 0.001
        while time.monotonic() < ends_s:
            pass


def test_who_sleeps_sees_a_clock_that_moves() -> None:
    """Or a loop that looks for something now and then would never give up."""
    with starting():
        time.sleep(0)
        assert time.monotonic() != MONOTONIC_BASE_NS / _NS


def test_another_thread_sees_the_real_clock_and_real_chance() -> None:
    """It has begun with the real ones, and goes on with them."""
    seen: list[object] = []
    done = threading.Lock()
    done.acquire()

    def other() -> None:
        seen.extend((time.time(), os.urandom(8)))
        done.release()

    with starting():
        first = os.urandom(8)
    with starting():
        # As C code starts one: without a frame of `threading` below it.
        _thread.start_new_thread(other, ())
        done.acquire()
        assert os.urandom(8) == first
        assert time.time() == WALL_EPOCH_NS / _NS
    assert seen[0] != WALL_EPOCH_NS / _NS
    assert first != seen[1]


def test_a_subject_may_be_loaded_on_any_thread() -> None:
    """What stands below who loads it waits for nothing."""
    seen: list[float] = []

    def load() -> None:
        with starting():
            seen.append(time.time())

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert seen == [WALL_EPOCH_NS / _NS]


@pytest.mark.parametrize("inner", [False, True])
def test_a_library_is_patched_as_soon_as_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inner: bool
) -> None:
    """Also one that imports another such library in the middle of itself."""
    (tmp_path / "outer_lib.py").write_text(f"{'import inner_lib' * inner}\nname = 'real'\n")
    (tmp_path / "inner_lib.py").write_text("name = 'real'\n")
    monkeypatch.syspath_prepend(tmp_path)

    def patches_of(name: str) -> Iterator[Patch]:
        if hasattr(sys.modules[name], "name"):
            yield Patch(sys.modules[name], "name", lambda _: "ours", aliases=False)

    for name in ("outer_lib", "inner_lib"):
        monkeypatch.setitem(patches._NAMED, name, SimpleNamespace(patches_of=patches_of))
    try:
        assert importlib.import_module("outer_lib").name == "ours"
    finally:
        sys.modules.pop("outer_lib", None)
        sys.modules.pop("inner_lib", None)


def test_nothing_is_left_in_the_way_of_imports() -> None:
    """What patches a library at its first import is taken away with all patches."""
    uninstall()
    assert patches._just_imported not in sys.meta_path


def test_an_interpreter_that_ends_says_nothing() -> None:
    """Events happen after the names of our modules are gone."""
    text = (
        "import sys\nfrom faultclock.sim import patches\npatches.install()\n"
        "class Late:\n    def __del__(self, audit=sys.audit):\n        audit('import', 'x')\n"
        "from faultclock.sim.patches import refusals\nrefusals.late = Late()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stderr == ""
