"""A history: one trace, paired once. It knows no error model and judges nothing.

What happened is grouped here into what belongs together: calls with their attempts, executions of
tools, answers that ask for tools, requests to the person, operations of the store, visits of
stages. What an error model makes of that are folds over a history and a model (see `once`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from faultclock.model.scenario.scenario import RuntimeWorld
from faultclock.model.scenario.session_script import SessionScript
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.facts.pairing import with_tool_calls
from faultclock.oracle.facts.port_facts import (
    Prompt,
    StageVisit,
    StoreOperation,
    prompts_of,
    stage_visits_of,
    store_operations_of,
)
from faultclock.oracle.facts.turn_facts import (
    Answer,
    Execution,
    Life,
    ToolCall,
    answers_of,
    executions_of,
    lives_of,
)
from faultclock.oracle.wire.attempts import Call, Observation, observe
from faultclock.oracle.wire.timing import Timing, timing_of

MadeT = TypeVar("MadeT")
More = ParamSpec("More")


class History:
    """One trace, paired once.

    Attributes:
        recorded: the trace as it was written.
        trace: with the id of the model's tool call wherever the subject was given none.
        made: what folds have made of it; see `once`.
    """

    def __init__(self, trace: Trace) -> None:
        self.recorded = trace
        self.trace = with_tool_calls(trace)
        self.made: dict[tuple[object, ...], tuple[object, Any]] = {}

    def of(self, *kinds: str) -> list[TraceEvent]:
        """Return the events of these kinds, in order."""
        if len(kinds) == 1:
            return self._by_kind.get(kinds[0], [])
        found = [event for kind in dict.fromkeys(kinds) for event in self._by_kind.get(kind, ())]
        return sorted(found, key=lambda event: event.seq)

    @cached_property
    def _by_kind(self) -> dict[str, list[TraceEvent]]:
        found: dict[str, list[TraceEvent]] = {}
        for event in self.trace.events:
            found.setdefault(event.kind, []).append(event)
        return found

    # ------------------------------------------------------------------ what is paired

    @cached_property
    def observation(self) -> Observation:
        """All calls, and what belongs to none."""
        return observe(self.trace)

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the trace, in the order in which they began."""
        return self.observation.calls

    @cached_property
    def lives(self) -> tuple[Life, ...]:
        """The processes of the subject, in order."""
        return lives_of(self.trace)

    def life(self, number: int) -> Life | None:
        """Return a process of the subject by its number, None when there is none."""
        return next((item for item in self.lives if item.number == number), None)

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        """The executions of all tools, in the order in which they began."""
        return executions_of(self.trace)

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The provider's answers that ask for tools, in order, with what became of each call."""
        return answers_of(self.calls, self.executions)

    @property
    def tool_calls(self) -> Iterator[ToolCall]:
        """The tool calls of all answers."""
        return (item for answer in self.answers for item in answer.tool_calls)

    def asker_of(self, execution: Execution) -> ToolCall | None:
        """Return the tool call of the model that an execution is for; None where there is none."""
        return self._askers.get(execution.id)

    @cached_property
    def _askers(self) -> dict[str, ToolCall]:
        return {item.id: call for call in self.tool_calls for item in call.executions}

    @cached_property
    def prompts(self) -> tuple[Prompt, ...]:
        """The requests to the person, in the order in which they were shown."""
        return prompts_of(self.trace)

    @cached_property
    def store_operations(self) -> tuple[StoreOperation, ...]:
        """What was asked of the session store, in order."""
        return store_operations_of(self.trace)

    @cached_property
    def stage_visits(self) -> tuple[StageVisit, ...]:
        """The visits of stages, in order."""
        return stage_visits_of(self.trace)

    @cached_property
    def suppressed(self) -> frozenset[str]:
        """The calls that declare, with a reason, that they ignore an error on purpose."""
        return frozenset(
            str(event.call)
            for event in self.of("declared.event")
            if event.name == "SuppressedError" and (event.fields or {}).get("reason")
        )

    # ------------------------------------------------------------------ what was set up

    @cached_property
    def timing(self) -> Timing:
        """How exactly the times of the trace may be taken."""
        return timing_of(self.trace)

    @property
    def world(self) -> RuntimeWorld:
        """What the scenario put around a runtime; of any other role, nothing."""
        return self.trace.header.scenario.world

    @cached_property
    def tool_scripts(self) -> dict[str, ToolScript]:
        """The contracts of the scenario's tools, by name."""
        return {tool.name: tool for tool in self.world.tools}

    @cached_property
    def session(self) -> SessionScript:
        """How the runtime was set up."""
        return self.world.set_up

    @property
    def is_runtime(self) -> bool:
        """Whether the trace is one of whole turns."""
        return self.trace.header.scenario.role == "runtime"

    # ------------------------------------------------------------------ questions

    def call(self, id_: str | None) -> Call | None:
        """Return a call by its id, None when there is none."""
        return self._calls_by_id.get(id_ or "")

    @cached_property
    def _calls_by_id(self) -> dict[str, Call]:
        return {call.id: call for call in self.calls}

    def prompts_about(self, call: ToolCall) -> list[Prompt]:
        """Return the requests to the person about one tool call, and no later one with its id."""
        until = self.asked_again(call)
        return [
            prompt
            for prompt in self.prompts
            if (prompt.tool_call, prompt.life) == (call.id, call.life)
            and call.answer.seq < prompt.shown.seq < until
        ]

    def asked_again(self, call: ToolCall) -> int:
        """Return the `seq` from which the id of a tool call is that of a later one."""
        later = (
            other.answer.seq
            for other in self.tool_calls
            if other.id == call.id and other.answer.seq > call.answer.seq
        )
        return min(later, default=len(self.trace.events) + 1)

    def limit_ns(self, call: Call) -> int | None:
        """Return the virtual time at which a turn has used up its time; None without a limit."""
        limit = self.session.budgets.wall_time
        return None if limit is None or not call.is_turn else call.start.at_ns + limit


def aims_at(cancel: TraceEvent, work: Execution | Prompt) -> bool:
    """Return whether a cancel names no target, or the tool or the tool call of some work."""
    return cancel.target in (None, work.tool, work.tool_call)


def once(
    fold: Callable[Concatenate[History, More], MadeT],
) -> Callable[Concatenate[History, More], MadeT]:
    """Have a fold over a history made once for each history, and for each model it is given."""

    def made(history: History, /, *more: More.args, **named: More.kwargs) -> MadeT:
        key = (fold, *map(id, more))
        if key not in history.made:
            # What it was given is kept beside it, so that no other object gets its id.
            history.made[key] = (more, fold(history, *more, **named))
        found: MadeT = history.made[key][1]
        return found

    return wraps(fold)(made)
