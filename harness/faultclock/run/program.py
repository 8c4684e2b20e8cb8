"""What a runtime is asked in one life of its process, and the facts about it.

Start, then the tasks that are left, then close. The order is said once, by `Program.steps`; how
a step is carried out, by a coroutine or by threads, is up to `turns`. What the runtime raises is
data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from faultclock.model.duration import SECOND_NS
from faultclock.model.mishap import CancelRule
from faultclock.model.scenario import Question, Scenario, Task
from faultclock.run.agenda import DOES, Agenda, Asking
from faultclock.run.calls import SETTLE_NS
from faultclock.run.host import plain
from faultclock.run.notes import note_raised
from faultclock.sim.escapes import SimEscape, SimKilled
from faultclock.sim.kernel import Kernel
from faultclock.subjects.binding import Binding
from faultclock.subjects.outcome import describe_exception, describe_reply
from faultclock.subjects.ports import InteractionAnswer, Surroundings

__all__ = ["ENDS", "Asked", "Beside", "Join", "Program", "Until"]

#: How the world ends code that waits: no outcome of a call.
ENDS = (SimEscape, SimKilled, GeneratorExit)


@dataclass(frozen=True, slots=True)
class Until:
    """Nothing is asked before a virtual time."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class Asked:
    """These calls are made at once, and all are over before the next step."""

    askings: tuple[Asking, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """From here on, the tasks that do not wait begin at their time."""


@dataclass(frozen=True, slots=True)
class Join:
    """All of those are over before the next step."""


Step = Until | Asked | Beside | Join


class Program:
    """The steps of one life, and what is recorded of them.

    Args:
        agenda: of the run; it is changed in place.
        begin_life: lets happen what happens around the process before it starts.

    Attributes:
        runtime: the object that is asked; None before it was made, and when it could not start.
        restarts: the process has ended because a task asked for a fresh one.
    """

    def __init__(
        self,
        kernel: Kernel,
        binding: Binding,
        scenario: Scenario,
        agenda: Agenda,
        surroundings: Surroundings,
        begin_life: Callable[[], None],
    ) -> None:
        self.kernel = kernel
        self.agenda = agenda
        self.runtime: Any = None
        self.restarts = False
        self._binding = binding
        self._scenario = scenario
        self._surroundings = surroundings
        self._begin_life = begin_life
        self._tasks = {task.id: task for task in scenario.tasks}

    # ------------------------------------------------------------------ the steps

    def steps(self) -> Iterator[Step]:
        """Yield what to do, in order; each step is over when the next one is asked for."""
        self._process_starts()
        start = self.agenda.next_asking("start", "start")
        yield Asked((start,))
        if self.runtime is None:
            self._skip_all(f"{start.id} raised")
        else:
            yield Beside()
            yield from self._in_turn()
            if self.restarts:
                return
            yield Join()
            if self._scenario.tasks[-1].do not in ("close", "restart") and self.has("close"):
                yield Asked((self.agenda.next_asking("close", "close"),))
        yield Until(self.kernel.now_ns + SETTLE_NS)

    def _in_turn(self) -> Iterator[Step]:
        while self.agenda.todo:
            task = self._tasks[next(iter(self.agenda.todo))]
            yield Until(task.at)
            askings = self.askings(task, self.agenda.todo[task.id])
            if task.do == "restart":
                for asking in askings:
                    self.begin(asking)
                    self.returned(asking, None)
                self.restarts = True
                return
            yield Asked(askings)

    def _process_starts(self) -> None:
        life, resume = self.kernel.life, self._surroundings.resume
        if life == 1:
            self.kernel.record("harness", "run.started")
        self._begin_life()
        self.kernel.record("harness", "process.started", life=life, resume=resume, call=None)

    def beside(self) -> tuple[Task, ...]:
        """Return the tasks that begin at their time, also while others run."""
        return tuple(self._tasks[id_] for id_ in self.agenda.beside)

    def askings(self, task: Task, copies: int) -> tuple[Asking, ...]:
        """Return the next askings of a task; none where the runtime has no method for it."""
        do = DOES[task.do]
        askings = tuple(self.agenda.next_asking(task.id, do, task) for _ in range(copies))
        if do in ("ask", "close") and not self.has(do):
            for asking in askings:
                self._skip(asking, f"the runtime has no {do}")
            return ()
        return askings

    def has(self, name: str) -> bool:
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
                self._skip(self.agenda.next_asking(id_, DOES[task.do], task), why)

    def _skip(self, asking: Asking, why: str) -> None:
        self.agenda.drop(asking)
        self._record("call.skipped", asking, task=asking.name, why=why)

    # ------------------------------------------------------------------ a call

    def make(self) -> Any:
        """Make the runtime; what is returned may have to be awaited first."""
        return self._binding.function(self._surroundings)

    def made(self, runtime: Any) -> None:
        """Take the runtime that was made.

        Raises:
            TypeError: it is none.
        """
        if runtime is None:
            raise TypeError("the bound function returned None instead of a runtime")
        self.runtime = runtime

    def ask(self, asking: Asking) -> Any:
        """Ask the runtime; what is returned may have to be awaited."""
        task = asking.task
        match asking.do:
            case "start":
                return self.runtime.start() if self.has("start") else None
            case "turn":
                assert task is not None, "a turn is a task's"
                return self.runtime.run_turn(task.prompt)
            case "ask":
                question = None if task is None else task.question
                assert question is not None, "the tasks were checked"
                deadline_s = None if question.deadline is None else question.deadline / SECOND_NS
                return self.runtime.ask(
                    question.kind, question.prompt, question.options, deadline_s
                )
            case _:
                return self.runtime.close()

    def begin(self, asking: Asking) -> None:
        """Record that a call begins."""
        task = asking.task
        self.agenda.begin(asking)
        self._record(
            "call.started",
            asking,
            task=asking.name,
            copy=asking.number,
            stream=task is not None and task.stream,
            prompt=_prompt(asking),
            **(_question_facts(task.question) if task is not None and task.question else {}),
        )

    def returned(self, asking: Asking, value: object) -> None:
        """Record a call's good end."""
        facts = describe_reply(value)
        if isinstance(value, InteractionAnswer):
            # Without the value: it may be a password.
            facts["answer"] = plain({"status": value.status, "reason": value.reason})
        self.agenda.end(asking)
        self._record("call.returned", asking, **facts)

    def raised(self, asking: Asking, error: BaseException) -> None:
        """Record what a call raised."""
        # The world ends a call that never did by closing its coroutine: that is no outcome.
        if issubclass(type(error), ENDS):
            raise error
        if asking.do == "start":
            self.runtime = None
        chain = describe_exception(error, self._binding.classify)
        self.agenda.end(asking)
        note_raised(asking.id, error, chain)
        self._record("call.raised", asking, chain=chain)

    def _record(self, kind: str, asking: Asking, **payload: Any) -> None:
        life = self.kernel.life
        self.kernel.record("harness", kind, call=asking.id, do=asking.do, life=life, **payload)

    # ------------------------------------------------------------------ cancels

    def cancels(self, rule: CancelRule) -> Iterator[Any]:
        """Ask the runtime to cancel, as often as the rule says; yield what it returns each time."""
        self._record_cancel("fault.fired", fault=rule.id, fault_kind="cancel", of="cancel")
        if not self.has("cancel"):
            self._record_cancel("cancel.unsupported", cancel=rule.id)
            return
        for number in range(1, rule.times + 1):
            self._record_cancel(
                "cancel.requested", cancel=rule.id, scope=rule.scope, target=rule.target, n=number
            )
            try:
                value = self.runtime.cancel(rule.scope, rule.target)
            except ENDS:
                raise
            except BaseException as error:  # noqa: BLE001 - what a subject raises is data
                self.cancel_raised(rule, error)
            else:
                yield value

    def cancel_raised(self, rule: CancelRule, error: BaseException) -> None:
        """Record what `cancel` raised."""
        chain = describe_exception(error, self._binding.classify)
        self._record_cancel("cancel.raised", cancel=rule.id, chain=chain)

    def _record_cancel(self, kind: str, **payload: Any) -> None:
        # It comes from elsewhere, so it belongs to no call.
        self.kernel.record("harness", kind, call=None, life=self.kernel.life, **payload)


def _prompt(asking: Asking) -> str:
    task = asking.task
    if task is None or asking.do in ("close", "restart"):
        return ""
    return task.prompt if task.question is None else task.question.prompt


def _question_facts(question: Question) -> dict[str, Any]:
    return {"interaction_kind": question.kind, "deadline_ns": question.deadline}
