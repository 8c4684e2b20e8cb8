"""Thread pools: made before, outside or inside a run, used in any of them."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed, wait

from faultclock.sim.kernel.context import CALL_ID, current_call
from tests.sim.running import run, value_of

#: Made when this module is imported: in a whole test run, that is before the patches.
MODULE_LEVEL = ThreadPoolExecutor(2)


def elapsed() -> float:
    """Return virtual seconds since the start."""
    return time.monotonic() - 1_000


def sleeps(seconds: float) -> float:
    """Sleep, and say when it was over."""
    time.sleep(seconds)
    return elapsed()


def uses(executor: ThreadPoolExecutor) -> list[float]:
    """Give two workers four jobs."""
    futures = [executor.submit(sleeps, seconds) for seconds in (3, 1, 1, 1)]
    return [future.result() for future in futures]


def test_a_pool_made_at_import_works_in_every_run() -> None:
    """Not only in the first: the workers of one run are dead in the next."""
    for _ in range(3):
        assert value_of(lambda: uses(MODULE_LEVEL)) == [3, 1, 2, 3]


def test_a_pool_with_real_workers_works_inside_and_again_outside() -> None:
    """The run borrows the pool, and gives it back with its workers."""
    with ThreadPoolExecutor(2) as executor:
        assert executor.submit(lambda: 1).result() == 1
        workers = set(executor._threads)
        assert value_of(lambda: uses(executor)) == [3, 1, 2, 3]
        assert executor._threads == workers
        assert executor.submit(lambda: 2).result() == 2


def test_a_pool_that_is_shut_down_inside_lives_on_outside() -> None:
    """The real workers never hear of it."""
    with ThreadPoolExecutor(1) as executor:
        executor.submit(int).result()

        def subject() -> None:
            executor.submit(sleeps, 1)
            executor.shutdown()

        world, _ = run(subject)
        assert world.kernel.now_ns == 1_000_000_000
        assert executor.submit(lambda: 3).result() == 3


def test_as_completed_yields_in_the_order_of_completion() -> None:
    """With more jobs than workers."""

    def subject() -> list[float]:
        with ThreadPoolExecutor(3) as executor:
            futures = [executor.submit(sleeps, seconds) for seconds in (5, 1, 3, 1)]
            return [future.result() for future in as_completed(futures)]

    assert value_of(subject) == [1, 2, 3, 5]


def test_futures_that_are_done_already_come_in_the_order_of_submitting() -> None:
    """They are kept in a set, whose order must not be that of addresses."""

    def subject() -> list[int]:
        with ThreadPoolExecutor(2) as executor:
            futures = [executor.submit(lambda n=n: n) for n in range(50)]
            time.sleep(1)
            done, _ = wait(futures)
            return [future.result() for future in done]

    assert value_of(subject) == list(range(50))


def test_waiting_for_the_first_gives_up_the_rest() -> None:
    """`wait` with a condition and a deadline."""

    def subject() -> tuple[int, int, float]:
        executor = ThreadPoolExecutor(4)
        futures = [executor.submit(sleeps, seconds) for seconds in (5, 2, 9)]
        done, pending = wait(futures, timeout=4, return_when=FIRST_COMPLETED)
        return len(done), len(pending), elapsed()

    assert value_of(subject) == (1, 2, 2)


def test_work_belongs_to_the_call_that_submitted_it() -> None:
    """Not to the call whose work started the worker."""

    def subject() -> list[str | None]:
        executor = ThreadPoolExecutor(1)

        def submits(call: str) -> str | None:
            CALL_ID.set(call)
            return executor.submit(current_call).result()

        calls = [contextvars.copy_context().run(submits, f"ask/{n}") for n in (1, 2)]
        return [*calls, executor.submit(current_call).result()]

    assert value_of(subject) == ["ask/1", "ask/2", None]


def test_work_handed_over_by_a_coroutine_belongs_to_its_call() -> None:
    """Through `to_thread` and through the loop's executor."""

    async def subject() -> list[str | None]:
        CALL_ID.set("ask/1")
        loop = asyncio.get_running_loop()
        return [
            await asyncio.to_thread(current_call),
            await loop.run_in_executor(None, current_call),
        ]

    assert value_of(subject) == ["ask/1", "ask/1"]


def test_worker_names_are_the_same_in_every_run() -> None:
    """They are counted in each world anew."""

    def subject() -> str:
        return ThreadPoolExecutor(1).submit(lambda: threading.current_thread().name).result()

    assert [value_of(subject), value_of(subject)] == ["ThreadPoolExecutor-0_0"] * 2


def test_an_exception_of_the_work_arrives() -> None:
    """As ever."""

    def subject() -> str:
        error = ThreadPoolExecutor(1).submit(lambda: 1 / 0).exception()
        return type(error).__name__

    assert value_of(subject) == "ZeroDivisionError"
