"""Defects that any subject can have: of its calls, and of how it waits.

A change stands around what is bound, so it needs to know nothing of the subject. How a subject
waits is changed in the loop and the kernel of its own run: a sleep of any library ends there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any, Literal

from msgspec import Struct

from faultclock.kills.mutant import Mutant
from faultclock.model.scenario.scenario import Role
from faultclock.sim.kernel.actors import current
from faultclock.subjects.binding import Binding

#: What a subject that is an object is asked for, by its role; a function is asked itself.
_METHODS: dict[Role, tuple[str, ...]] = {
    "runtime": ("run_turn", "ask", "start", "close"),
    "session_store": ("read", "write", "append", "read_journal", "read_slot", "write_slot"),
    "extension": ("init", "activate", "deactivate", "dispose", "on_slot_drift", "deliver_slot"),
}
#: Seconds: longer than any scenario waits for a call.
_LATE_S = 3_600.0
_FOREVER_S = 1e7
#: How often a subject that never gives up does everything again: more than any sentence allows.
_AGAIN_MAX = 200
#: What a subject says that does not admit its failure.
_APOLOGY = "I am sorry, I could not find anything."

Defect = Literal[
    "skip",
    "again",
    "insist",
    "never give up",
    "go on",
    "fail",
    "crash",
    "garble",
    "swallow",
    "apologise",
    "ignore cancel",
    "late",
    "never end",
    "call home",
]
_DOES: dict[Defect, str] = {
    "skip": "returns nothing, and does nothing",
    "again": "does everything twice",
    "insist": "does everything once more when it has failed",
    "never give up": "does everything again and again as long as it fails",
    "go on": "does everything once more behind its end",
    "fail": "raises an exception when it has succeeded",
    "crash": "raises a KeyError of its own, at every end",
    "garble": "raises the error of a decoder, at every end",
    "swallow": "returns nothing where an exception would leave it",
    "apologise": "returns words of its own where an exception would leave it",
    "ignore cancel": "goes on when it is cancelled",
    "late": "returns an hour later",
    "never end": "does not return",
    "call home": "connects to a server behind its end",
}
#: What can be wrong with a method that opens or closes: nothing is asked for that it could do again
#: until it succeeds, or talk its way out of.
_OF_ENDS: Mapping[str, tuple[Defect, ...]] = dict.fromkeys(
    ("start", "close"), ("skip", "again", "go on", "fail", "swallow", "late", "never end")
)
#: A name that no world knows, and a port.
_HOME = ("home.example", 443)
Waits = Literal["x0", "x0.5", "x2", "+5s", "+1h", "gives up"]
_LONGER_NS = {"+5s": 5_000_000_000, "+1h": 3_600_000_000_000}
_WAITS: dict[Waits, str] = {
    "x0": "does not wait where it should",
    "x0.5": "waits half as long",
    "x2": "waits twice as long",
    "+5s": "waits five seconds longer",
    "+1h": "waits an hour longer",
    "gives up": "ends with an exception where it should wait",
}


def call_mutants(role: Role, style: str) -> Iterator[Mutant]:
    """Yield the mutants of calls and of waits of a subject of this role."""
    methods = _METHODS.get(role, ("",))
    for method in methods:
        for defect, does in _DOES.items():
            if defect == "ignore cancel" and style == "sync":
                continue
            if defect not in _OF_ENDS.get(method, _DOES):
                continue
            named = method or "call"
            yield Mutant(
                id=f"call of {named}: {defect}" if method else f"call: {defect}",
                family="call",
                group=named,
                does=f"{does}: {named}" if method else does,
                change=OtherCalls(method=method, defect=defect),
            )
    for waits, does in _WAITS.items():
        yield Mutant(
            id=f"wait: {waits}", family="wait", group="wait", does=does, change=OtherWaits(waits)
        )


class OtherCalls(Struct, frozen=True, kw_only=True):
    """A subject whose calls have a defect.

    Attributes:
        method: of the object that is bound; empty: what is bound is called itself.
    """

    method: str
    defect: Defect

    def __call__(self, binding: Binding) -> Binding:
        """Return the wrong subject."""
        wrong = functools.partial(_defective, self.defect, is_async=binding.style == "async")
        if not self.method:
            return replace(binding, function=wrong(binding.function))
        return _around_object(binding, lambda made: _Other(made, self.method, wrong))


class _Other:
    """An object one of whose methods is another one."""

    def __init__(self, made: Any, method: str, wrong: Callable[[Any], Any]) -> None:
        self._made = made
        self._method = method
        self._wrong = wrong

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._made, name)
        return self._wrong(found) if name == self._method else found


def _around_object(binding: Binding, around: Callable[[Any], Any]) -> Binding:
    """Return a binding whose objects have something around them."""
    make = binding.function

    def made(*given: Any) -> Any:
        thing = make(*given)
        if not asyncio.iscoroutine(thing):
            return around(thing)

        async def later() -> Any:
            return around(await thing)

        return later()

    return replace(binding, function=made)


def _defective(defect: Defect, right: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    if not is_async:
        return functools.partial(_wrong_sync, defect, right)

    async def wrong(*given: Any, **named: Any) -> Any:
        return await _wrong_async(defect, lambda: right(*given, **named))

    return wrong


#: A loop keeps no task alive; the process of a run ends soon enough.
_going_on: list[asyncio.Future[Any]] = []


class DefectError(Exception):
    """What a subject raises that fails for no reason."""


#: What a subject returns in place of what it raises.
_INSTEAD: dict[Defect, str | None] = {"swallow": None, "apologise": _APOLOGY}


def _again(defect: Defect) -> Iterator[bool]:
    """Yield, for each time that a subject tries again, whether it is the last one."""
    times = {"insist": 1, "never give up": _AGAIN_MAX}.get(defect, 0)
    yield from (number == times for number in range(1, times + 1))


def _crash(defect: Defect) -> None:
    if defect == "crash":
        # An accident is what an operation raises; a `raise` statement would be a decision.
        answer: dict[str, object] = {}
        answer["retry_after"]
    if defect == "garble":
        json.loads("<html>")


def _wrong_sync(defect: Defect, right: Callable[..., Any], *given: Any, **named: Any) -> Any:
    if defect == "skip":
        return None
    if defect == "again":
        right(*given, **named)
    try:
        value = right(*given, **named)
    except Exception:
        if defect in _INSTEAD:
            return _INSTEAD[defect]
        for last in _again(defect):
            try:
                return right(*given, **named)
            except Exception:
                if last:
                    raise
        _crash(defect)
        raise
    _crash(defect)
    if defect == "fail":
        raise DefectError("it failed for no reason")
    if defect == "go on":
        threading.Thread(target=lambda: right(*given, **named)).start()
    if defect == "call home":
        threading.Thread(target=_call_home).start()
    if defect in ("late", "never end"):
        time.sleep(_LATE_S if defect == "late" else _FOREVER_S)
    return value


async def _wrong_async(defect: Defect, right: Callable[[], Any]) -> Any:
    async def use() -> Any:
        value = right()
        return await value if asyncio.iscoroutine(value) else value

    if defect == "skip":
        return None
    if defect == "again":
        await use()
    try:
        value = await (_uncancelled(use()) if defect == "ignore cancel" else use())
    except Exception:
        if defect in _INSTEAD:
            return _INSTEAD[defect]
        for last in _again(defect):
            try:
                return await use()
            except Exception:
                if last:
                    raise
        _crash(defect)
        raise
    _crash(defect)
    if defect == "fail":
        raise DefectError("it failed for no reason")
    if defect == "go on":
        _going_on.append(asyncio.ensure_future(use()))
    if defect == "call home":
        _going_on.append(asyncio.ensure_future(_call_home_async()))
    if defect in ("late", "never end"):
        await asyncio.sleep(_LATE_S if defect == "late" else _FOREVER_S)
    return value


def _call_home() -> None:
    with contextlib.suppress(OSError):
        socket.create_connection(_HOME, timeout=1.0).close()


async def _call_home_async() -> None:
    with contextlib.suppress(OSError):
        (await asyncio.open_connection(*_HOME))[1].close()


async def _uncancelled(work: Any) -> Any:
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
    return task.result()


# ---------------------------------------------------------------------- waits


class OtherWaits(Struct, frozen=True):
    """A subject that waits in another way."""

    waits: Waits

    def __call__(self, binding: Binding) -> Binding:
        """Return the wrong subject."""
        right = binding.function

        @functools.wraps(right)
        def wrong(*given: Any, **named: Any) -> Any:
            _hurry(self.waits)
            return right(*given, **named)

        if binding.style == "async" and inspect.iscoroutinefunction(right):

            @functools.wraps(right)
            async def wrong_async(*given: Any, **named: Any) -> Any:
                _hurry(self.waits)
                return await right(*given, **named)

            return replace(binding, function=wrong_async)
        return replace(binding, function=wrong)


def _hurry(waits: Waits) -> None:
    """Change the sleeps of this run, once."""
    here = current()
    if here is None:
        return
    kernel = here[0]
    if "sleep" not in vars(kernel):
        right_sleep = kernel.sleep
        kernel.sleep = lambda delay_ns: right_sleep(_other_ns(waits, delay_ns))  # type: ignore[method-assign]
    try:
        loop: Any = asyncio.get_running_loop()
    except RuntimeError:
        return
    if "call_later" in vars(loop):
        return
    right_later = loop.call_later

    def call_later(delay: float, callback: Any, *given: Any, **named: Any) -> Any:
        if _is_sleep_of_the_subject(sys._getframe(1)):
            delay = _other_ns(waits, round(delay * 1e9)) / 1e9
        return right_later(delay, callback, *given, **named)

    loop.call_later = call_later


def _other_ns(waits: Waits, delay_ns: int) -> int:
    match waits:
        case "gives up":
            raise DefectError("it does not wait")
        case "+5s" | "+1h":
            return delay_ns + _LONGER_NS[waits]
        case _:
            return round(delay_ns * float(waits[1:]))


def _is_sleep_of_the_subject(frame: FrameType | None) -> bool:
    """Return whether a timer is set by `asyncio.sleep`, which no driver of a run awaits."""
    if frame is None or frame.f_code is not asyncio.sleep.__code__:
        return False
    caller = frame.f_back
    name = "" if caller is None else str(caller.f_globals.get("__name__", ""))
    return not name.startswith(("faultclock.run.", "faultclock.fakes.", "faultclock.kills."))
