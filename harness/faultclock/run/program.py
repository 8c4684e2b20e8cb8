"""The program of one life: what a subject is asked, in which order, and the facts about it.

A role says what its subject is asked (`roles/`), once for both styles; `drive` carries it out with
a coroutine or with threads. What the subject raises is data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, ClassVar, Protocol

from msgspec import Struct

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.mishap import CancelRule, CrashRule
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.agenda import Agenda, Call
from faultclock.run.host import RecordingHost
from faultclock.run.notes.taking import note_raised
from faultclock.sim.host.disk_state import Leaves
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.escapes import SimEscape, SimKilled
from faultclock.sim.world import World
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception
from faultclock.subjects.ports import CancelSignal

#: How long the world goes on after the last call ended. A retry that a subject left running in
#: the background shows itself in this time; the longest default wait is 160 s.
SETTLE_NS = 600 * SECOND_NS
#: How far a timer that still waits then may lie ahead: the world goes on until it has rung.
_AHEAD_NS = 3_600 * SECOND_NS
#: How long it goes on after that, so that what the timer leads to has begun.
_RUNG_NS = SECOND_NS
#: How the world ends code that waits: no outcome of a call.
ENDS = (SimEscape, SimKilled, GeneratorExit)
#: What `call.returned` says of an answer that has no text.
NO_TEXT: dict[str, Any] = {"text": None, "text_sha256": None, "tool_calls": []}
#: Scopes of which one can be meant, by its name.
_NAMED = frozenset({"tool", "call"})


class Until(Struct, frozen=True):
    """Nothing is asked before a virtual time."""

    at_ns: int


class Asked(Struct, frozen=True):
    """These calls are made, each at its time, and all are over before the next step."""

    calls: tuple[Call, ...]


class Beside(Struct, frozen=True):
    """From here on these begin at their virtual times, also while others run.

    Attributes:
        starts: the time of each, and what says then which calls are made.
    """

    starts: tuple[tuple[int, Callable[[], tuple[Call, ...]]], ...]


class Join(Struct, frozen=True):
    """All of those are over before the next step."""


Step = Until | Asked | Beside | Join


class Clock(Protocol):
    """What a program needs of the world it is in: a kernel, or its stand-in in the real world."""

    life: int

    @property
    def now_ns(self) -> int:
        """Time since the run began."""
        ...

    def pause(self, delay_ns: int, /) -> object:
        """Have the calling thread wait."""
        ...

    def last_due_ns(self, until_ns: int, /) -> int | None:
        """Return the last time up to `until_ns` at which something waits to happen, if any."""
        ...

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        """Record a fact."""
        ...


class Setting(Struct, frozen=True, kw_only=True):
    """Where a life takes place.

    Attributes:
        seed: of the run, not of the life.
        kept: what outlives a process, beside the agenda; see `Program.keeping`.
        folder: the working directory, as the subject sees it; None for a session store.
        cancelled: ids of the cancel rules that were carried out so far.
    """

    scenario: Scenario
    binding: Binding
    seed: int
    world: World
    agenda: Agenda
    cancelled: dict[str, None]
    kept: Any
    folder: Path | None = None

    @property
    def usual(self) -> tuple[Clock, Binding, Scenario, Agenda, dict[str, None]]:
        """What every program is made of."""
        return self.world.kernel, self.binding, self.scenario, self.agenda, self.cancelled


class _Running(Struct, frozen=True, kw_only=True):
    call: str
    names: frozenset[str]
    signal: CancelSignal | None
    task: asyncio.Task[object] | None


class Program:
    """What all roles have in common: a call's facts, and how it is cancelled.

    A role overrides `steps` and `ask`, and of the rest what is another thing for it.

    Attributes:
        agenda: of the run; it is changed in place.
        cancelled: ids of the cancel rules that were carried out, over all lives.
        restarts: the process has ended because a task asked for a fresh one.
        names_cut_off: whether the facts about a crash name the call that it cut off.
        replies: whether what a call returns is its reply, to be judged whatever it is. Otherwise a
            blocking subject that returns a coroutine has done nothing, and fails.
    """

    names_cut_off: ClassVar[bool] = False
    replies: ClassVar[bool] = False

    def __init__(
        self,
        kernel: Clock,
        binding: Binding,
        scenario: Scenario,
        agenda: Agenda,
        cancelled: dict[str, None],
    ) -> None:
        self.kernel = kernel
        self.binding = binding
        self.scenario = scenario
        self.agenda = agenda
        self.cancelled = cancelled
        self.host = RecordingHost(kernel)
        self.restarts = False
        self._running: dict[str, _Running] = {}

    # ------------------------------------------------------------------ the run

    def settling(self, settle_ns: int = SETTLE_NS) -> Iterator[Until]:
        """Yield how long the world goes on: no longer than the scenario lets it.

        Each timer that still waits then rings once more, and no further one is waited for: of what
        is done again and again there has been enough.
        """
        limit_ns = self.scenario.limits.virtual_time
        yield Until(min(self.kernel.now_ns + settle_ns, limit_ns))
        last_ns = self.kernel.last_due_ns(self.kernel.now_ns + _AHEAD_NS)
        if last_ns is not None:
            yield Until(min(last_ns + _RUNG_NS, limit_ns))

    @classmethod
    def check(cls, scenario: Scenario, binding: Binding) -> None:
        """Check that each task asks for something that this role can be asked for.

        Raises:
            InputError: one does not.
        """

    @classmethod
    @contextmanager
    def keeping(cls, scenario: Scenario) -> Iterator[Any]:
        """Yield what outlives a process of the subject, beside the agenda: plain data."""
        yield None

    # ------------------------------------------------------------------ a life

    def steps(self) -> Iterator[Step]:
        """Yield what to do, in order; each step is over when the next one is asked for."""
        raise NotImplementedError

    def arm_write(self, rule: CrashRule, kill: Callable[[], None]) -> None:
        """Have `kill` called in the write that `rule` names."""

    def die(self, leaves: Leaves | None) -> None:
        """Let happen what the death of the process does to what outlives it.

        Args:
            leaves: how much of a write that it dies in; None: it dies elsewhere.
        """

    def end_life(self) -> None:
        """Record what is left unfinished when the process ends in order."""

    def seal(self) -> None:
        """Record every rule that was never met. Called once, after the last life."""

    def may_miss(self, rule: CrashRule) -> bool:
        """Return whether a crash that never came is no fault of the scenario."""
        return False

    # ------------------------------------------------------------------ a call

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Yield what to call, and get what came of it; return the answer.

        The driver calls the subject's code, and awaits what it returns where that has to be.
        """
        raise NotImplementedError

    def place(self, call: Call) -> dict[str, Any]:
        """Return what each fact about a call says of where it belongs."""
        return {"call": call.id, "do": call.do, "life": self.kernel.life}

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record that a call begins, on the task or thread that makes it."""
        self.agenda.begin(call)
        usual = {"task": call.name, "copy": call.number, "stream": False, "prompt": ""}
        self._record("call.started", **{**usual, **facts, **self.place(call)})

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record a call's good end."""
        self._over(call)
        self._record("call.returned", **self.place(call), **facts)

    def raised(self, call: Call, error: BaseException) -> None:
        """Record what a call raised.

        Raises:
            BaseException: it was raised by the end of the world, and is no outcome.
        """
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), ENDS):
            raise error
        self._over(call)
        chain = self.chain_of(call, error)
        self.failed(call, error, chain)
        note_raised(call.id, error, chain)
        self._record("call.raised", **self.place(call), chain=chain)

    def skip(self, call: Call, why: str, /, **facts: Any) -> None:
        """Record that a call is not made."""
        self.agenda.drop(call)
        self._record("call.skipped", task=call.name, why=why, **self.place(call), **facts)

    def chain_of(self, call: Call, error: BaseException) -> list[dict[str, Any]]:
        """Return the chain of what a call raised, outermost first."""
        return describe_exception(error, self.binding.classify)

    def failed(self, call: Call, error: BaseException, chain: list[dict[str, Any]]) -> None:
        """Record what else there is to say of a call that raised."""

    def _over(self, call: Call) -> None:
        self.agenda.end(call)
        self._running.pop(call.id, None)

    def _record(self, kind: str, **payload: Any) -> None:
        self.kernel.record("harness", kind, **payload)

    # ------------------------------------------------------------------ cancels

    def can_cancel(self, call: Call, *names: str, signal: CancelSignal | None = None) -> None:
        """Let cancel rules reach a call that begins, on the task or thread that makes it.

        Args:
            names: what a rule may call it, beside its id.
            signal: None where the subject has none, so that its task is all that can be cancelled.
        """
        task = asyncio.current_task() if self.binding.style == "async" else None
        self._running[call.id] = _Running(
            call=call.id, names=frozenset((call.id, *names)), signal=signal, task=task
        )

    def is_reached_by(self, rule: CancelRule) -> bool:
        """Return whether a rule would cancel anything now."""
        return bool(self._reached_by(rule))

    def _reached_by(self, rule: CancelRule) -> tuple[_Running, ...]:
        return tuple(
            item
            for item in self._running.values()
            if rule.scope not in _NAMED or rule.target is None or rule.target in item.names
        )

    def cancel(self, rule: CancelRule) -> Iterator[Any]:
        """Cancel as often as the rule says; yield what the subject returns each time.

        A cancel sets the signal of each call, where its subject was given one, and cancels the
        task that awaits it: a subject may listen to either.
        """
        hit = self._reached_by(rule)
        if not hit:
            return
        self._cancels(rule)
        for number in range(1, rule.times + 1):
            self._requested(rule, number, calls=[item.call for item in hit])
            for item in hit:
                copy_context().run(self._stop, item)
        yield from ()

    def _stop(self, item: _Running) -> None:
        # What its callbacks do is done for the call that is cancelled.
        CALL_ID.set(item.call)
        try:
            if item.signal is not None:
                item.signal.cancel()
        except Exception as error:  # noqa: BLE001 - a callback of the subject's: data
            self._beside("cancel.raised", cancel=item.call, chain=describe_exception(error))
        if item.task is not None and item.call in self._running:
            item.task.cancel()

    def cancel_raised(self, rule: CancelRule, error: BaseException) -> None:
        """Record what the subject raised when it was asked to cancel."""
        chain = describe_exception(error, self.binding.classify)
        self._beside("cancel.raised", cancel=rule.id, chain=chain)

    def _cancels(self, rule: CancelRule) -> None:
        self.cancelled[rule.id] = None
        self._beside("fault.fired", fault=rule.id, fault_kind="cancel", of="cancel")

    def _requested(self, rule: CancelRule, number: int, **facts: Any) -> None:
        self._beside(
            "cancel.requested",
            cancel=rule.id,
            scope=rule.scope,
            target=rule.target,
            n=number,
            **facts,
        )

    def _beside(self, kind: str, **payload: Any) -> None:
        # It comes from elsewhere, so it belongs to no call.
        self._record(kind, call=None, life=self.kernel.life, **payload)
