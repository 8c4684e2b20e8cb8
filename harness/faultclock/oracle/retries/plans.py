"""The plans of a run: what had to happen after each attempt, over chains, redoes and breakers.

`predict` folds the model over the attempts of one request. Here is what lies around that: a node
that its author lets be done again begins its request anew, and a breaker that is open, or a
provider that is parked, takes a retry's place.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.scenario.scenario import Scenario
from faultclock.oracle.facts.history import History, once
from faultclock.oracle.retries.breaker_fold import breakers_in
from faultclock.oracle.retries.predict import Step, plan
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Request

#: A request of a call, with what had to happen after each of its attempts.
Plan = tuple[Request, tuple[Step, ...]]


def providers_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the providers of the chain in their order; the first one is empty."""
    return ("", *(provider.id for provider in scenario.world.fallbacks))


def node_attempts(scenario: Scenario, request: Request) -> int:
    """Return how often the node that made a request may be executed, in all."""
    name = next((attempt.node for attempt in request.attempts if attempt.node), None)
    nodes = scenario.world.nodes
    retry = next((node.retry for node in nodes if node.id == name), None)
    return 1 if retry is None else retry.attempts_max


@once
def plans_of(history: History, model: ErrorModel) -> tuple[Plan, ...]:
    """Return each request of each call, with what had to happen after each of its attempts."""
    header = history.trace.header
    signals = None
    if header.subject.role not in ("provider_adapter", "runtime"):
        # What a service's failure is for a tool; for any other role there are no classes.
        signals = model.tool_signals if header.subject.role == "tool" else ()
    own = model if signals is None else model.model_copy(update={"signals": signals})
    return tuple(
        (found, tuple(_excused(history, model, call, step) for step in steps))
        for call in history.calls
        for request in call.requests
        for found, steps in _plans(
            history, own, request, node_attempts(header.scenario, request) - 1
        )
    )


def _plans(history: History, model: ErrorModel, request: Request, redoes: int) -> Iterator[Plan]:
    """Yield a request with its steps, and apart from it what came after a redo of its node."""
    header = history.trace.header
    entries: dict[str, int | None] = {"": header.scenario.world.attempts_per_provider}
    entries |= {provider.id: provider.attempts_max for provider in header.scenario.world.fallbacks}
    steps = tuple(plan(model, header.subject, request, entries, history.timing))
    place = _place_of_redo(header.scenario, steps) if redoes > 0 else None
    if place is None:
        yield request, steps
        return
    before, anew = request.attempts[: place + 1], request.attempts[place + 1 :]
    first = replace(request, attempts=before, end=anew[0].start, outcome="given_up")
    yield from _plans(history, model, first, 0)
    rest = tuple(replace(item, number=number) for number, item in enumerate(anew, 1))
    yield from _plans(history, model, replace(request, attempts=rest), redoes - 1)


def _place_of_redo(scenario: Scenario, steps: tuple[Step, ...]) -> int | None:
    """Return the 0-based place of the attempt that a redo of the node followed."""
    order = providers_of(scenario)
    for index, step in enumerate(steps):
        back = step.failover is not None and (
            order.index(step.failover.provider) < order.index(step.attempt.provider)
        )
        seen = step.classification
        # It may be retried, and no policy of the transport's says how often.
        unruled = step.act == "unjudged" and seen is not None and seen.disposition == "retry"
        if (back or step.next is not None) and (step.act == "exhausted" or unruled):
            return index
    return None


def _excused(history: History, model: ErrorModel, call: Call, step: Step) -> Step:
    """Return the step, as one that is not judged where a retry was not to be had."""
    attempt, breakers = step.attempt, breakers_in(history, model)
    if step.act != "retry" or step.next is not None or attempt.known_ns is None:
        return step
    is_parked = model.chain is not None and str(step.classification) in model.chain.park
    is_shut = False
    if breakers is not None:
        due_ns = attempt.known_ns + (0 if step.wait is None else step.wait.interval.low_ns)
        seq = max(attempt.events) + 1
        is_shut = breakers.gate(attempt.provider, call.life, seq, due_ns) != "free"
    if is_shut or (is_parked and step.failover is not None):
        return replace(step, act="unjudged", wait=None)
    return step
