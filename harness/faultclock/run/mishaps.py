"""Mishaps: kills the subject's process, and cancels its work, at the moments that rules name.

Crashes happen in the order of the scenario, one in each life; cancels whenever their moment
comes. What has happened is plain data, which goes from life to life.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct, field

from faultclock.model.scenario.mishap import CancelRule, CrashRule
from faultclock.model.scenario.scenario import Scenario
from faultclock.run.program import Program
from faultclock.run.triggers import Watch
from faultclock.sim.kernel.kernel import Kernel
from faultclock.sim.kernel.recorder import Recorder, WatchedRecorder


class MishapsState(Struct):
    """What has befallen the subject so far, over all lives. Plain data: it is pickled.

    Attributes:
        seen: rule id to the facts that matched its trigger.
        crashes: how many of the scenario's crashes have happened.
        due_ns: cancel rule id to the virtual time at which it is due, once its event happened.
        cancelled: cancel rules that were carried out, in order.
    """

    seen: dict[str, int] = field(default_factory=dict)
    crashes: int = 0
    due_ns: dict[str, int] = field(default_factory=dict)
    cancelled: dict[str, None] = field(default_factory=dict)


class Mishaps:
    """The mishaps of one life.

    Args:
        state: of the run; it is changed in place.
        kill: ends the process, and does not return. It is given the rule, and whether the process
            dies in the write that the rule names.
        cancel: carries a cancel out, from a callback of the world, if there is anything to cancel.
    """

    def __init__(
        self,
        scenario: Scenario,
        state: MishapsState,
        *,
        kill: Callable[[CrashRule, bool], None],
        cancel: Callable[[CancelRule], object],
    ) -> None:
        self._scenario = scenario
        self._state = state
        self._kill = kill
        self._cancel = cancel
        self._kernel: Kernel | None = None
        # Crashes come first: what was killed cannot be cancelled any more.
        self._watch = Watch(state.seen)
        for crash in scenario.crash_rules:
            if crash.on is not None:
                self._watch.add(crash.id, crash.on, partial(self._crash, crash))
        for rule in scenario.cancel_rules:
            if rule.when.on is not None:
                self._watch.add(rule.id, rule.when.on, partial(self._cancel_later, rule))

    def recorder(self, before: int) -> Recorder:
        """Return the recorder of this life; nothing looks at its facts unless a rule does.

        Args:
            before: facts of the run that were recorded in earlier lives.
        """
        return (
            WatchedRecorder(self._watch.look, before=before)
            if self._watch
            else Recorder(before=before)
        )

    def arm(self, kernel: Kernel, program: Program) -> None:
        """Set every clock, before the process starts. What should have come earlier never does."""
        self._kernel = kernel
        state = self._state
        crash = self._next_crash()
        if crash is not None and crash.at is not None and crash.at >= kernel.now_ns:
            kernel.call_at(crash.at, self._crash, crash)
        if crash is not None and crash.write is not None:
            program.arm_write(crash, partial(self._crash, crash, in_write=True))
        for rule in self._scenario.cancel_rules:
            due_ns = rule.when.at if rule.when.at is not None else state.due_ns.get(rule.id)
            if rule.id not in state.cancelled and due_ns is not None and due_ns >= kernel.now_ns:
                kernel.call_at(due_ns, self._cancel, rule)

    def seal(self, kernel: Kernel, program: Program) -> None:
        """Record every rule that was not met. Call it once, after the last life."""
        crashes = self._scenario.crash_rules[self._state.crashes :]
        unmet = [("crash", rule.id, program.may_miss(rule)) for rule in crashes]
        unmet += [
            ("cancel", rule.id, rule.optional)
            for rule in self._scenario.cancel_rules
            if rule.id not in self._state.cancelled
        ]
        for what, id_, optional in unmet:
            kernel.record(
                "harness",
                "fault.unmet",
                fault=id_,
                optional=optional,
                of=what,
                call=None,
                life=kernel.life,
            )

    def _next_crash(self) -> CrashRule | None:
        return next(iter(self._scenario.crash_rules[self._state.crashes :]), None)

    def _crash(self, rule: CrashRule, in_write: bool = False) -> None:
        kernel = self._kernel
        # A fact about the end of a process, or about its world, kills nothing.
        if kernel is None or kernel.ending is not None or rule is not self._next_crash():
            return
        self._state.crashes += 1
        self._kill(rule, in_write)

    def _cancel_later(self, rule: CancelRule) -> None:
        kernel = self._kernel
        if kernel is None or kernel.ending is not None:
            return
        if rule.when.delay:
            due_ns = self._state.due_ns[rule.id] = kernel.now_ns + rule.when.delay
            kernel.call_at(due_ns, self._cancel, rule)
        else:
            kernel.call_next(self._cancel, rule)
