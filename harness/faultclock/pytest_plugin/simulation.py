"""`sim`: runs a person's own code in a simulated world, in this process, and says how it went.

In this process, so that closures, assertions and debuggers work as in any other test. The world
goes on where the last `run` ended: its clock, its trace, and what its providers remember.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, ParamSpec, Protocol, Self, TypeVar, overload

import pytest

from faultclock.model.duration import SECOND_NS
from faultclock.model.trace.trace import TraceEvent
from faultclock.run.process.no_exit import staying
from faultclock.run.variables import settle
from faultclock.sim.kernel.ending import Ending, Limits
from faultclock.sim.kernel.recorder import Recorder
from faultclock.sim.patches import installed
from faultclock.sim.world import World

P = ParamSpec("P")
T = TypeVar("T")

#: Real seconds after which a run that hangs in something real is ended.
_WALL_LIMIT_S = 60.0
_OURS = "faultclock."
_OVER = (
    "The connections of an earlier sim.run are over: make the client anew, or do all in one run."
)


class UnsimulatedError(pytest.fail.Exception):  # type: ignore[name-defined,misc]
    """The code reached for something real that cannot be simulated, so the test proves nothing.

    Like every failure of pytest's own it is no `Exception`: a test that expects any exception of
    its client does not take this for one.
    """


class StoppedError(pytest.fail.Exception):  # type: ignore[name-defined,misc]
    """The run did not come to its end, and was ended by force. It is no `Exception` either."""


class _HungError(BaseException):
    """The run hangs in something real: raised inside of it, past whoever catches Exception.

    Args:
        limit_s: real seconds that it had.
    """

    def __init__(self, limit_s: float) -> None:
        super().__init__()
        self.limit_s = limit_s


class Served(Protocol):
    """What stands in the simulated network."""

    def mount(self, world: World) -> None:
        """Stand in the world of one run."""
        ...


class Simulation:
    """A simulated clock, network and disk, and what happened on them.

    As a context manager it prepares this process and leaves it as it was. Outside of a test, and
    for each example of a property, `with Simulation(seed=n) as sim:` makes one by hand.

    Args:
        seed: of everything random in it, 0 to 2**32 - 1.
        wall_limit_s: real seconds after which a run that hangs in something real is ended.

    Attributes:
        seed: as given.
        now_ns: virtual time, in nanoseconds since the first run began.
    """

    def __init__(self, *, seed: int = 0, wall_limit_s: float = _WALL_LIMIT_S) -> None:
        self.seed = seed
        self.now_ns = 0
        self._wall_limit_s = wall_limit_s
        self._recorder = Recorder()
        self._served: list[Served] = []
        self._connections = 0
        self._runs = 0
        self._running = False
        self._unproved: str | None = None
        self._entered = ExitStack()

    def __enter__(self) -> Self:
        """Prepare this process: environment and patches."""
        self._entered.enter_context(_settled_environment())
        self._entered.enter_context(installed())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the process as it was."""
        self._entered.close()

    # ------------------------------------------------------------------ what a test does

    @overload
    def run(
        self, function: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs
    ) -> T: ...

    @overload
    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T: ...

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` in the world, and return what it returns.

        A coroutine function runs as `asyncio.run` would run it; any other may block, start
        threads, or call `asyncio.run` itself. What it raises is raised here.

        Raises:
            UnsimulatedError: it reached for something real, even if it went on afterwards.
            StoppedError: it waits for what never comes, or does not end.
        """
        __tracebackhide__ = True
        main = self._main(function, args, kwargs)
        world = World(
            seed=self.seed,
            limits=Limits(virtual_ns_max=self.now_ns + Limits().virtual_ns_max),
            recorder=self._recorder,
            start_ns=self.now_ns,
            connections=self._connections,
        )
        for served in self._served:
            served.mount(world)
        self._running = True
        self._runs += 1
        try:
            with staying(), _watched(world, self._wall_limit_s):
                ending = _ended(world, main)
        finally:
            self._running = False
            self.now_ns = world.kernel.now_ns
            self._connections = world.network.connections_made
        if ending.reason == "escape" or isinstance(ending.error, _HungError):
            self._unproved = "; ".join(dict.fromkeys(ending.detail)) or "it hung in something real"
        return _came_of(ending, again=self._runs > 1)

    def serve(self, provider: Served) -> None:
        """Let `provider` stand in the network of each run from now on."""
        self._served.append(provider)

    def check_simulated(self) -> None:
        """Fail the test if a run left the simulation, whoever caught what was raised then.

        Raises:
            pytest.fail.Exception: one did.
        """
        __tracebackhide__ = True
        if self._unproved is not None:
            pytest.fail(
                f"a run of this test was not simulated to its end, so it shows nothing:"
                f" {self._unproved}",
                pytrace=False,
            )

    # ------------------------------------------------------------------ what it can look at

    @property
    def elapsed_s(self) -> float:
        """Virtual seconds since the first run began."""
        return self.now_ns / SECOND_NS

    @property
    def trace(self) -> tuple[TraceEvent, ...]:
        """Everything that happened so far, in order."""
        return tuple(TraceEvent(*fact) for fact in self._recorder.events)

    def events(self, kind: str) -> tuple[TraceEvent, ...]:
        """Return what happened of one kind, such as `sleep`, `http.request` or `net.connect`."""
        return tuple(event for event in self.trace if event.kind == kind)

    def _main(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[[], Any]:
        if inspect.iscoroutine(function):
            function.close()
            raise TypeError("give sim.run the function, not what it returns: sim.run(main)")
        if not callable(function):
            raise TypeError(f"sim.run takes a function, not {function!r}")
        if self._running:
            raise RuntimeError("sim.run is called inside of sim.run")

        async def awaiting() -> Any:
            return await function(*args, **kwargs)

        def calling() -> Any:
            value = function(*args, **kwargs)
            # Of a lambda or a bound method nothing tells beforehand that it makes a coroutine.
            return asyncio.run(value) if inspect.iscoroutine(value) else value

        return awaiting if inspect.iscoroutinefunction(function) else calling


def _ended(world: World, main: Callable[[], Any]) -> Ending:
    try:
        return world.run(main)
    except _HungError as error:
        return Ending(reason="raised", error=error)


def _came_of(ending: Ending, *, again: bool) -> Any:
    """Return or raise what a run came to.

    Args:
        again: it was not the first.
    """
    __tracebackhide__ = True
    if ending.reason == "escape":
        told = "; ".join(dict.fromkeys(ending.detail))
        hint = f"\n  {_OVER}" if again else ""
        raise UnsimulatedError(f"{told}: what is real cannot be part of a simulation{hint}")
    if isinstance(ending.error, _HungError):
        where = _innermost(ending.error.__traceback__)
        raise StoppedError(
            f"no end after {ending.error.limit_s:g} s of real time: {where} waits for something"
            " real, such as a lock that was made before the simulation began"
        )
    if ending.reason == "raised":
        assert ending.error is not None, "what was raised is in the ending"
        # Where the person's own code begins: how it came there is nobody's business.
        raise ending.error.with_traceback(_own_part(ending.error.__traceback__))
    if ending.reason != "completed":
        raise StoppedError("\n  ".join((f"{ending.reason}:", *ending.detail)))
    return ending.value


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """Return `trace` from the first frame on that is not ours; all of it if every frame is."""
    part = trace
    while part is not None and _is_ours(part):
        part = part.tb_next
    return part or trace


def _innermost(trace: TracebackType | None) -> str:
    """Return `file:line` of the innermost frame that is not ours."""
    where = "it"
    while trace is not None:
        if not _is_ours(trace):
            where = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"  # noqa: PTH119 - a name
        trace = trace.tb_next
    return where


def _is_ours(trace: TracebackType) -> bool:
    name = str(trace.tb_frame.f_globals.get("__name__", ""))
    return name.startswith((_OURS, "asyncio."))


@contextmanager
def _settled_environment() -> Iterator[None]:
    """Have the environment that every run finds: no proxy, no real key, no other address."""
    before = dict(os.environ)
    settle(os.environ)
    settled = dict(os.environ)
    try:
        yield
    finally:
        for name in before.keys() | settled.keys():
            # What the test itself has changed since is its own.
            if os.environ.get(name) == settled.get(name):
                if name in before:
                    os.environ[name] = before[name]
                else:
                    os.environ.pop(name, None)


@contextmanager
def _watched(world: World, limit_s: float) -> Iterator[None]:
    """End a run that hangs in something real, where nobody else uses the alarm clock."""
    on_main = threading.current_thread() is threading.main_thread()
    if not on_main or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        yield
        return

    def hung(_number: int, _frame: object) -> None:
        error = _HungError(limit_s)
        world.kernel.end(Ending(reason="raised", error=error))
        raise error

    signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
