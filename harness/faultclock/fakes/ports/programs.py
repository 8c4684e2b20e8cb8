"""Fake programs: they are started by the subject, write their lines in virtual time, and end.

One FakePrograms is all programs of one life of the subject. The subject starts them through
Python's own API; see `faultclock.sim.host.processes`. What outlives the process, the counts and the
rules met, is in a ProgramsState. What an execution does is `program_plan`'s business; every fact
about it is recorded here and nowhere else:

    state = ProgramsState()                                         # once per run
    programs = FakePrograms(scenario.programs, kernel, state, life)  # in every life
    programs.mount(world)     # before the subject runs; does nothing where there are none
    programs.end_life()       # once per life
    programs.seal()           # once, after the last life

A program reads nothing: what it does depends on its arguments and on how often it was started.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port
from faultclock.fakes.ports.program_plan import (
    ProgramCounts,
    ProgramPlan,
    counted,
    decide,
    fault_kind_of,
)
from faultclock.fakes.rules import RulesMet, seal
from faultclock.model.scenario.program_script import ProgramLine, ProgramRule, ProgramScript
from faultclock.model.secrets import without_secrets
from faultclock.sim.host.processes import PART, Child, Processes
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.kernel import Call, Kernel
from faultclock.sim.world import World

#: Longer texts of a program are cut in a trace.
_TEXT_MAX = 2_000


class ProgramsState(Struct):
    """What the programs remember over the lives of the subject. Plain data: it is pickled.

    Attributes:
        counts: executions so far.
        met: the rules that have fired.
    """

    counts: ProgramCounts = field(default_factory=ProgramCounts)
    met: RulesMet = field(default_factory=RulesMet)


class FakePrograms(Port):
    """All programs in one life of the subject.

    A rule fires when its execution begins: it makes its difference from then on, be it by its
    pace. A program that runs at the end of the life is left running, and dies with its world.

    Args:
        scripts: what the programs are and do.
        kernel: of the world of this life.
        state: shared by all lives of the run.
        life: 1-based.
    """

    def __init__(
        self, scripts: Sequence[ProgramScript], kernel: Kernel, state: ProgramsState, life: int = 1
    ) -> None:
        super().__init__(kernel, life, actor="program", met=state.met)
        self._scripts = {script.name: script for script in scripts}
        self._state = state
        self._running: dict[str, _Run] = {}

    def mount(self, world: World) -> None:
        """Let the subject start programs in `world`; without any, it stays refused."""
        if not self._scripts:
            return
        there: Processes | None = world.kernel.parts.get(PART)
        if there is None:
            Processes(world.kernel, self)
        else:
            there.hosts.append(self)

    def end_life(self) -> None:
        """Record what is still running, and let it stand still. Call it once per life."""
        for run in list(self._running.values()):
            run.leave()
        self._running.clear()

    def seal(self) -> None:
        """Record every fault that was never met. Call it once, after the last life."""
        for script in self._scripts.values():
            seal(
                self._kernel,
                [rule for rule in script.rules if rule.fault],
                self._state.met,
                actor="program",
                of=f"program {script.name}",
                call=None,
                life=self._life,
            )

    # ------------------------------------------------------------------ for the process table

    def has(self, program: str) -> bool:
        """Return whether a search for `program` finds it now.

        Where a rule says that it is missing, looking for it in vain is an execution.
        """
        script = self._scripts.get(program)
        if script is None:
            return False
        counts, plan = decide(script, self._state.counts, ())
        if not plan.outcome.missing:
            return True
        self._enter()
        self._state.counts = counts
        self._missing(program, (program,), plan)
        return False

    def start(self, program: str, argv: tuple[str, ...], child: Child) -> _Run | None:
        """Begin to execute it, or return None: there is no such program."""
        self._enter()
        script = self._scripts.get(program)
        if script is None:
            self._state.counts = counted(self._state.counts, program)
            self._missing(program, argv, None)
            return None
        self._state.counts, plan = decide(script, self._state.counts, argv[1:])
        if plan.outcome.missing:
            self._missing(program, argv, plan)
            return None
        run = _Run(self, program, plan, child)
        self._running[plan.run] = run
        self.record(
            "program.started",
            run.call,
            program=program,
            argv=plain(argv),
            run=plan.run,
            n=plan.number,
            means=plan.outcome.means,
        )
        self._fire_of(program, plan.rule, run.call, run=plan.run)
        run.go_on()
        return run

    # ------------------------------------------------------------------ for its executions

    @property
    def kernel(self) -> Kernel:
        """The kernel of the world of this life."""
        return self._kernel

    def ended(self, run: str) -> None:
        """Note that an execution has ended."""
        self._running.pop(run, None)

    def record(self, kind: str, call: str | None, /, **payload: Any) -> None:
        """Record a fact about a program."""
        self._record(kind, call, **payload)

    def _missing(self, program: str, argv: tuple[str, ...], plan: ProgramPlan | None) -> None:
        call = current_call()
        number = self._state.counts.executions[program]
        self.record("program.missing", call, program=plain(program), argv=plain(argv), n=number)
        self._fire_of(program, None if plan is None else plan.rule, call)

    def _fire_of(
        self, program: str, rule: ProgramRule | None, call: str | None, **payload: Any
    ) -> None:
        if rule is None or not rule.fault:
            return
        self._state.met.fire(
            self._kernel,
            rule,
            fault_kind_of(rule.then),
            actor="program",
            of=f"program {program}",
            **payload,
            call=call,
            life=self._life,
        )


class _Run:
    """One execution on its way."""

    def __init__(self, programs: FakePrograms, program: str, plan: ProgramPlan, child: Child):
        self.call = current_call()
        self._programs = programs
        self._program = program
        self._plan = plan
        self._child = child
        self._lines = iter(plan.outcome.lines)
        self._next: Call | None = None
        self._is_dying = False

    def go_on(self) -> None:
        """Schedule its next line, its end after the last one, or nothing if it hangs then."""
        outcome = self._plan.outcome
        line = next(self._lines, None)
        if line is not None:
            self._after(line.after, self._write, line)
        elif not outcome.hangs:
            number = signal.Signals[outcome.signal] if outcome.signal else None
            self._after(outcome.ends_after, self._end, number)

    def signalled(self, number: signal.Signals) -> None:
        """Record a signal of the subject's, which ends it unless it takes no notice."""
        self._programs.record(
            "program.signalled",
            self.call,
            run=self._plan.run,
            signal=number.name,
            by="subject",
        )
        survives = self._plan.outcome.ignores_sigterm and number != signal.SIGKILL
        if not (survives or self._is_dying):
            self._is_dying = True
            self._cancel()
            # It is dead when the world comes round, not before the sender has gone on.
            self._after(0, self._end, number)

    def leave(self) -> None:
        """Record that it was left running, and do nothing more."""
        self._cancel()
        self._programs.record(
            "program.left_running", self.call, run=self._plan.run, program=self._program
        )

    def _after(self, delay_ns: int, function: Any, *args: Any) -> None:
        self._next = self._programs.kernel.call_after(delay_ns, function, *args)

    def _cancel(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _write(self, line: ProgramLine) -> None:
        text = line.text + "\n" * line.newline
        self._programs.record(
            "program.wrote", self.call, run=self._plan.run, stream=line.stream, text=_shown(text)
        )
        self._child.write(line.stream, text.encode(errors="replace"))
        self.go_on()

    def _end(self, number: signal.Signals | None) -> None:
        outcome = self._plan.outcome
        self._programs.ended(self._plan.run)
        self._programs.record(
            "program.ended",
            self.call,
            run=self._plan.run,
            program=self._program,
            status=outcome.status if number is None else None,
            signal=None if number is None else number.name,
            means=outcome.means,
        )
        self._child.end(outcome.status if number is None else -number)


def _shown(text: str) -> str:
    clean = without_secrets(text)
    return clean if len(clean) <= _TEXT_MAX else f"{clean[: _TEXT_MAX - 1]}…"
