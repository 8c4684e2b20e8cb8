"""Whom the things that are due belong to, and what that is called on a tape in every process."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from faultclock.model.tape import Schedule
from faultclock.sim.kernel.lanes import plain_name
from tests.sim.exploring import explored, many_loops, many_threads, note


def test_a_plain_name_is_kept_and_a_strange_one_is_cut_and_told_apart() -> None:
    """Whatever a subject calls its tasks, it is short printable ASCII and no two become one."""
    assert plain_name("fetch page 3 (retry)") == "fetch page 3 (retry)"
    strange = ["a\nb", "a\tb", "a~b", "ä" * 10, "\ud800", "x" * 65, "x" * 66, "x" * 10_000]
    made = [plain_name(name) for name in strange]
    assert len(set(made)) == len(made)
    assert all(name.isascii() and name.isprintable() and len(name) <= 64 for name in made)


def streams_of(subject: Callable[[], Any], seed: int = 2) -> set[str]:
    """Return the names of the lanes that had to wait."""
    found: set[str] = set()
    for number in range(8):
        run = explored(subject, Schedule(kind="random", seed=seed + number))
        assert run.ending.error is None, run.ending.error
        found |= set(run.tape.choices)
    return found


def named(*names: str) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a subject with one task for each name, all due at one instant."""

    async def main() -> None:
        async def one() -> None:
            await asyncio.sleep(1)
            await asyncio.sleep(0)

        await asyncio.gather(*(asyncio.create_task(one(), name=name) for name in names))

    return main


def test_each_kind_of_lane_has_a_word_of_its_own() -> None:
    """A task may be called as it likes."""
    assert streams_of(named("loop/1", "world", "thread/0", "net/c1/client")) <= {
        "schedule/1/loop/1",
        "schedule/1/timer/1/loop/1",
        "schedule/1/timer/1/world",
        "schedule/1/timer/1/thread/0",
        "schedule/1/timer/1/net/c1/client",
    }
    kinds = {name.split("/")[2] for name in streams_of(many_loops) | streams_of(many_threads)}
    assert kinds == {"timer", "loop", "thread", "deadline"}


def test_tasks_that_are_called_the_same_are_numbered() -> None:
    """In the order of their first timers; one that is called like that number is told apart."""
    found = streams_of(named("same", "same", "same", "same~2"))
    own = {name.removeprefix("schedule/1/timer/1/") for name in found if "same" in name}
    assert {"same", "same~2", "same~3"} <= own
    (other,) = own - {"same", "same~2", "same~3"}
    assert other.startswith("same_2~")


def test_the_first_tasks_of_two_loops_are_two() -> None:
    """Each loop numbers its tasks from 1."""
    found = streams_of(many_loops)
    assert {"schedule/1/timer/1/Task-1", "schedule/1/timer/2/Task-1"} <= found


def test_a_name_that_is_given_after_the_making_counts() -> None:
    """As a factory of tasks does it, whose tasks are born with a name of the whole process."""

    async def main() -> None:
        def factory(
            loop: asyncio.AbstractEventLoop, coro: Any, **options: Any
        ) -> asyncio.Task[Any]:
            return asyncio.Task(coro, loop=loop, **options)

        asyncio.get_running_loop().set_task_factory(factory)
        await named("first", "second")()
        tasks = [asyncio.create_task(asyncio.sleep(0)) for _ in range(3)]
        await asyncio.gather(*tasks)

    found = {name.removeprefix("schedule/1/timer/1/") for name in streams_of(main)}
    assert {"first", "second"} <= found
    assert found <= {"first", "second", "schedule/1/loop/1"}


@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="`asyncio.current_task` of CPython 3.14 does not know them"
)
def test_tasks_in_pure_python_have_lanes_as_well() -> None:
    """Some libraries subclass that one."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        python = asyncio.tasks._PyTask  # type: ignore[attr-defined]
        await asyncio.wait([python(asyncio.sleep(1), loop=loop, name=f"py-{n}") for n in range(3)])

    found = explored(main, Schedule(kind="random", seed=1))
    assert any("/timer/1/py-" in name for name in found.tape.choices)
    assert explored(main, tape=found.tape).facts == found.facts


def test_tasks_that_cannot_be_marked_share_the_lane_of_their_loop() -> None:
    """So do timers that no task has set."""

    class Closed(asyncio.Task):  # type: ignore[type-arg]
        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(name)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_later, 1, note, "set by no task")
        closed = [Closed(asyncio.sleep(1), loop=loop) for _ in range(2)]
        await asyncio.gather(asyncio.sleep(1), *closed)

    assert streams_of(main) <= {
        "schedule/1/loop/1",
        "schedule/1/timer/1",
        "schedule/1/timer/1/Task-2",
    }
    assert "schedule/1/timer/1" in streams_of(main)


def test_who_cancels_a_task_is_not_the_task() -> None:
    """Whether the end of its wait or the cancel comes first is a race, and both are found."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def one() -> None:
            try:
                await asyncio.sleep(1)
                note("slept")
            except asyncio.CancelledError:
                note("cancelled")

        task = asyncio.create_task(one())
        await asyncio.sleep(0)
        loop.call_later(1, task.cancel)
        await asyncio.wait([task])

    seen = {explored(main, Schedule(kind="random", seed=seed)).notes[0] for seed in range(20)}
    assert seen == {"slept", "cancelled"}


_PROGRAM = """
import asyncio, json, sys
from faultclock.sim.patches import install
install()
from faultclock.model.tape import Schedule
from faultclock.sim.kernel.choices import Choices
from faultclock.sim.world import World

class Worker:
    async def work(self):
        for _ in range(4):
            await asyncio.sleep(1)
            await asyncio.sleep(0)

async def main():
    ballast = [bytearray(n * 37 % 5000) for n in range(int(sys.argv[1]))]
    workers = [Worker() for _ in range(6)]
    names = [repr(workers[0]), f"by-id-{id(workers[1])}", f"hash {hash(workers[2])}"]
    names += [None, None, None]
    tasks = {asyncio.create_task(w.work(), name=n) for w, n in zip(workers, names)}
    await asyncio.wait(tasks)

tapes = []
for seed in range(5):
    world = World(choices=Choices(0, schedule=Schedule(kind="random", seed=seed)))
    assert world.run(main).reason == "completed"
    tapes.append(world.choices.noted().model_dump(mode="json"))
print(json.dumps(tapes, sort_keys=True))
"""


def test_processes_with_other_hash_seeds_and_addresses_note_the_same_tape() -> None:
    """Also where a subject puts addresses and hashes into the names of its tasks."""
    project = Path(__file__).parents[2]
    noted = set()
    for hash_seed, ballast in (("1", 10), ("2", 3_000)):
        child = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(ballast)],
            env=dict(os.environ, PYTHONHASHSEED=hash_seed, PYTHONPATH=str(project)),
            capture_output=True,
            text=True,
            check=False,
            cwd=project,
        )
        assert child.returncode == 0, child.stderr
        noted.add(child.stdout)
    (only,) = noted
    assert "Worker object at #" in only
    assert "by-id-#" in only
