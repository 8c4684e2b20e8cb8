"""The agenda of a run: what a runtime is still to be asked for, and what it is being asked.

It is plain data and goes from life to life: when the process of the subject is killed, it is all
that is known of where its program stood.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from faultclock.errors import InputError
from faultclock.model.scenario import Scenario, Task

__all__ = ["DOES", "Agenda", "Asking", "Do", "check_tasks"]

#: What a runtime is asked for. Only `start` is no task of any scenario.
Do = Literal["start", "turn", "ask", "close", "restart"]

#: What a task may ask a runtime for, as it is written.
DOES: dict[str, Do] = {
    "call": "turn",
    "turn": "turn",
    "ask": "ask",
    "close": "close",
    "restart": "restart",
}


def check_tasks(scenario: Scenario) -> None:
    """Check that each task asks for something that a runtime can be asked for.

    Raises:
        InputError: one does not.
    """
    for task in scenario.tasks:
        if task.do not in DOES:
            raise InputError(
                f"{scenario.id}: task {task.id!r} asks a runtime for {task.do!r}",
                hint=f"known: {', '.join(DOES)}",
            )
        if (task.do == "ask") != (task.question is not None):
            raise InputError(f"{scenario.id}: task {task.id!r}: `do: ask` needs a question")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One call of the runtime.

    Attributes:
        id: of the call, such as `ask/1`.
        task: None for the start, and for a close that the scenario does not name.
    """

    id: str
    do: Do
    task: Task | None = None

    @property
    def name(self) -> str:
        """The first part of its id."""
        return self.id.rpartition("/")[0]

    @property
    def number(self) -> int:
        """The last part of its id."""
        return int(self.id.rpartition("/")[2])


@dataclass(slots=True)
class Agenda:
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

    def next_asking(self, name: str, do: Do, task: Task | None = None) -> Asking:
        """Return the next asking of that name, and count it."""
        number = self.asked[name] = self.asked.get(name, 0) + 1
        return Asking(id=f"{name}/{number}", do=do, task=task)

    def begin(self, asking: Asking) -> None:
        """Note that a call begins now."""
        self.drop(asking)
        self.open[asking.id] = asking.name

    def drop(self, asking: Asking) -> None:
        """Note that an asking needs no call any more."""
        for queue in (self.todo, self.beside):
            if asking.name in queue:
                queue[asking.name] -= 1
                if queue[asking.name] == 0:
                    del queue[asking.name]

    def end(self, asking: Asking) -> None:
        """Note that a call is over."""
        self.open.pop(asking.id, None)

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
