"""The agenda of a run: what a subject is still to be asked for, and what it is being asked.

It is plain data and goes from life to life: when the process of the subject is killed, it is all
that is known of where its program stood.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct, field

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.task import Task


class Call(Struct, frozen=True, kw_only=True):
    """One call of the subject.

    Attributes:
        id: such as `ask/1`: its name and its 1-based number among those of that name.
        do: what the subject is asked for.
        task: None for what no task of the scenario asks for, such as the start.
        arguments: what a store is asked with; None for every other role.
        at_ns: virtual time before which it does not begin.
        after: id of the task whose calls have to be over before it begins.
    """

    id: str
    do: str
    task: Task | None = None
    arguments: Any = None
    at_ns: int = 0
    after: str | None = None

    @property
    def name(self) -> str:
        """The first part of its id."""
        return self.id.rpartition("/")[0]

    @property
    def number(self) -> int:
        """The last part of its id."""
        return int(self.id.rpartition("/")[2])

    @property
    def of_task(self) -> Task:
        """The task that asks for it, of a call that only a task asks for."""
        assert self.task is not None, "such a call is a task's"
        return self.task


class Agenda(Struct):
    """What is still to be asked, and what is being asked. Plain data: it is pickled.

    Attributes:
        todo: task id to copies, of the tasks that run one after another, the next one first.
        beside: the same, of those that begin at their time, also while others run.
        asked: name to how often it was asked for so far.
        open: id of each call that has begun and not ended, to its name.
    """

    todo: dict[str, int]
    beside: dict[str, int]
    asked: dict[str, int] = field(default_factory=dict)
    open: dict[str, str] = field(default_factory=dict)

    @classmethod
    def initial(cls, scenario: Scenario) -> Agenda:
        """Return the agenda before the first life."""
        return cls(
            todo={task.id: task.copies for task in scenario.tasks if task.waits},
            beside={task.id: task.copies for task in scenario.tasks if not task.waits},
        )

    def call(self, name: str, do: str, task: Task | None = None, **more: Any) -> Call:
        """Return the next call of that name, and count it.

        Args:
            more: other attributes of the Call.
        """
        number = self.asked[name] = self.asked.get(name, 0) + 1
        return Call(id=f"{name}/{number}", do=do, task=task, **more)

    def begin(self, call: Call) -> None:
        """Note that a call begins now."""
        self.drop(call)
        self.open[call.id] = call.name

    def drop(self, call: Call) -> None:
        """Note that a call need not be made any more."""
        for queue in (self.todo, self.beside):
            if call.name in queue:
                queue[call.name] -= 1
                if queue[call.name] == 0:
                    del queue[call.name]

    def end(self, call: Call) -> None:
        """Note that a call is over."""
        self.open.pop(call.id, None)

    def cut_off(self, scenario: Scenario, *, again: bool) -> tuple[str, ...]:
        """Forget the open calls, whose process is gone, and return their ids.

        Args:
            again: ask for their tasks once more, before all that is left.
        """
        calls = tuple(self.open)
        cut = Counter(self.open.values())
        self.open.clear()
        if again:
            for task in reversed(scenario.tasks):
                if cut[task.id] and task.waits:
                    left = self.todo.pop(task.id, 0)
                    self.todo = {task.id: left + cut[task.id], **self.todo}
                elif cut[task.id]:
                    self.beside[task.id] = self.beside.get(task.id, 0) + cut[task.id]
        return calls
