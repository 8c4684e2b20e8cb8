"""The same world twice, in processes with other hash seeds and other addresses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import asyncio, hashlib, os, random, threading, time, uuid
from concurrent.futures import ThreadPoolExecutor, as_completed
from faultclock.sim.kernel.kernel import current
from faultclock.sim.patches import install
install()
from faultclock.sim.world import World

def note(kind, **payload):
    current()[0].record("subject", kind, **payload)

async def job(number):
    await asyncio.sleep(random.random() * 0.01)
    note("woke", number=number, name=asyncio.current_task().get_name(), uuid=str(uuid.uuid4()))
    return number

async def asynchronous():
    ballast = [bytearray(random.randrange(1, 5_000)) for _ in range(200)]
    pending = {asyncio.ensure_future(job(n)) for n in range(400)}
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            note("done", number=task.result())
        note("peek", names=[task.get_name() for task in list(pending)[:3]])
    for task in asyncio.as_completed([job(n) for n in range(50)]):
        note("completed", number=await task)
    loop = asyncio.get_running_loop()
    futures = {loop.run_in_executor(None, time.sleep, 0.001) for _ in range(40)}
    done, _ = await asyncio.wait(futures)
    note("executor", count=len(done), same=[f in futures for f in done])
    # As aiohttp keeps those who wait for one resolution of a name, at addresses of this process.
    holes = [loop.create_future() for _ in range(300)]
    del holes[:: 2 + len(os.environ["BALLAST"]) % 7]
    waiting = {loop.create_future(): number for number in range(100)}
    note("own futures", order=[waiting[future] for future in set(waiting)])

def synchronous():
    lock = threading.Lock()
    def work(number):
        for _ in range(5):
            with lock:
                time.sleep(random.random() * 0.001)
                note("work", number=number, name=threading.current_thread().name)
    with ThreadPoolExecutor(7) as executor:
        for future in as_completed([executor.submit(work, n) for n in range(20)]):
            note("finished", error=str(future.exception()))
    # As an executor that is shut down keeps the threads that it joins.
    made = {threading.Thread(name=str(number)) for number in range(60)}
    note("threads", order=[thread.name for thread in made])

digest = hashlib.sha256()
count = 0
for subject in (asynchronous, synchronous):
    world = World(seed=5)
    ending = world.run(subject)
    assert ending.reason == "completed", ending
    digest.update(repr(world.recorder.events).encode())
    count += len(world.recorder.events)
print(digest.hexdigest(), count)
"""


def _digest(hash_seed: str, ballast: int) -> str:
    environment = dict(os.environ, PYTHONHASHSEED=hash_seed, BALLAST="x" * ballast)
    project = Path(__file__).parents[2]
    environment["PYTHONPATH"] = str(project)
    child = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=project,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def test_facts_are_equal_in_processes_with_other_hash_seeds() -> None:
    """Sets of tasks and of futures iterate alike, whatever the addresses and hashes are."""
    first, second, third = _digest("1", 0), _digest("2", 3_000), _digest("random", 50_001)
    assert first == second == third
    assert int(first.split()[1]) > 1_000
