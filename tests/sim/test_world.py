"""One run borrows the process and gives everything back."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import time
import uuid
from asyncio import events
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from time import sleep as aliased_sleep
from typing import Any

import pytest

from faultclock.sim.kernel.context import CALL_ID, current_call
from faultclock.sim.patches import install, installed, uninstall
from faultclock.sim.patches.installer import Installation
from faultclock.sim.world import World
from tests.sim.running import facts, run, value_of


def process_state() -> dict[str, Any]:
    """Return what a run could leave changed."""
    # Python 3.14 warns of the public name.
    policy = getattr(events, "_get_event_loop_policy", asyncio.get_event_loop_policy)()
    return {
        "gc": gc.isenabled(),
        "random": random.getstate(),
        "threads": threading.enumerate(),
        "thread counter": threading._counter,  # type: ignore[attr-defined]
        "executor counter": ThreadPoolExecutor._counter,  # type: ignore[attr-defined]
        "uuid1": uuid._last_timestamp,  # type: ignore[attr-defined]
        "policy": policy,
        "policy memory": dict(policy._local.__dict__),  # type: ignore[attr-defined]
        "running loop": asyncio._get_running_loop(),
        "alias": aliased_sleep,
    }


async def busy_async() -> None:
    """Touch everything."""
    random.random()
    await asyncio.to_thread(time.sleep, 1)
    asyncio.get_running_loop().create_task(asyncio.sleep(100))


def busy_sync() -> None:
    """Touch everything, and hang."""
    random.random()
    uuid.uuid1()
    asyncio.set_event_loop(asyncio.new_event_loop())
    asyncio.run(busy_async())
    threading.Thread(target=threading.Event().wait).start()
    threading.Event().wait()


@pytest.mark.parametrize("subject", [busy_async, busy_sync])
def test_a_run_leaves_the_process_as_it_was(subject: Any) -> None:
    """Whatever the subject did and however it ended."""
    gc.enable()
    before = process_state()
    run(subject)
    assert process_state() == before


def test_garbage_is_not_collected_during_a_run() -> None:
    """Finalizers at arbitrary instants would make runs differ."""
    gc.enable()
    assert value_of(gc.isenabled) is False
    assert gc.isenabled()


def test_real_time_goes_on_outside() -> None:
    """Before and after a run, the clocks are the machine's."""
    before = time.time(), time.monotonic()
    run(lambda: time.sleep(10**6))
    after = time.time(), time.monotonic()
    assert 0 <= after[0] - before[0] < 60
    assert 0 <= after[1] - before[1] < 60


def test_a_thread_outside_sees_real_time_during_a_run() -> None:
    """Only simulated threads live in virtual time."""
    from faultclock.sim.kernel.threads import start_new_thread

    seen: list[tuple[float, int]] = []
    asked = threading.Event()

    def outsider() -> None:
        seen.append((time.time(), datetime.now(UTC).year))

    def subject() -> None:
        start_new_thread(outsider, ())
        while not seen:
            time.sleep(0.001)

    real = time.time()
    run(subject)
    assert abs(seen[0][0] - real) < 60
    assert not asked.is_set()


def test_a_thousand_runs_leave_no_thread_and_no_growing_state() -> None:
    """What one run makes dies with it."""
    from faultclock.sim.kernel import actors

    def subject() -> None:
        threading.Thread(target=time.sleep, args=(1,)).start()
        time.sleep(0.5)

    def objects() -> int:
        gc.collect()
        return len(gc.get_objects())

    for _ in range(10):
        run(subject)
    threads, before = threading.enumerate(), objects()
    for _ in range(1_000):
        run(subject)
    assert threading.enumerate() == threads
    assert actors.SIMULATED == {}
    assert objects() - before < 500


def test_equal_seeds_draw_equally() -> None:
    """Everything random follows the seed."""
    import os
    import secrets

    def subject() -> tuple[Any, ...]:
        return (
            random.random(),
            random.SystemRandom().random(),
            random.Random().random(),
            os.urandom(8),
            secrets.token_hex(4),
            uuid.uuid4(),
            uuid.uuid1(),
        )

    first, again, other = (value_of(subject, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert all(one != two for one, two in zip(first, other, strict=True))


def test_the_last_fact_says_what_was_touched() -> None:
    """Counts of clock reads, sleeps and drawn bytes, and how far `random` got."""

    def subject() -> None:
        time.time()
        time.monotonic()
        time.monotonic()
        time.sleep(1)
        uuid.uuid4()

    world, _ = run(subject)
    ((at_ns, payload),) = facts(world, "world.touched")
    assert at_ns == 1_000_000_000
    assert len(payload.pop("random_state")) == 64
    assert payload == {"time": 1, "monotonic": 2, "sleep": 1, "entropy_bytes": 16}


def test_a_draw_of_random_changes_the_digest_of_its_state() -> None:
    """So a trace shows a draw that nothing else shows."""

    def state(subject: Any) -> str:
        world, _ = run(subject)
        return str(facts(world, "world.touched")[0][1]["random_state"])

    assert state(lambda: None) == state(lambda: None)
    assert state(lambda: None) != state(random.random)


def test_context_variables_end_with_the_run() -> None:
    """A subject's settings reach neither the process nor the next run."""
    before = CALL_ID.get()
    value_of(lambda: CALL_ID.set("ask/1") and None)
    assert CALL_ID.get() == before
    token = CALL_ID.set("outer/1")
    try:
        assert value_of(current_call) is None
    finally:
        CALL_ID.reset(token)


def test_a_coroutine_function_runs_as_under_asyncio_run() -> None:
    """And a plain function on the main thread."""

    async def coroutine() -> str:
        await asyncio.sleep(1)
        return "async"

    assert value_of(coroutine) == "async"
    assert value_of(lambda: "sync") == "sync"


def test_a_run_inside_a_running_loop_does_not_see_it() -> None:
    """A harness may itself be driven by asyncio."""

    def subject() -> str:
        return asyncio.run(asyncio.sleep(1, "inner"))

    async def outer() -> tuple[Any, bool]:
        loop = asyncio.get_running_loop()
        return value_of(subject), asyncio.get_running_loop() is loop

    assert asyncio.run(outer()) == ("inner", True)


def test_uninstalling_restores_every_name_and_every_alias() -> None:
    """After it, each patched attribute is the object that it was, in every module."""
    uninstall()
    try:
        install()
        installation = _installation()
        patched = [(owner, name) for owner, name, _ in installation._undo]
        uninstall()
        before = _identities(patched)
        aliases = _aliases()
        install()
        changed = _identities(patched)
        assert sum(one != two for one, two in zip(before, changed, strict=True)) == len(patched)
        run(busy_sync)
        assert _identities(patched) == changed
        uninstall()
        assert _identities(patched) == before
        assert _aliases() == aliases
    finally:
        install()


def test_an_alias_bound_while_installed_is_taken_back_too() -> None:
    """A subject that was imported under the patches keeps no replacement."""
    import sys
    import types

    module = types.ModuleType("imported_meanwhile")
    sys.modules["imported_meanwhile"] = module
    try:
        exec("from time import monotonic, sleep\nfrom threading import Lock", module.__dict__)
        uninstall()
        assert (module.sleep, module.Lock) == (time.sleep, threading.Lock)
    finally:
        del sys.modules["imported_meanwhile"]
        install()


def test_installing_is_idempotent_and_nests() -> None:
    """The outermost user decides when the patches go."""
    before = time.sleep
    install()
    with installed():
        assert time.sleep is before
    assert time.sleep is before


def test_patches_cannot_be_taken_back_inside_a_run() -> None:
    """The run would fall into real time."""
    _, ending = run(uninstall)
    assert ending.reason == "raised"


def test_the_epoch_can_be_chosen() -> None:
    """Wall-clock time of virtual time 0."""
    world = World(epoch_ns=1_800_000_000_000_000_000)
    assert world.run(time.time).value == 1_800_000_000.0


def _installation() -> Installation:
    from faultclock.sim import patches

    assert patches._installation is not None
    return patches._installation


def _identities(patched: list[tuple[Any, str]]) -> list[int]:
    return [id(vars(owner).get(name)) for owner, name in patched]


def _aliases() -> dict[str, int]:
    import sys

    return {
        f"{name}.{key}": id(value)
        for name, module in list(sys.modules.items())
        if isinstance(getattr(module, "__dict__", None), dict)
        and not name.startswith(("faultclock.", "tests.", "_pytest"))
        for key, value in list(module.__dict__.items())
        if callable(value)
    }
