"""Callbacks and futures of the simulated loop: how they end, what they hold, and who asked."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from faultclock.sim.kernel.kernel import current
from faultclock.sim.world import World
from tests.sim.running import run, value_of


def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_debug_mode_works() -> None:
    """Its checks are the standard library's."""

    async def subject() -> float:
        _loop().set_debug(True)
        await asyncio.sleep(1)
        return await _loop().run_in_executor(None, time.monotonic)

    assert value_of(subject) == 1_001


def test_what_is_refused_in_a_callback_ends_the_run_there() -> None:
    """No exception handler is asked, and what waits is not waited for."""
    seen: list[object] = []

    async def subject() -> None:
        loop = _loop()
        loop.set_exception_handler(lambda _, context: seen.append(context["exception"]))
        loop.call_soon(os.fork)
        await asyncio.sleep(1)
        seen.append("a second later")

    _, ending = run(subject)
    assert (ending.reason, seen) == ("escape", [])


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_what_ends_a_program_ends_it_from_a_callback_too(error: type[BaseException]) -> None:
    """As with the standard library, no exception handler is asked about it."""
    seen: list[object] = []

    def fails() -> None:
        raise error

    async def subject() -> None:
        _loop().set_exception_handler(lambda _, context: seen.append(context["exception"]))
        _loop().call_soon(fails)
        await asyncio.sleep(1)

    with pytest.raises(error):
        value_of(subject)
    assert seen == []


def test_what_is_due_when_the_process_is_killed_never_comes() -> None:
    """A callback blocks while a thread kills the process, and another callback is due."""
    seen: list[str] = []

    async def subject() -> None:
        _loop().call_soon(time.sleep, 2)
        _loop().call_later(1, seen.append, "after the end")
        threading.Thread(target=killing).start()
        await asyncio.sleep(5)

    def killing() -> None:
        time.sleep(1)
        here = current()
        assert here is not None
        here[0].crash()

    _, ending = run(subject)
    assert (ending.reason, seen) == ("crashed", [])


def test_a_timer_that_is_cancelled_lets_go_of_all_it_holds() -> None:
    """It stays in the queue until it would be due, which may be an hour."""
    world = World(seed=0)
    world.kernel.watcher = Mock()
    timers: list[asyncio.TimerHandle] = []

    async def waits(given: frozenset[int]) -> None:
        timers.append(asyncio.get_running_loop().call_later(3_600, print, given))

    async def subject() -> list[list[bool]]:
        given = frozenset((1, 2))
        task = asyncio.create_task(waits(given))
        known = weakref.ref(task), weakref.ref(given)
        await task
        del task, given
        held = []
        for _ in range(2):
            # The callback that wakes this task has the other one in its arguments.
            await asyncio.sleep(0)
            gc.collect()
            held.append([it() is not None for it in known])
            timers[0].cancel()
        return held

    assert world.run(subject).value == [[True, True], [False, False]]


def test_debug_mode_refuses_a_coroutine_function_and_another_thread() -> None:
    """In the standard library's words."""

    async def asked() -> None: ...

    async def subject() -> None:
        loop = _loop()
        loop.set_debug(True)
        with pytest.raises(TypeError, match="coroutines cannot be used with call_soon"):
            loop.call_soon(asked)
        with pytest.raises(TypeError, match="coroutines cannot be used with call_at"):
            loop.call_later(1, asked)
        for ask, *delay in ((loop.call_soon,), (loop.call_later, 1), (loop.call_at, 1)):
            with pytest.raises(RuntimeError, match="Non-thread-safe operation"):
                await asyncio.to_thread(ask, *delay, print)

    value_of(subject)


@pytest.mark.parametrize("later", [False, True])
def test_debug_mode_says_what_was_cancelled(later: bool) -> None:
    """As the standard library does, though the callback itself is let go."""

    def named() -> None: ...

    async def subject() -> str:
        loop = _loop()
        loop.set_debug(True)
        handle = loop.call_later(1, named) if later else loop.call_soon(named)
        handle.cancel()
        return repr(handle)

    assert "named" in value_of(subject)


def test_futures_that_a_library_may_keep_in_a_set_are_numbered() -> None:
    """So are those of an executor; afterwards asyncio has its own again, which are faster."""

    async def subject() -> tuple[list[int], type]:
        loop, waits = _loop(), asyncio.Queue[int]()
        made = [loop.create_future(), loop.run_in_executor(None, int), loop.create_future()]
        numbers = [hash(future) for future in made]
        await made[1]
        task = asyncio.ensure_future(waits.get())
        await asyncio.sleep(0)
        (own,) = waits._getters  # type: ignore[attr-defined]
        task.cancel()
        return [number - numbers[0] for number in numbers], type(own)

    assert value_of(subject) == ([0, 1, 2], asyncio.Future)


@pytest.mark.parametrize("package", [None, "", 1, "asyncio", type("Text", (str,), {})("a")])
def test_whatever_calls_itself_a_package_gets_a_future(package: object) -> None:
    """Code that is made from a text says what it likes."""

    async def subject() -> int:
        names: dict[str, Any] = {"__package__": package, "loop": _loop()}
        exec("future = loop.create_future()", names)
        _loop().call_soon(names["future"].set_result, 3)
        found: int = await names["future"]
        return found

    assert value_of(subject) == 3


def _asked_soon(loop: Any, callback: Callable[[], None]) -> None:
    loop.call_soon(callback)


def _asked_later(loop: Any, callback: Callable[[], None]) -> None:
    loop.call_later(1, callback)


def _asked_from_a_thread(loop: Any, callback: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(callback)


@pytest.mark.parametrize("ask", [_asked_soon, _asked_later, _asked_from_a_thread])
def test_debug_mode_says_who_asked_for_a_callback_that_fails(
    ask: Callable[[Any, Callable[[], None]], None],
) -> None:
    """The last line is of the code that asked, as the standard library has it."""

    def fails() -> None:
        raise ValueError("in a callback")

    async def subject() -> list[str]:
        seen: list[str] = []
        loop = _loop()
        loop.set_debug(True)
        loop.set_exception_handler(
            lambda _, context: seen.append(context["source_traceback"][-1].name)
        )
        ask(loop, fails)
        await asyncio.sleep(2)
        return seen

    assert value_of(subject) == [ask.__name__]
