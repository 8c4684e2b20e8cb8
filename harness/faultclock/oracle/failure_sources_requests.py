"""Failures of requests to the model: attempts that failed, and answers that were filtered."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.oracle.failure import Failure, Target
from faultclock.oracle.failure_nodes import node_at
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of

__all__ = ["answer_failures", "request_failures"]


def request_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield one failure for each attempt that failed, with the class that its signal has."""
    for request, steps in plans_of(history, model):
        acts = tuple(step.attempt.start for step in steps)
        for step in steps:
            attempt = step.attempt
            if attempt.signal is None or not attempt.failed:
                continue
            yield Failure(
                kind=attempt.signal.kind,
                cause=attempt.signal.error_code or attempt.signal.error_type,
                call=request.id,
                at_ns=attempt.start.at_ns if attempt.known_ns is None else attempt.known_ns,
                seq=attempt.knowable_seq or attempt.events[-1],
                events=attempt.events,
                target=Target(layer="request", id=f"{request.id}#{request.number}"),
                acts=acts,
                node=node_at(history, attempt.start),
                wire=attempt.signal,
                classification=step.classification,
                ruling=step.ruling,
            )


def answer_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield the answers whose content was filtered; the wire was good."""
    for call in history.calls:
        for index, attempt in enumerate(call.attempts):
            answered = attempt.answered
            if answered is None or answered.finish_reason != "content_filter":
                continue
            node = node_at(history, attempt.start)
            # Its answer asks for no tool: the next request for the same is a repetition.
            acts = tuple(
                other.start
                for other in call.attempts[index:]
                if node_at(history, other.start) == node
            )
            yield Failure(
                kind="content_filtered",
                call=call.id,
                at_ns=answered.at_ns if attempt.known_ns is None else attempt.known_ns,
                seq=attempt.events[-1],
                events=attempt.events,
                target=Target(layer="request", id=call.id),
                acts=acts,
                node=node,
            )
