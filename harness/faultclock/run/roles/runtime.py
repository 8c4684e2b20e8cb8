"""A runtime: a whole agent, with everything around it, over all its lives.

Start, then the tasks that are left, then close.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from faultclock.errors import InputError
from faultclock.fakes.ports.store import WriteCrash, WriteMoment
from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.mishap import CancelRule, CrashRule
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.task import Question, Task
from faultclock.run.agenda import Call
from faultclock.run.host import plain
from faultclock.run.program import (
    ENDS,
    Asked,
    Beside,
    Join,
    Program,
    Setting,
    Step,
    Until,
)
from faultclock.run.surroundings import Fakes, FakesState
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_reply
from faultclock.subjects.ports import InteractionAnswer

#: What a task may ask a runtime for, as it is written, and as a trace has it.
_DOES = {"call": "turn", "turn": "turn", "ask": "ask", "close": "close", "restart": "restart"}


class RuntimeProgram(Program):
    """A runtime and its fakes.

    Attributes:
        runtime: the object that is asked; None before it was made, and when it could not start.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(*setting.usual)
        state: FakesState = setting.kept
        self.runtime: Any = None
        binding = self.binding
        self._fakes = Fakes(
            self.scenario,
            setting.world,
            binding.style,
            state,
            setting.seed,
            # One that answers in code has its tools in the instructions.
            offers_tools=binding.own_tools is not None and not binding.answer_form,
        )
        resume = self.kernel.life > 1 or self.scenario.world.set_up.resume
        folder = setting.folder or Path()
        self._surroundings = self._fakes.surroundings(self.host, resume=resume, folder=folder)
        self._tasks = {task.id: task for task in self.scenario.tasks}

    @classmethod
    def check(cls, scenario: Scenario, binding: Binding) -> None:
        """Check that each task asks for something that a runtime can be asked for."""
        for task in scenario.tasks:
            if task.do not in _DOES:
                raise InputError(
                    f"{scenario.id}: task {task.id!r} asks a runtime for {task.do!r}",
                    hint=f"known: {', '.join(_DOES)}",
                )
            if (task.do == "ask") != (task.question is not None):
                raise InputError(f"{scenario.id}: task {task.id!r}: `do: ask` needs a question")

    @classmethod
    @contextmanager
    def keeping(cls, scenario: Scenario) -> Iterator[FakesState]:
        """Yield what the fakes remember."""
        yield FakesState.initial(scenario)

    # ------------------------------------------------------------------ a life

    def steps(self) -> Iterator[Step]:
        """Yield the start, the tasks that are left, and the close."""
        self._process_starts()
        start = self.agenda.call("start", "start")
        yield Asked((start,))
        if self.runtime is None:
            self._skip_all(f"{start.id} raised")
        else:
            yield Beside(tuple(self._starts()))
            yield from self._in_turn()
            if self.restarts:
                return
            yield Join()
            if self.scenario.tasks[-1].do not in ("close", "restart") and self._has("close"):
                yield Asked((self.agenda.call("close", "close"),))
        yield from self.settling()

    def _process_starts(self) -> None:
        life, resume = self.kernel.life, self._surroundings.resume
        if life == 1:
            self._record("run.started")
        self._fakes.begin_life()
        self._record("process.started", life=life, resume=resume, call=None)

    def _starts(self) -> Iterator[tuple[int, Callable[[], tuple[Call, ...]]]]:
        for id_ in self.agenda.beside:
            task = self._tasks[id_]
            yield task.at, partial(self._calls_beside, task)

    def _calls_beside(self, task: Task) -> tuple[Call, ...]:
        return self._calls(task, self.agenda.beside[task.id])

    def _in_turn(self) -> Iterator[Step]:
        while self.agenda.todo:
            task = self._tasks[next(iter(self.agenda.todo))]
            yield Until(task.at)
            calls = self._calls(task, self.agenda.todo[task.id])
            if task.do == "restart":
                for call in calls:
                    self.begin(call)
                    self.returned(call, None)
                self.restarts = True
                return
            yield Asked(calls)

    def _calls(self, task: Task, copies: int) -> tuple[Call, ...]:
        """Return the next calls of a task; none where the runtime has no method for it."""
        do = _DOES[task.do]
        calls = tuple(self.agenda.call(task.id, do, task) for _ in range(copies))
        if do in ("ask", "close") and not self._has(do):
            for call in calls:
                self.skip(call, f"the runtime has no {do}")
            return ()
        return calls

    def _has(self, name: str) -> bool:
        """Return whether the runtime can be asked for `name`."""
        try:
            return callable(getattr(self.runtime, name, None))
        except Exception:  # noqa: BLE001 - an attribute of the subject's may raise anything
            return False

    def _skip_all(self, why: str) -> None:
        left = {**self.agenda.todo, **self.agenda.beside}
        for id_, copies in left.items():
            task = self._tasks[id_]
            for _ in range(copies):
                self.skip(self.agenda.call(id_, _DOES[task.do], task), why)

    def arm_write(self, rule: CrashRule, kill: Callable[[], None]) -> None:
        """Have `kill` called when a share of the write that `rule` names is durable."""

        def on_write(moment: WriteMoment) -> WriteCrash | None:
            return WriteCrash(leaves=rule.leaves, kill=kill) if moment.n == rule.write else None

        self._fakes.store.on_write = on_write

    def end_life(self) -> None:
        """Record what the fakes say of a process that ends in order."""
        self._fakes.end_life()

    def seal(self) -> None:
        """Record the rules of the fakes that were never met."""
        self._fakes.seal()

    # ------------------------------------------------------------------ a call

    def begin(self, call: Call, /, **facts: Any) -> None:
        """Record that a call begins."""
        task = call.task
        if task is not None:
            facts["stream"] = task.stream
            facts["prompt"] = _prompt(call, task)
            if task.question is not None:
                facts.update(_question_facts(task.question))
        super().begin(call, **facts)

    def ask(self, call: Call) -> Generator[Callable[[], Any], Any, Any]:
        """Make the runtime and start it, or ask it for what the task says."""
        task = call.task
        match call.do:
            case "start":
                self.runtime = yield partial(self.binding.function, self._surroundings)
                if self.runtime is None:
                    raise TypeError("the bound function returned None instead of a runtime")
                if not self._has("start"):
                    return None
                return (yield lambda: self.runtime.start())
            case "turn":
                streams = call.of_task.stream and self._has("stream_turn")
                turn = self.runtime.stream_turn if streams else self.runtime.run_turn
                return (yield lambda: turn(call.of_task.prompt))
            case "ask":
                question = None if task is None else task.question
                assert question is not None, "the tasks were checked"
                deadline_s = None if question.deadline is None else question.deadline / SECOND_NS
                given = (question.kind, question.prompt, question.options, deadline_s)
                return (yield lambda: self.runtime.ask(*given))
            case _:
                return (yield lambda: self.runtime.close())

    def returned(self, call: Call, value: object, /, **facts: Any) -> None:
        """Record a call's good end."""
        facts |= describe_reply(value)
        if isinstance(value, InteractionAnswer):
            # Without the value: it may be a password.
            facts["answer"] = plain({"status": value.status, "reason": value.reason})
        super().returned(call, value, **facts)

    def failed(self, call: Call, error: BaseException, chain: list[dict[str, Any]]) -> None:
        """Forget a runtime that could not start."""
        if call.do == "start":
            self.runtime = None

    # ------------------------------------------------------------------ cancels

    def is_reached_by(self, rule: CancelRule) -> bool:
        """Return whether there is a runtime to ask."""
        return self.runtime is not None

    def cancel(self, rule: CancelRule) -> Iterator[Any]:
        """Ask the runtime to cancel, as often as the rule says; yield what it returns."""
        self._cancels(rule)
        if not self._has("cancel"):
            self._beside("cancel.unsupported", cancel=rule.id)
            return
        for number in range(1, rule.times + 1):
            self._requested(rule, number)
            try:
                value = self.runtime.cancel(rule.scope, rule.target)
            except ENDS:
                raise
            except BaseException as error:  # noqa: BLE001 - what a subject raises is data
                self.cancel_raised(rule, error)
            else:
                yield value


def _prompt(call: Call, task: Task) -> str:
    if call.do in ("close", "restart"):
        return ""
    return task.prompt if task.question is None else task.question.prompt


def _question_facts(question: Question) -> dict[str, Any]:
    return {"interaction_kind": question.kind, "deadline_ns": question.deadline}
