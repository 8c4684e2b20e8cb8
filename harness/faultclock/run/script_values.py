"""Scripts of a scenario as the values that a runtime is given: durations in seconds, nothing else.

Scripts know no port, and the ports know no script. Each function here makes one of the other.
"""

from __future__ import annotations

from faultclock.model.duration import SECOND_NS
from faultclock.model.scenario.provider_script import FallbackProvider
from faultclock.model.scenario.session_script import Budgets, StageScript
from faultclock.model.scenario.tool_script import ToolRetry, ToolScript
from faultclock.model.scenario.workflow_script import NodeRetry, NodeScript
from faultclock.subjects.ports import (
    Limits,
    Node,
    NodeRetryRule,
    ProviderTarget,
    Stage,
    ToolContract,
    ToolRetryRule,
)


def contract_of(script: ToolScript) -> ToolContract:
    """Return what a scripted tool declares of itself."""
    return ToolContract(
        name=script.name,
        description=script.description,
        input_schema=script.input_schema,
        output_schema=script.output_schema,
        gated=script.gated,
        destructive=script.destructive,
        timeout_s=script.timeout / SECOND_NS,
        retry=None if script.retry is None else _tool_retry(script.retry),
        agent=script.agent,
        required=script.required,
        idempotent=script.idempotent,
    )


def stage_of(script: StageScript) -> Stage:
    """Return a scripted stage as a runtime sees it."""
    retry = script.retry
    backoff = None if retry is None else retry.backoff
    return Stage(
        id=script.id,
        body=script.body,
        allowed_tools=script.allowed_tools,
        turn_cap=script.turn_cap,
        attempts_max=1 if retry is None else retry.attempts_max,
        backoff=None if backoff is None else backoff.kind,
        base_s=0.0 if backoff is None else backoff.base / SECOND_NS,
        factor=2 if backoff is None else backoff.factor,
        cap_s=None if backoff is None else _seconds(backoff.cap),
        jitter_percent=0 if retry is None else retry.jitter.percent,
    )


def limits_of(budgets: Budgets) -> Limits:
    """Return the limits of a turn."""
    return Limits(
        steps_max=budgets.steps_max,
        tool_calls_max=budgets.tool_calls_max,
        tokens_max=budgets.tokens_max,
        wall_time_s=_seconds(budgets.wall_time),
        cost_max_usd=budgets.cost_max_usd,
        usd_per_million_tokens=budgets.usd_per_million_tokens,
    )


def node_of(script: NodeScript) -> Node:
    """Return a scripted node as a runtime sees it."""
    return Node(
        id=script.id,
        do=script.do,
        role=script.role,
        prompt=script.prompt,
        tool=script.tool,
        arguments=script.arguments,
        argv=script.argv,
        output_schema=script.output_schema,
        strict=script.strict,
        idempotent=script.idempotent,
        retry=None if script.retry is None else _node_retry(script.retry),
        timeout_s=script.timeout / SECOND_NS,
        needs=script.needs,
    )


def target_of(script: FallbackProvider) -> ProviderTarget:
    """Return a fallback as a runtime sees it."""
    return ProviderTarget(
        id=script.id,
        base_url=script.base_url,
        model=script.model,
        attempts_max=script.attempts_max,
    )


def _tool_retry(retry: ToolRetry) -> ToolRetryRule:
    return ToolRetryRule(
        attempts_max=retry.attempts_max,
        backoff=retry.backoff.kind,
        base_s=retry.backoff.base / SECOND_NS,
        factor=retry.backoff.factor,
        cap_s=_seconds(retry.backoff.cap),
        jitter_percent=retry.jitter.percent,
        retryable=retry.retryable,
    )


def _node_retry(retry: NodeRetry) -> NodeRetryRule:
    backoff = retry.backoff
    if backoff is None:
        return NodeRetryRule(attempts_max=retry.attempts_max, retry_on=retry.retry_on)
    return NodeRetryRule(
        attempts_max=retry.attempts_max,
        backoff=backoff.kind,
        base_s=backoff.base / SECOND_NS,
        factor=backoff.factor,
        cap_s=_seconds(backoff.cap),
        retry_on=retry.retry_on,
    )


def _seconds(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / SECOND_NS
