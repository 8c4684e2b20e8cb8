"""Amplification: what one failing thing may cost in requests, over all layers that retry.

Each layer multiplies: attempts at a provider, providers of a chain, attempts of a node or of a
stage. A layer that is not declared has one attempt, so a hidden one (such as the retries of an SDK
below those of a runner) shows in the number of requests that came for one answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import AmplificationRule
from faultclock.model.retry_policy import RetryPolicy
from faultclock.oracle.check import Verdicts, check, otherwise, verdict
from faultclock.oracle.facts.history import History
from faultclock.oracle.retries.plans import node_attempts, providers_of
from faultclock.oracle.retries.predict import request_ruling
from faultclock.oracle.wire.attempts import Call
from faultclock.oracle.wire.requests import Request
from faultclock.oracle.wire.signals import classify


@check(
    "amplification.requests",
    title="The number of requests stays within the layers",
    says="One answer takes at most as many requests as the declared layers multiply to.",
    unjudged="no request failed, so nothing was multiplied",
)
def requests(history: History, model: ErrorModel) -> Verdicts:
    """Judge the number of requests for each answer of which one failed."""
    rule = model.amplification
    if rule is None:
        yield otherwise("the document says nothing of retries in several layers")
        return
    for call in history.calls:
        for request in call.requests:
            if not any(attempt.failed for attempt in request.attempts):
                continue
            unmapped = _unmapped(model, request)
            if unmapped:
                yield otherwise(f"the document does not say what is to be done about {unmapped}")
                continue
            yield from _judge(history, model, rule, call, request)


def _unmapped(model: ErrorModel, request: Request) -> str:
    """Return a failure of `request` that the model says nothing of; empty where there is none."""
    for attempt in request.attempts:
        if attempt.signal is not None and classify(model, attempt.signal).disposition is None:
            return str(attempt.signal)
    return ""


def _judge(
    history: History, model: ErrorModel, rule: AmplificationRule, call: Call, request: Request
) -> Verdicts:
    factors = _factors(history, model, call, request)
    declared = {layer: factors[layer] for layer in rule.layers}
    most = prod(declared.values())
    count = len(request.attempts)
    product = " * ".join(f"{factor} ({layer})" for layer, factor in declared.items())
    yield verdict(
        (rule.requirement,),
        f"{count} requests" if count > most else "",
        call=call.id,
        expected=f"at most {most} requests for one answer: {product}",
        events=tuple(attempt.start.seq for attempt in request.attempts),
        hint="Does a layer below retry as well, such as the SDK's own client?",
    )


def _factors(history: History, model: ErrorModel, call: Call, request: Request) -> dict[str, int]:
    """Return how many attempts each layer has for `request`."""
    policies = _policies_met(history, model, request)
    entries = max((policy.attempts_max for policy in policies if _is_entrys(policy)), default=0)
    return {
        "chain": _of_chain(history, entries),
        "request": _of_request(model, [item for item in policies if not _is_entrys(item)]),
        "node": node_attempts(history.trace.header.scenario, request),
        "stage": _of_stage(history, call, request),
    }


def _is_entrys(policy: RetryPolicy) -> bool:
    return policy.attempts_from == "entry"


def _policies_met(history: History, model: ErrorModel, request: Request) -> list[RetryPolicy]:
    """Return the policies of the transport that the failures of `request` come under."""
    subject = history.trace.header.subject
    if subject.role == "provider_adapter" and model.adapter_retries == "forbidden":
        return []
    found: dict[str, RetryPolicy] = {}
    for attempt in request.attempts:
        if attempt.signal is not None:
            ruling = request_ruling(model, subject, classify(model, attempt.signal))
            if ruling is not None:
                found[ruling.policy.id] = ruling.policy
    return list(found.values())


def _of_chain(history: History, entries: int) -> int:
    """Return the attempts of all providers; one for each where the chain does not count them."""
    scenario = history.trace.header.scenario
    if not entries:
        return len(providers_of(scenario))
    first = scenario.world.attempts_per_provider or entries
    return first + sum(provider.attempts_max for provider in scenario.world.fallbacks)


def _of_request(model: ErrorModel, policies: Iterable[RetryPolicy]) -> int:
    """Return the attempts at one provider; failures may come under several policies."""
    counts = [policy.attempts_max for policy in policies]
    if model.mixed_failures == "per_call":
        return max(counts, default=1)
    return 1 + sum(count - 1 for count in counts)


def _of_stage(history: History, call: Call, request: Request) -> int:
    """Return the attempts of the stage in which `request` was made."""
    began = request.attempts[0].start.seq
    visit = next(
        (
            item
            for item in reversed(history.stage_visits)
            if item.call == call.id and item.tries and item.tries[0].begun.seq < began
        ),
        None,
    )
    stages = history.session.stages
    stage = None if visit is None else next((s for s in stages if s.id == visit.stage), None)
    return 1 if stage is None or stage.retry is None else stage.retry.attempts_max
