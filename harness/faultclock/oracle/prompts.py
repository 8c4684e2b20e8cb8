"""How a violation about a request to the person is worded."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Violation
from faultclock.oracle.port_facts import Prompt

__all__ = ["prompt_violation"]


def prompt_violation(
    requirement: str | None,
    prompt: Prompt,
    expected: str,
    observed: str,
    *events: TraceEvent,
    hint: str = "",
) -> Violation:
    """Return a violation that names the request and shows when it was open."""
    about = "" if prompt.tool_call is None else f" about {prompt.tool_call}"
    return Violation(
        requirement=requirement,
        call=prompt.call,
        expected=f"{prompt.kind} {prompt.id}{about}: {expected}",
        observed=observed,
        events=tuple(sorted(_seqs(prompt, *events))),
        hint=hint,
    )


def _seqs(prompt: Prompt, *events: TraceEvent) -> Iterator[int]:
    yield prompt.shown.seq
    if prompt.settled is not None:
        yield prompt.settled.seq
    yield from (event.seq for event in events)
