"""The kernel: simulated threads and loops take turns on one queue, one at a time.

A simulated thread is a real thread that runs only while it holds the baton. A thread that
blocks does not wait: it steps the world itself until something wakes it, so code on a single
thread never switches. What is simulated here is time and order; the network, clocks and
entropy stand on it. It knows no protocol.

Rules: nothing may block inside an event callback; a wake-up goes through the queue, never
straight to the waiter; the end of a run is sticky, whatever a subject catches.
"""

from __future__ import annotations

import _thread
import logging
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from harness.errors import InternalError
from harness.sim.env import URGENT, Process, SimEnvironment
from harness.sim.escapes import SimEscape, SimKilled, refuse
from harness.sim.recorder import Recorder
from harness.sim.waits import describe_waits

if TYPE_CHECKING:
    import asyncio

    from harness.sim.loop import SimLoop

__all__ = [
    "TIMED_OUT",
    "Actor",
    "Call",
    "Ending",
    "Kernel",
    "LoopHandle",
    "Limits",
    "Wake",
    "current",
]

_allocate_lock = _thread.allocate_lock
_get_ident = _thread.get_ident
_start_new_thread = _thread.start_new_thread


#: Reads of clocks at one instant that are free. A client reads a few per request.
BUSY_READS = 10_000


class _TimedOut:
    def __repr__(self) -> str:
        return "TIMED_OUT"


#: What `park` returns when its deadline came first.
TIMED_OUT: Final = _TimedOut()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a run is ended by force."""

    virtual_ns_max: int = 86_400 * 1_000_000_000
    events_max: int = 1_000_000
    events_per_instant_max: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended.

    Attributes:
        reason: `raised` when the main function itself raised `error`.
        detail: what each thread and task waited for, when something hung; or what escaped.
        value: what the main function returned, when completed.
    """

    reason: Literal[
        "completed",
        "deadlock",
        "livelock",
        "virtual_time_limit",
        "event_limit",
        "escape",
        "raised",
    ]
    detail: tuple[str, ...] = ()
    value: Any = None
    error: BaseException | None = None


class Actor:
    """A simulated thread. It runs only while it holds the baton, which is its lock."""

    __slots__ = (
        "dead", "error", "ident", "in_loop", "joiners", "lock", "name", "parked", "woken",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = _allocate_lock()
        self.lock.acquire()
        self.ident = 0
        self.woken = False
        self.dead = False
        self.in_loop: SimLoop | None = None
        self.error: BaseException | None = None
        self.parked: Wake | None = None
        self.joiners: list[Wake] = []


class Wake:
    """One wait of one actor: fired once, through the queue."""

    __slots__ = ("actor", "delivered", "done", "reason", "value")

    def __init__(self, actor: Actor, reason: str) -> None:
        self.actor = actor
        self.reason = reason
        self.done = False
        self.delivered = False
        self.value: Any = None


class Call:
    """A bare callback on the queue; it must not block."""

    __slots__ = ("_cancelled", "args", "fn")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fn = fn
        self.args = args
        self._cancelled = False

    def cancel(self) -> None:
        """Do not run it; a call that ran already is not affected."""
        self._cancelled = True


class LoopHandle:
    """Mixed into the handles of a simulated loop, so that the dispatcher knows them."""

    __slots__ = ()

    if TYPE_CHECKING:
        _loop: SimLoop
        _cancelled: bool

        def _run(self) -> None: ...


#: Thread ident to kernel and actor, for the threads that are simulated right now.
_BY_IDENT: dict[int, tuple[Kernel, Actor]] = {}


def current() -> tuple[Kernel, Actor] | None:
    """Return the kernel and actor of the calling thread; None when it is not simulated."""
    return _BY_IDENT.get(_get_ident())


class Kernel:
    """One world's time and order.

    Args:
        seed: of whatever the world draws itself.
        limits: where a run is ended by force.
    """

    def __init__(self, *, seed: int = 0, limits: Limits | None = None) -> None:
        self.env = SimEnvironment()
        self.seed = seed
        self.limits = limits if limits is not None else Limits()
        self.recorder = Recorder(lambda: self.env._now)
        self.record = self.recorder.record
        self.actors: list[Actor] = []
        self.loops: list[SimLoop] = []
        self.leaks = 0
        #: Counts of what the subject touched, for the last event of a trace.
        self.touched: dict[str, int] = {}
        #: What the subject draws from the "system": apart from the seeded module `random`.
        self.entropy = random.Random(f"entropy-{seed}")
        self.in_event = False
        self.closing = False
        self._ended: Ending | None = None
        self._instant_ns = -1
        self._instant_events = 0
        self._events = 0
        self._read_ns = -1
        self._reads = 0

    # ------------------------------------------------------------------ time and queue

    @property
    def now_ns(self) -> int:
        """Virtual time in nanoseconds since the start."""
        return self.env._now

    def call_after(self, delay_ns: int, fn: Callable[..., Any], *args: Any) -> Call:
        """Run `fn(*args)` after `delay_ns`; at once, in order, when that is not positive."""
        call = Call(fn, args)
        if delay_ns <= 0:
            self.env.schedule_now(call)
        else:
            self.env.schedule_at(call, self.env._now + delay_ns)
        return call

    def call_at(self, at_ns: int, fn: Callable[..., Any], *args: Any) -> Call:
        """Run `fn(*args)` at `at_ns`; at once, in order, when that is not in the future."""
        call = Call(fn, args)
        self.env.schedule_at(call, at_ns)
        return call

    def process(self, generator: Generator[Any, Any, Any]) -> Process:
        """Start a SimPy process on the same queue."""
        return self.env.process(generator)

    # ------------------------------------------------------------------ blocking

    def waiter(self, reason: str) -> Wake:
        """Return a Wake for the calling thread; `reason` is shown when it never wakes.

        Raises:
            InternalError: the calling thread is not simulated by this kernel.
        """
        return Wake(self._me(), reason)

    def fire(self, wake: Wake, value: Any = True) -> None:
        """Wake a waiter, through the queue; a second time does nothing."""
        if not wake.done:
            wake.done = True
            wake.value = value
            self.env.schedule_now(wake)

    def park(self, wake: Wake, timeout_ns: int | None = None) -> Any:
        """Block the calling thread until `wake` fires; return its value or TIMED_OUT.

        Raises:
            SimKilled: the run is over.
            SimEscape: blocking inside an event callback.
        """
        if self.closing or self._ended is not None:
            raise SimKilled("the run is over")
        if self.in_event:
            refuse("blocking inside an event callback")
        if wake.delivered:
            return wake.value
        expiry = None if timeout_ns is None else self.call_after(timeout_ns, self._expire, wake)
        self._block(wake)
        if expiry is not None:
            expiry.cancel()
        return wake.value

    def pause(self, delay_ns: int, reason: str = "sleep") -> None:
        """Block the calling thread for `delay_ns`, recording nothing."""
        wake = self.waiter(reason)
        if delay_ns <= 0:
            self.fire(wake)
            self.park(wake)
        else:
            self.park(wake, delay_ns)

    def _expire(self, wake: Wake) -> None:
        self.fire(wake, TIMED_OUT)

    def _block(self, wake: Wake) -> None:
        actor = wake.actor
        in_loop, actor.in_loop, actor.parked = actor.in_loop, None, wake
        try:
            self._dispatch(actor, None)
        finally:
            actor.in_loop, actor.parked = in_loop, None
        self._raise_pending(actor)

    @staticmethod
    def _raise_pending(actor: Actor) -> None:
        if actor.error is not None:
            error, actor.error = actor.error, None
            raise error

    def _me(self) -> Actor:
        here = _BY_IDENT.get(_get_ident())
        if here is None or here[0] is not self:
            raise InternalError("an object of a simulated world is used outside of its run")
        return here[1]

    # ------------------------------------------------------------------ the dispatcher

    def run_loop(self, loop: SimLoop) -> None:
        """Step the world on behalf of a running loop until that loop is stopping."""
        actor = self._me()
        if self._ended is not None:
            raise SimKilled("the run is over")
        self._dispatch(actor, loop)
        self._raise_pending(actor)

    def _dispatch(self, me: Actor | None, loop: SimLoop | None) -> None:
        """Step the world on this thread until `me` is woken or `loop` is stopping.

        A dying thread steps with `me` None, until it can give the baton away.
        """
        take, env = self.env.take, self.env
        while True:
            if me is not None and me.error is not None:
                me.woken = False
                return
            if loop is not None:
                if loop._stopping:
                    return
                if loop.backlog:
                    handle = loop.backlog.popleft()
                    if not handle._cancelled:
                        handle._run()
                    continue
            elif me is not None and me.woken:
                me.woken = False
                return
            event = take()
            if event is None:
                if self._stop("deadlock", me):
                    return
                continue
            if env._now != self._instant_ns:
                self._instant_ns = env._now
                self._instant_events = 0
                if env._now > self.limits.virtual_ns_max and self._stop("virtual_time_limit", me):
                    return
            self._instant_events += 1
            self._events += 1
            if self._over_limit() and self._stop(self._over_limit(), me):
                return
            if isinstance(event, LoopHandle):
                target = event._loop
                if target is loop:
                    if not event._cancelled:
                        event._run()
                    continue
                target.backlog.append(event)
                other = target.actor
                if other is None or other is me or other.in_loop is not target:
                    continue
                if self._hand_over(me, other):
                    return
            elif type(event) is Wake:
                other = event.actor
                event.delivered = True
                if other.dead or other.parked is not event:
                    continue
                other.woken = True
                if other is not me and self._hand_over(me, other):
                    return
            else:
                self._run_event(event)

    def _over_limit(self) -> Any:
        if self._instant_events > self.limits.events_per_instant_max:
            return "livelock"
        if self._events > self.limits.events_max:
            return "event_limit"
        return None

    def _run_event(self, event: Any) -> None:
        self.in_event = True
        try:
            if type(event) is Call:
                if not event._cancelled:
                    event.fn(*event.args)
            else:
                self.env.fire(event)
        except BaseException as error:  # noqa: BLE001 - the main thread reports it
            self._fail(error)
        finally:
            self.in_event = False

    def _fail(self, error: BaseException) -> None:
        main = self.actors[0]
        if main.error is None:
            main.error = error
        self._wake_main()

    def _wake_main(self) -> None:
        main = self.actors[0]
        if main.parked is not None:
            main.woken = True
        wake = main.parked if main.parked is not None else Wake(main, "")
        self.env.schedule(wake, URGENT)

    def _hand_over(self, me: Actor | None, other: Actor) -> bool:
        """Give the baton to `other`; return True when there is nobody to take it back."""
        other.lock.release()
        if me is None:
            return True
        me.lock.acquire()
        return False

    def _stop(self, reason: Any, me: Actor | None) -> bool:
        """End the run; return True when the calling thread must leave the dispatcher."""
        if self._ended is None:
            self._ended = Ending(reason=reason, detail=describe_waits(self))
        main = self.actors[0]
        main.error = SimKilled(reason)
        if me is main:
            return True
        return self._hand_over(me, main)

    # ------------------------------------------------------------------ threads

    def start_thread(self, name: str, body: Callable[[], None]) -> Actor:
        """Start a simulated thread that runs `body`; it begins after what is due now."""
        actor = Actor(name)
        self.actors.append(actor)
        registered = _allocate_lock()
        registered.acquire()
        _start_new_thread(self._thread_main, (actor, body, registered))
        # A real wait of some microseconds, for the ident; the thread itself runs only later.
        registered.acquire()
        first = Wake(actor, "its start")
        actor.parked = first
        self.fire(first)
        return actor

    def _thread_main(
        self, actor: Actor, body: Callable[[], None], registered: _thread.LockType
    ) -> None:
        actor.ident = _get_ident()
        _BY_IDENT[actor.ident] = (self, actor)
        registered.release()
        actor.lock.acquire()
        actor.woken, actor.parked = False, None
        try:
            if actor.error is None:
                body()
        except SimKilled:
            pass
        except BaseException as error:  # noqa: BLE001 - an escape or our bug: main reports it
            self._fail(error)
        finally:
            actor.dead = True
            for wake in actor.joiners:
                self.fire(wake)
            del _BY_IDENT[actor.ident]
        if self.closing:
            self.actors[0].lock.release()
        else:
            self._dispatch(None, None)

    # ------------------------------------------------------------------ a whole run

    def run(self, main: Callable[[], Any]) -> Ending:
        """Run `main` as the first simulated thread, on the calling thread, and tear down."""
        if current() is not None:
            raise InternalError("a world cannot run inside another one")
        actor = Actor("main")
        actor.ident = _get_ident()
        self.actors.append(actor)
        _BY_IDENT[actor.ident] = (self, actor)
        try:
            try:
                value = main()
                ending = Ending(reason="completed", value=value)
            except SimEscape as error:
                ending = Ending(reason="escape", detail=(str(error),), error=error)
            except BaseException as error:  # noqa: BLE001 - data for whoever judges the run
                ending = Ending(reason="raised", error=error)
            return self._ended if self._ended is not None else ending
        finally:
            self._close(actor)
            del _BY_IDENT[actor.ident]

    def _close(self, main: Actor) -> None:
        """End every thread that is left; each gets SimKilled where it is parked."""
        self.closing = True
        # An executor's worker reports whatever ends it as critical; this end is ours.
        executors = logging.getLogger("concurrent.futures")
        silent, executors.disabled = executors.disabled, True
        for actor in self.actors[1:]:
            while not actor.dead:
                actor.error = SimKilled("the run is over")
                actor.woken = True
                actor.lock.release()
                main.lock.acquire()
        executors.disabled = silent
        for loop in self.loops:
            loop.dispose()

    def leak(self, what: str, site: str) -> None:
        """Record that the subject reached the real world. It stays, whatever the subject does."""
        self.leaks += 1
        self.record("harness", "leak", what=what, site=site)

    def count(self, what: str) -> None:
        """Count that the subject touched `what`."""
        self.touched[what] = self.touched.get(what, 0) + 1

    def clock_read(self, name: str) -> None:
        """Count that the subject read a clock; a busy-wait is charged so that it ends.

        Ordinary reads are free. After BUSY_READS reads at one instant each further read takes a
        microsecond, in which the rest of the world goes on.
        """
        self.count(name)
        if self.env._now != self._read_ns:
            if self._reads <= BUSY_READS:
                self._reads = 0
            self._read_ns = self.env._now
        self._reads += 1
        if self._reads > BUSY_READS and not self.in_event and not self.closing:
            self.pause(1_000, "a clock (busy waiting)")

    def adopt(self, loop: SimLoop) -> None:
        """Remember a loop of this world, for reports and for its end."""
        self.loops.append(loop)

    def tasks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of all loops that have not ended, in the order they were made."""
        return [task for loop in self.loops for task in loop.pending_tasks()]

