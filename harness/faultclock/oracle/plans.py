"""The plans of a case: what had to happen after each attempt, over chains, redoes and breakers.

`predict` folds the model over the attempts of one request. Here is what lies around that: a node
that its author lets be done again begins its request anew, and a breaker that is open, or a
provider that is parked, takes a retry's place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from faultclock.model.error_model import ErrorModel
from faultclock.model.scenario import Scenario
from faultclock.model.trace import SubjectInfo
from faultclock.oracle.attempts import Call
from faultclock.oracle.breaker_fold import Breakers, breakers_in
from faultclock.oracle.history import History, once
from faultclock.oracle.predict import Step, plan
from faultclock.oracle.requests import Request
from faultclock.oracle.wall import VIRTUAL, Timing

__all__ = ["Planner", "providers_of"]


def providers_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the providers of the chain in their order; the first one is empty."""
    return ("", *(provider.id for provider in scenario.fallbacks))


@once
def plans_of(history: History, model: ErrorModel) -> tuple[tuple[Request, tuple[Step, ...]], ...]:
    """Return each request of each call, with what had to happen after each of its attempts."""
    subject, breakers = history.trace.header.subject, breakers_in(history, model)
    if subject.role not in ("provider_adapter", "runtime"):
        # What a service's failure is for a tool; for any other role there are no classes.
        signals = model.tool_signals if subject.role == "tool" else ()
        model = model.model_copy(update={"signals": signals})
    planner = Planner(
        model=model,
        subject=subject,
        scenario=history.trace.header.scenario,
        breakers=breakers,
        timing=history.timing,
    )
    return tuple(planner.plans(history.calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class Planner:
    """Plans requests by one model, in one scenario.

    Attributes:
        model: with the signals that are for the role of the subject.
        breakers: None where the model has no breakers.
        timing: how exactly the trace has times.
    """

    model: ErrorModel
    subject: SubjectInfo
    scenario: Scenario
    breakers: Breakers | None
    timing: Timing = VIRTUAL

    def plans(self, calls: tuple[Call, ...]) -> Iterator[tuple[Request, tuple[Step, ...]]]:
        """Yield each request with its steps, in order."""
        for call in calls:
            for request in call.requests:
                yield from self._plans(call, request, self._redoes(request))

    def _plans(
        self, call: Call, request: Request, redoes: int
    ) -> Iterator[tuple[Request, tuple[Step, ...]]]:
        steps = plan(self.model, self.subject, request, self._entries(), self.timing)
        place = self._place_of_redo(steps) if redoes else None
        if place is None:
            yield request, tuple(self._excused(call, step) for step in steps)
            return
        attempts = request.attempts
        anew = attempts[place + 1 :]
        first = replace(
            request, attempts=attempts[: place + 1], end=anew[0].start, outcome="given_up"
        )
        yield from self._plans(call, first, 0)
        rest = tuple(replace(item, number=number) for number, item in enumerate(anew, 1))
        yield from self._plans(call, replace(request, attempts=rest), redoes - 1)

    def _entries(self) -> Mapping[str, int | None]:
        fallbacks = {provider.id: provider.attempts_max for provider in self.scenario.fallbacks}
        return {"": self.scenario.attempts_per_provider, **fallbacks}

    def _redoes(self, request: Request) -> int:
        """Return how often the request's node may be done again."""
        workflow = self.scenario.workflow
        name = next((item.node for item in request.attempts if item.node), None)
        nodes = () if workflow is None else workflow.nodes
        node = next((item for item in nodes if item.id == name), None)
        return 0 if node is None or node.retry is None else node.retry.attempts_max - 1

    def _place_of_redo(self, steps: tuple[Step, ...]) -> int | None:
        """Return the 0-based place of the attempt that a redo of the node followed."""
        order = providers_of(self.scenario)
        for index, step in enumerate(steps):
            back = step.failover is not None and (
                order.index(step.failover.provider) < order.index(step.attempt.provider)
            )
            if (back or step.next is not None) and _is_used_up(step):
                return index
        return None

    def _excused(self, call: Call, step: Step) -> Step:
        """Return the step, as one that is not judged where a retry was not to be had."""
        if step.act != "retry" or step.next is not None or step.attempt.known_ns is None:
            return step
        parked = self.model.chain is not None and str(step.classification) in self.model.chain.park
        if (parked and step.failover is not None) or self._is_shut(call, step):
            return replace(step, act="unjudged", wait=None)
        return step

    def _is_shut(self, call: Call, step: Step) -> bool:
        attempt, wait = step.attempt, step.wait
        if self.breakers is None or attempt.known_ns is None:
            return False
        due_ns = attempt.known_ns + (0 if wait is None else wait.interval.low_ns)
        seq = max(attempt.events) + 1
        return self.breakers.gate(attempt.provider, call.life, seq, due_ns) != "free"


def _is_used_up(step: Step) -> bool:
    if step.act == "exhausted":
        return True
    seen = step.classification
    # It may be retried, and no policy of the transport's says how often.
    return step.act == "unjudged" and seen is not None and seen.disposition == "retry"
