"""What a check is: a named pure function over one Case that returns an Outcome.

A check counts what it looked at, per requirement, and names each violation. Verdicts are made of
that in one place (`judge`): a check that looked at nothing never passes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from faultclock.model.error_model import ErrorModel
from faultclock.model.finding import OrderStep
from faultclock.model.session_script import SessionScript
from faultclock.model.tool_script import ToolScript
from faultclock.model.trace import Trace
from faultclock.oracle.attempts import Call, Observation, Request, observe
from faultclock.oracle.breaker_fold import Breakers, breakers_of
from faultclock.oracle.failure_nodes import NodeAct, node_acts_of
from faultclock.oracle.failures import Failure, failures_of
from faultclock.oracle.pairing import with_tool_calls
from faultclock.oracle.plans import Planner
from faultclock.oracle.port_facts import (
    Prompt,
    StageVisit,
    StoreOperation,
    prompts_of,
    stage_visits_of,
    store_operations_of,
)
from faultclock.oracle.predict import Step
from faultclock.oracle.turn_facts import (
    Answer,
    Execution,
    Life,
    ToolCall,
    answers_of,
    executions_of,
    lives_of,
)
from faultclock.oracle.visits import Parks, Visit, parks_of, visits_of
from faultclock.oracle.wall import Timing, timing_of

__all__ = ["Case", "Check", "Outcome", "Violation", "also", "case_of", "class_requirement"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One trace, read once, and the error model it is judged by.

    Attributes:
        trace: with the id of the model's tool call wherever none was handed on.
        recorded: as it was written.
    """

    model: ErrorModel
    trace: Trace
    recorded: Trace
    observation: Observation

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the trace, in the order in which they began."""
        return self.observation.calls

    @cached_property
    def timing(self) -> Timing:
        """How exactly the times of the trace may be taken."""
        return timing_of(self.trace)

    @cached_property
    def plans(self) -> tuple[tuple[Request, tuple[Step, ...]], ...]:
        """Each request of each call, with what had to happen after each of its attempts."""
        subject = self.trace.header.subject
        model = self.model
        if subject.role not in ("provider_adapter", "runtime"):
            # What a service's failure is for a tool; for any other role there are no classes.
            signals = model.tool_signals if subject.role == "tool" else ()
            model = model.model_copy(update={"signals": signals})
        planner = Planner(
            model=model,
            subject=subject,
            scenario=self.trace.header.scenario,
            breakers=self.breakers,
            timing=self.timing,
        )
        return tuple(planner.plans(self.calls))

    @cached_property
    def breakers(self) -> Breakers | None:
        """The circuit breakers of a runtime; None where the model has none."""
        rules = self.model.breaker
        if rules is None or not self.is_runtime:
            return None
        return breakers_of(self.model, rules, self.calls)

    @cached_property
    def visits(self) -> tuple[Visit, ...]:
        """The visits of all requests at the providers of the chain, in order."""
        return visits_of(self.calls, self.plans)

    @cached_property
    def parks(self) -> Parks:
        """When each provider was parked."""
        return parks_of(self.model.chain, self.visits)

    @cached_property
    def lives(self) -> tuple[Life, ...]:
        """The processes of the subject, in order."""
        return lives_of(self.trace)

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

    @cached_property
    def prompts(self) -> tuple[Prompt, ...]:
        """The requests to the person, in the order in which they were shown."""
        return prompts_of(self.trace)

    @cached_property
    def store_operations(self) -> tuple[StoreOperation, ...]:
        """What was asked of the session store, in order."""
        return store_operations_of(self.trace)

    def store_times(self, call: str | None) -> tuple[tuple[int, int], ...]:
        """Return from when to when a call waited for the store, in order, in nanoseconds."""
        return tuple(
            (item.asked.at_ns, item.answered.at_ns)
            for item in self.store_operations
            if item.call == call and item.answered is not None
        )

    @cached_property
    def stage_visits(self) -> tuple[StageVisit, ...]:
        """The visits of stages, in order."""
        return stage_visits_of(self.trace)

    @cached_property
    def node_acts(self) -> tuple[NodeAct, ...]:
        """The subject's acts for the nodes of the workflow, in order."""
        return node_acts_of(self)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """All failures, in the order in which they could be known."""
        return failures_of(self)

    @cached_property
    def tool_scripts(self) -> dict[str, ToolScript]:
        """The contracts of the scenario's tools, by name."""
        return {tool.name: tool for tool in self.trace.header.scenario.tools}

    @cached_property
    def session(self) -> SessionScript:
        """How the runtime was set up."""
        return self.trace.header.scenario.session or SessionScript()

    @property
    def is_runtime(self) -> bool:
        """Whether the trace is one of whole turns."""
        return self.trace.header.scenario.role == "runtime"

    def limit_ns(self, call: Call) -> int | None:
        """Return the virtual time at which a turn has used up its time; None without a limit."""
        limit = self.session.budgets.wall_time
        return None if limit is None or not call.is_turn else call.start.at_ns + limit

    def call(self, id_: str | None) -> Call | None:
        """Return a call by its id, None when there is none."""
        return self._calls_by_id.get(id_ or "")

    @cached_property
    def _calls_by_id(self) -> dict[str, Call]:
        return {call.id: call for call in self.calls}

    @cached_property
    def suppressed(self) -> frozenset[str]:
        """The calls that declare, with a reason, that they ignore an error on purpose."""
        return frozenset(
            str(event.payload.get("call"))
            for event in self.trace.of_kind("declared.event")
            if event.payload.get("name") == "SuppressedError"
            and (event.payload.get("fields") or {}).get("reason")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that is not as the error model asks.

    Attributes:
        requirement: id of the sentence that it breaks; None for a property of the evidence.
        events: `seq` of the events that prove it.
        inconclusive: whether it proves that the run shows nothing, rather than a fault.
        moot: whether it says nothing more of a run that fails by another check: a failure has shown
            what a run that left its script unserved would not.
        order: for a violated order, what was expected beside what was observed.
    """

    requirement: str | None
    expected: str
    observed: str
    events: tuple[int, ...] = ()
    call: str | None = None
    hint: str = ""
    inconclusive: bool = False
    moot: bool = False
    order: tuple[OrderStep, ...] = ()


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a check found.

    Attributes:
        judged: how many things it looked at, per requirement.
        violations: what it found.
        violated: the requirements that a violation exercises, beside the one that it cites: they
            are not shown to hold.
        reason: why it looked at nothing.
    """

    judged: Counter[str | None] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    violated: set[str | None] = field(default_factory=set)
    reason: str = ""

    def looked_at(self, *requirements: str | None) -> None:
        """Count one thing that was judged, for each requirement that it exercises."""
        self.judged.update(dict.fromkeys(requirements, 1))

    def violate(self, violation: Violation, *exercised: str | None) -> None:
        """Add a violation of something that exercised these requirements."""
        self.violations.append(violation)
        self.violated.update((violation.requirement, *exercised))


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check: its stable id, what it says in one sentence, and how it judges a case."""

    id: str
    title: str
    says: str
    run: Callable[[Case], Outcome]


def case_of(model: ErrorModel, trace: Trace) -> Case:
    """Return the case of `trace` under `model`."""
    paired = with_tool_calls(trace)
    return Case(model=model, trace=paired, recorded=trace, observation=observe(paired))


def also(model: ErrorModel, name: str) -> tuple[str, ...]:
    """Return the requirements that the model's `rules` give `name`, or a name below it."""
    return model.rules_below.get(name, ())


def class_requirement(model: ErrorModel, class_name: str) -> str | None:
    """Return the requirement of the class, None when the model has no such class."""
    return next((item.requirement for item in model.classes if item.id == class_name), None)
