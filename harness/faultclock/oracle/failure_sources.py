"""All sources of failures: each one reads one group of facts, and none knows another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_sources_programs import output_failures, program_failures
from faultclock.oracle.failure_sources_requests import answer_failures, request_failures
from faultclock.oracle.failure_sources_run import (
    breaker_failures,
    cancel_failures,
    join_failures,
    limit_failures,
)
from faultclock.oracle.failure_sources_services import (
    hook_failures,
    node_failures,
    queue_failures,
    store_failures,
    telemetry_failures,
)
from faultclock.oracle.failure_sources_tools import execution_failures, refused_failures
from faultclock.oracle.history import History

__all__ = ["SOURCES", "seen_failures"]

SOURCES: tuple[Callable[[History, ErrorModel], Iterable[Failure]], ...] = (
    request_failures,
    answer_failures,
    refused_failures,
    execution_failures,
    hook_failures,
    telemetry_failures,
    queue_failures,
    store_failures,
    node_failures,
    program_failures,
    output_failures,
    cancel_failures,
    limit_failures,
    join_failures,
    breaker_failures,
)


def seen_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield every failure that the facts show, in no order, without what the model says of it."""
    for source in SOURCES:
        yield from source(history, model)
