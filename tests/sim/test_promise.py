"""Promises: settled once by the world, waited for by a coroutine or a thread."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from faultclock.errors import InternalError
from faultclock.sim.kernel.context import CALL_ID, current_call
from faultclock.sim.kernel.kernel import Ending, Kernel, current
from faultclock.sim.kernel.promise import Promise
from tests.sim.running import run, value_of


def kernel_here() -> Kernel:
    """Return the kernel of the calling simulated thread."""
    here = current()
    assert here is not None
    return here[0]


def test_a_coroutine_gets_the_value_when_the_world_settles_it() -> None:
    """The loop sleeps until then, and other tasks go on meanwhile."""

    async def subject() -> tuple[Any, int, list[int]]:
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        kernel.call_after(30, promise.resolve, "yes")
        seen: list[int] = []
        kernel.call_after(10, lambda: seen.append(kernel.now_ns))
        return await promise.wait_async(), kernel.now_ns, seen

    assert value_of(subject) == ("yes", 30, [10])


def test_a_thread_gets_the_value_when_the_world_settles_it() -> None:
    """It is parked until then, and another thread runs meanwhile."""

    def subject() -> tuple[Any, int, list[int]]:
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        kernel.call_after(30, promise.resolve, "yes")
        seen: list[int] = []

        def other() -> None:
            kernel.pause(10)
            seen.append(kernel.now_ns)

        threading.Thread(target=other).start()
        return promise.wait_sync(), kernel.now_ns, seen

    assert value_of(subject) == ("yes", 30, [10])


def test_an_error_is_raised_where_it_is_waited_for() -> None:
    """For both styles, whether it comes before or after the wait begins."""

    async def asynchronous(delay_ns: int) -> None:
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        kernel.call_after(delay_ns, promise.reject, KeyError("no"))
        await asyncio.sleep(10e-9)
        with pytest.raises(KeyError, match="no"):
            await promise.wait_async()

    def blocking(delay_ns: int) -> None:
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        kernel.call_after(delay_ns, promise.reject, KeyError("no"))
        kernel.pause(10)
        with pytest.raises(KeyError, match="no"):
            promise.wait_sync()

    async def both() -> None:
        await asynchronous(5)
        await asynchronous(50)

    value_of(both)
    value_of(partial(blocking, 5))
    value_of(partial(blocking, 50))


def test_only_the_first_outcome_counts() -> None:
    """Who comes second is told so."""

    def subject() -> tuple[bool, bool, bool, Any]:
        promise = Promise(kernel_here(), "an answer")
        first = promise.resolve(1)
        return first, promise.resolve(2), promise.reject(ValueError()), promise.wait_sync()

    assert value_of(subject) == (True, False, False, 1)


def test_a_cancelled_wait_is_told_at_once_and_only_once() -> None:
    """The world may drop the operation before anything else happens; the cancel goes on."""

    async def subject() -> tuple[list[int], bool, bool]:
        kernel = kernel_here()
        told: list[int] = []
        promise = Promise(kernel, "an answer", lambda: told.append(kernel.now_ns))
        kernel.call_after(50, promise.resolve, "too late")
        task = asyncio.ensure_future(promise.wait_async())
        await asyncio.sleep(20e-9)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(100e-9)
        return told, promise.abandoned, promise.settled

    assert value_of(subject) == ([20], True, True)


def test_a_cancel_after_the_outcome_abandons_nothing() -> None:
    """What was settled at the same instant is over, though the task never sees it."""

    async def subject() -> tuple[list[str], bool]:
        told: list[str] = []
        promise = Promise(kernel_here(), "an answer", lambda: told.append("abandoned"))
        task = asyncio.ensure_future(promise.wait_async())
        await asyncio.sleep(0)
        promise.resolve("in time")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return told, promise.abandoned

    assert value_of(subject) == ([], False)


def test_it_knows_the_call_that_it_was_made_in() -> None:
    """A callback of the world belongs to no call, and asks the promise instead."""

    async def subject() -> list[str | None]:
        CALL_ID.set("ask/1")
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        seen: list[str | None] = []

        def settle() -> None:
            seen.extend((current_call(), promise.call))
            promise.resolve()

        kernel.call_after(5, settle)
        await promise.wait_async()
        return [*seen, current_call()]

    assert value_of(subject) == [None, "ask/1", "ask/1"]


def test_two_may_not_wait_for_one() -> None:
    """That would be a fault of ours, so it is said loudly."""

    def subject() -> None:
        promise = Promise(kernel_here(), "an answer")
        promise.resolve()
        promise.wait_sync()
        with pytest.raises(InternalError, match="an answer"):
            promise.wait_sync()

    value_of(subject)


def test_a_hang_names_the_reason() -> None:
    """A thread that waits for ever is reported with what it waits for."""
    _, ending = run(lambda: Promise(kernel_here(), "an answer of nobody").wait_sync())
    assert ending.reason == "deadlock"
    assert "waits for an answer of nobody" in ending.detail[1]


def test_nothing_is_settled_or_abandoned_after_the_end() -> None:
    """The end of the run tears waiting coroutines down, and that is nobody's cancel."""
    made: list[Promise] = []
    told: list[str] = []

    async def subject() -> None:
        promise = Promise(kernel_here(), "an answer", lambda: told.append("abandoned"))
        made.append(promise)
        kernel_here().call_after(10, kernel_here().end, Ending(reason="crashed"))
        await promise.wait_async()

    run(subject)
    assert made[0].resolve("late") is False
    assert (told, made[0].settled, made[0].abandoned) == ([], False, False)


def test_a_loop_that_was_closed_is_not_woken() -> None:
    """A subject may drop its loop, and what waited there with it."""

    def subject() -> tuple[bool, bool]:
        kernel = kernel_here()
        promise = Promise(kernel, "an answer")
        kernel.call_after(30, promise.resolve)
        loop = asyncio.new_event_loop()
        task = loop.create_task(promise.wait_async())
        loop.run_until_complete(asyncio.sleep(10e-9))
        loop.close()
        kernel.pause(50)
        return promise.settled, task.done()

    assert value_of(subject) == (True, False)
