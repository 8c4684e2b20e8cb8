"""The dispatcher: whoever blocks steps the world until its own wait is over.

All simulated threads and event loops of one run live on one queue. Exactly one thread runs at any
time: the one that holds the baton. A thread that blocks does not hand it away at once; it steps the
queue itself ("migrating stepper") and hands over only when it meets something that another must do.

The kernel knows no network, no HTTP and no asyncio beyond what a handle is.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, NoReturn

from faultclock.errors import InternalError
from faultclock.model.trace.trace import WALL_EPOCH_NS
from faultclock.sim.kernel.actors import SIMULATED, TIMED_OUT, Actor, Deadline, Wake, current
from faultclock.sim.kernel.clock import FOREVER_NS, SECOND_NS
from faultclock.sim.kernel.context import current_call, outside_calls
from faultclock.sim.kernel.ending import Ending, EndingReason, Limits
from faultclock.sim.kernel.env import Call, UrgentMark, run_callbacks
from faultclock.sim.kernel.escapes import SimEscape, SimKilled
from faultclock.sim.kernel.handles import SimHandle, SimTimerHandle, report
from faultclock.sim.kernel.recorder import Recorder
from faultclock.sim.kernel.scheduler import Scheduler
from faultclock.sim.kernel.waits import SHOWN_NS, Watcher, describe_waits, outwards

if TYPE_CHECKING:
    from faultclock.sim.kernel.loop import KernelLoop
    from faultclock.sim.kernel.order import Order

__all__ = ["TIMED_OUT", "Call", "Ending", "EndingReason", "Kernel", "Limits", "Wake", "current"]

_frame = sys._getframe
#: How often a thread may catch the end of the run before it is left behind, parked for ever.
_KILLS_MAX = 100
#: Real seconds between two looks at who has the baton, after a person's interrupt.
_INTERRUPT_POLL_S = 0.05


class Kernel(Scheduler):
    """Virtual time, simulated threads, the queue and its limits, for one run.

    Args:
        recorder: where facts go; one of its own is made when none is given.
        seed: of everything random in the run.
        limits: where the run is ended by force.
        epoch_ns: wall-clock time of virtual time 0.
        life: 1-based number of the subject's process in this run.
        start_ns: virtual time at which that process starts.
        order: holds what is due and says what comes next; None is first in, first out.

    Attributes:
        actors: simulated threads in the order of their start; the first is the main one.
        explored: whether the order of what is due is explored or played.
        loops: open event loops in the order of their creation.
        loops_made: how many there were so far.
        parts: what other parts of the world keep here, by name; it lives as long as the kernel.
        ending: set as soon as the run is over; from then on every wait raises SimKilled.
        in_event: a callback of the world itself is running.
        at_end: called after the run, last added first.
        switches: how often the baton was handed over.
        watcher: is shown each wait that has ended, and each hang; it must not record.
    """

    def __init__(
        self,
        recorder: Recorder | None = None,
        seed: int = 0,
        limits: Limits | None = None,
        *,
        epoch_ns: int = WALL_EPOCH_NS,
        life: int = 1,
        start_ns: int = 0,
        order: Order | None = None,
    ) -> None:
        super().__init__(recorder, seed, epoch_ns, life=life, start_ns=start_ns, ready=order)
        self.explored = order is not None
        self.limits = limits or Limits()
        self.actors: list[Actor] = []
        self.loops: dict[KernelLoop, None] = {}
        self.loops_made = 0
        self.parts: dict[str, Any] = {}
        self.ending: Ending | None = None
        self.in_event = False
        self.at_end: list[Callable[[], None]] = []
        self.switches = 0
        self.watcher: Watcher | None = None
        self._holder: Actor | None = None
        self._leaver: Actor | None = None
        self._events = 0
        self._instant_ns = 0
        self._instant_events = 0
        self._context = Context()

    # ------------------------------------------------------------------ waiting

    def waiter(self, reason: str) -> Wake:
        """Return a fresh wait of the calling simulated thread, to be parked on.

        Args:
            reason: what a hang's report says that the thread waits for.
        """
        return Wake(self._here(), reason)

    def fire(self, wake: Wake, value: object = True) -> None:
        """End a wait, through the queue; nothing happens if it is over already."""
        if wake.done or self.ending is not None:
            return
        wake.done = True
        wake.value = value
        self.env.ready.append(wake)

    def park(self, wake: Wake, timeout_ns: int | None = None) -> Any:
        """Block the calling simulated thread until `wake` is fired or its deadline comes.

        Args:
            timeout_ns: from now; None or FOREVER_NS and more wait for ever.

        Returns:
            The value it was fired with, or TIMED_OUT.

        Raises:
            SimKilled: the run is over.
        """
        if wake.spent:
            return wake.value
        deadline = None
        if timeout_ns is not None and timeout_ns < FOREVER_NS and not wake.done:
            if timeout_ns <= 0:
                wake.done = True
                return TIMED_OUT
            deadline = Deadline(wake)
            self.env.schedule_at(deadline, self.env._now + timeout_ns)
        from_ns = self.env._now
        try:
            self._block(wake)
        finally:
            if deadline is not None:
                deadline._cancelled = True
        if wake.value is TIMED_OUT:
            self._show_wait(from_ns)
        return wake.value

    def pause(self, delay_ns: int, reason: str = "a delay") -> None:
        """Block the calling simulated thread for `delay_ns`; 0 lets the others run.

        Raises:
            SimKilled: the run is over.
        """
        wake = Wake(self._here(), reason)
        wake.done = True
        if delay_ns < FOREVER_NS:
            self.env.schedule_at(wake, self.env._now + delay_ns)
        from_ns = self.env._now
        self._block(wake)
        self._show_wait(from_ns)

    def _show_wait(self, from_ns: int) -> None:
        if self.watcher is not None and self.env._now - from_ns >= SHOWN_NS:
            self.watcher.waited(from_ns, outwards(_frame(1)), current_call())

    def sleep(self, delay_ns: int) -> None:
        """Do what a subject's `time.sleep` does: record it and block."""
        self.touch("sleep")
        self.record("subject", "sleep", delay_ns=delay_ns, call=current_call())
        self.pause(delay_ns, "time.sleep")

    def _here(self) -> Actor:
        here = current()
        if here is None or here[0] is not self:
            raise InternalError("this world is not the one of the calling thread")
        return here[1]

    def _block(self, wake: Wake) -> None:
        if self.ending is not None:
            self._kill(wake.actor)
        if self.in_event:
            raise InternalError(f"a callback of the world tried to block: {wake.reason}")
        me = wake.actor
        me.wake = wake
        loop = me.loop
        if loop is None:
            self._dispatch(me, None)
            return
        # Blocking code inside a coroutine: the loop stands still, its callbacks pile up.
        me.loop = loop.runner = None
        try:
            self._dispatch(me, None)
        finally:
            me.loop = loop
            loop.runner = me
            loop.flush_backlog()
            # The outer stepper counts for itself and cannot tell how often the clock moved here.
            self._instant_ns = -1

    # ------------------------------------------------------------------ the dispatcher

    def step_loop(self, loop: KernelLoop) -> None:
        """Step the world on the calling thread until `loop` is told to stop."""
        me = self._here()
        if self.in_event:
            raise InternalError("a callback of the world tried to run an event loop")
        self._dispatch(me, loop)

    def _dispatch(self, me: Actor | None, loop: KernelLoop | None) -> None:
        """Run events until `me` is woken or `loop` stops; a dying thread passes neither.

        Callbacks run right here, and the range counts; the totals get that when this returns or
        hands the baton over. A call or an attribute more for each event costs several per cent.
        """
        env = self.env
        ready, advance = env.ready, env.advance
        popleft, until_ns = ready.popleft, self.limits.virtual_ns_max
        while True:
            if self.ending is not None:
                return self._leave(me)
            base = count = self._events
            target: Actor | None = None
            try:
                for count in range(base + 1, self._budget_end() + 1):
                    if ready:
                        event = popleft()
                    elif advance(until_ns):
                        event = popleft()
                        self._instant_ns = env._now
                        self._instant_events = count
                    else:
                        self._nothing_due()
                        break
                    kind = event.__class__
                    if kind is SimHandle or kind is SimTimerHandle:
                        if event._cancelled:
                            continue
                        owner = event._loop
                        if owner is loop:
                            if kind is SimTimerHandle and event._begun is not None:
                                event.show_wait()
                            try:
                                event._context.run(event._callback, *event._args)
                            except BaseException as error:  # noqa: BLE001 - asyncio's own rule
                                report(event, error)
                            if loop._stopping:
                                return None
                        elif owner.runner is None:
                            owner.backlog.append(event)
                        else:
                            env.put_ahead(event)
                            target = owner.runner
                            break
                    elif kind is Wake:
                        actor = event.actor
                        if actor.wake is not event:
                            event.spent = True
                            continue
                        actor.wake = None
                        if actor is me:
                            return None
                        actor.woken = True
                        target = actor
                        break
                    elif not event._cancelled and not self._own_event(event, kind):
                        break
            finally:
                self._events += count - base
            if target is not None:
                if me is None:
                    self._hand_to(target)
                    return None
                self._switch(me, target)
                if me.woken:
                    me.woken = False
                    return None
                if loop is not None and loop._stopping:
                    return None

    def _budget_end(self) -> int:
        """Return the number of the last event before a limit must be looked at again."""
        if self._instant_ns != self.env._now:
            self._instant_ns = self.env._now
            self._instant_events = self._events
        limits = self.limits
        end = min(limits.events_max, self._instant_events + limits.events_per_instant_max)
        if end <= self._events:
            if self._events >= limits.events_max:
                self._hang("event_limit", f"{limits.events_max} events happened")
            else:
                count = limits.events_per_instant_max
                self._hang("livelock", f"{count} events happened without the clock moving")
            return self._events
        return end

    def _nothing_due(self) -> None:
        if self.env.has_future:
            limit_s = self.limits.virtual_ns_max / SECOND_NS
            self._hang("virtual_time_limit", f"virtual time reached {limit_s:g} s")
        else:
            self._hang("deadlock", "nothing is left that could wake anybody")

    def _own_event(self, event: Any, kind: type) -> bool:
        """Run an event that belongs to no loop or thread; return False when the run is over."""
        if kind is Deadline:
            wake = event.wake
            if not wake.done:
                wake.done = True
                wake.value = TIMED_OUT
                self.env.put_ahead(wake)
            return True
        self.in_event = True
        try:
            # An empty context of its own: the world's reactions must not carry the call id of
            # whichever thread happens to step the queue.
            if kind is Call:
                self._context.run(event.function, *event.args)
            else:
                event = self.env.take_urgent() if kind is UrgentMark else event
                self._context.run(run_callbacks, event)
        except BaseException as error:  # noqa: BLE001 - must not surface in the subject
            self.end(Ending(reason="raised", error=error))
            return False
        finally:
            self.in_event = False
        return self.ending is None

    def _hand_to(self, target: Actor) -> None:
        """Let `target` run; the caller must stop running at once."""
        self._holder = target
        target.lock.release()

    def take(self, me: Actor) -> None:
        """Wait for the baton, and for a thread that has handed it over for the last time."""
        me.lock.acquire()
        leaver, self._leaver = self._leaver, None
        if leaver is not None and not leaver.is_gone():
            self.leak(f"thread {leaver.name!r}, which does not end", "unknown:0")

    def _switch(self, me: Actor, target: Actor) -> None:
        """Hand the baton to `target` and wait until it comes back."""
        self.switches += 1
        self._hand_to(target)
        try:
            self.take(me)
        except KeyboardInterrupt as error:
            # Only the process's main thread gets here. It must have the baton before it may
            # unwind, and nothing tells whether the interrupt came before or just after it.
            self.end(Ending(reason="raised", error=error))
            while self._holder is not me:
                me.lock.acquire(timeout=_INTERRUPT_POLL_S)
            me.lock.acquire(timeout=_INTERRUPT_POLL_S)
        if self.ending is not None:
            self._kill(me)

    # ------------------------------------------------------------------ the end

    def end(self, ending: Ending) -> None:
        """End the run; the first ending counts."""
        if self.ending is None:
            self.ending = ending
            # A task keeps what it raises to itself, so the next event stops the dispatcher.
            self.call_next(lambda: None)

    def crash(self) -> NoReturn:
        """Kill the simulated process right here: nothing of it is recorded from now on.

        Raises:
            SimKilled: always. Code that catches it can neither wait nor reach the world any more.
        """
        self.end(Ending(reason="crashed"))
        self.quiet = True
        raise SimKilled("the process was killed")

    def _hang(self, reason: EndingReason, why: str) -> None:
        self.end(Ending(reason=reason, detail=(why, *describe_waits(self))))
        if self.watcher is not None:
            self.watcher.hangs()

    def _leave(self, me: Actor | None) -> None:
        """Give the baton to the main thread, which ends the run."""
        main = self.actors[0]
        if me is None:
            self._hand_to(main)
        elif me is main:
            self._kill(me)
        else:
            self._switch(me, main)

    def _kill(self, me: Actor) -> None:
        """Raise the end of the run in the calling thread.

        Raises:
            SimKilled: always, but for a thread that has caught it too often: that stays here.
        """
        self.quiet = True
        me.kills += 1
        if me.kills > _KILLS_MAX and me is not self.actors[0]:
            me.forget()
            self._hand_to(self.actors[0])
            while True:
                me.lock.acquire()
        raise SimKilled("the run is over")

    def new_actor(self, name: str) -> Actor:
        """Register a simulated thread.

        Raises:
            SimKilled: the run is over.
        """
        if self.ending is not None:
            raise SimKilled("the run is over")
        actor = Actor(name, len(self.actors))
        self.actors.append(actor)
        return actor

    def begin(self, actor: Actor) -> None:
        """Schedule a registered thread's first turn."""
        wake = Wake(actor, "its first turn")
        wake.done = True
        actor.wake = wake
        self.env.ready.append(wake)

    def finish(self, actor: Actor) -> None:
        """Note that `actor` has ended and pass the baton on. Called last on its thread."""
        actor.dead = True
        for wake in actor.joiners:
            self.fire(wake)
        actor.joiners.clear()
        self._leaver = actor
        if self.ending is not None:
            self._hand_to(self.actors[0])
        else:
            self._dispatch(None, None)

    def run(self, main: Callable[[], object]) -> Ending:
        """Run `main` as the main simulated thread, on the calling thread, once.

        Raises:
            InternalError: the kernel has run, or the calling thread is simulated already.
            KeyboardInterrupt: a person interrupted the run.
        """
        if self.actors or current() is not None:
            raise InternalError("a world runs once, and never inside another")
        actor = self.new_actor("main")
        actor.ident = get_ident()
        SIMULATED[actor.ident] = (self, actor)
        try:
            self.end(self._outcome(main))
        finally:
            self.quiet = True
            try:
                self._tear_down(actor)
            finally:
                del SIMULATED[actor.ident]
                actor.dead = True
                self.quiet = False
        ending = self.ending
        assert ending is not None
        if isinstance(ending.error, KeyboardInterrupt):
            raise ending.error
        if self.escapes and ending.reason in ("completed", "raised"):
            ending = self.ending = Ending(
                reason="escape",
                detail=tuple(self.escapes),
                value=ending.value,
                error=ending.error,
            )
        return ending

    def _outcome(self, main: Callable[[], object]) -> Ending:
        try:
            # In a context of its own: variables that the subject sets end with the run.
            return Ending(reason="completed", value=copy_context().run(outside_calls, main))
        except SimKilled as error:
            return self.ending or Ending(reason="raised", error=error)
        except SimEscape as error:
            return Ending(reason="escape", detail=tuple(self.escapes), error=error)
        except BaseException as error:  # noqa: BLE001 - what a subject raises is data
            return Ending(reason="raised", error=error)

    def _tear_down(self, main: Actor) -> None:
        for actor in self.actors[1:]:
            while not actor.dead:
                self._hand_to(actor)
                self.take(main)
        for loop in list(self.loops):
            loop.discard()
        self.loops.clear()
        for restore in reversed(self.at_end):
            restore()
        self.at_end.clear()
        self.env.clear()
