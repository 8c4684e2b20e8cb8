"""Asking the person: shown once, answered once, or not in time."""

from __future__ import annotations

import asyncio
from typing import Literal

from faultclock.subjects.ports import InteractionAnswer, InteractionRequest, Surroundings
from faultclock.subjects.reference_agents.calls import Call

Decision = Literal["approved", "denied", "timeout", "dismissed"]


async def first_answer(
    surroundings: Surroundings, request: InteractionRequest
) -> InteractionAnswer | None:
    """Show a request to everyone who can show it, and return the first answer, or `timeout`.

    What is still on a screen afterwards is taken off it; an answer that comes later changes
    nothing.

    Returns:
        None where nobody could show it.
    """
    first: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()

    def answer(given: InteractionAnswer) -> None:
        if not first.done():
            first.set_result(given)

    shown = []
    for interactor in () if surroundings.headless else surroundings.interactors:
        if request.kind in interactor.kinds:
            try:
                interactor.show(request, answer)
            except Exception:  # noqa: BLE001, S112 - a broken screen is one that does not answer
                continue
            shown.append(interactor)
    if not shown:
        return None
    try:
        async with asyncio.timeout(request.deadline_s):
            return await first
    except TimeoutError:
        return InteractionAnswer(status="timeout")
    finally:
        for interactor in shown:
            interactor.dismiss(request.id)


def approval_request(call: Call, *, deadline_s: float) -> InteractionRequest:
    """Return the question whether a tool may be executed; it stays open for `deadline_s`."""
    return InteractionRequest(
        id=f"approve-{call.id}",
        kind="Approve",
        prompt=f"Allow {call.name}?",
        deadline_s=deadline_s,
        tool=call.name,
        tool_call=call.id,
        arguments=call.arguments,
    )


async def approval_of(surroundings: Surroundings, call: Call, *, deadline_s: float) -> Decision:
    """Return what the person decides about a call. Where nobody can be asked, nobody approves.

    Args:
        deadline_s: how long the question stays open, unless the scenario's own deadline says
            otherwise.
    """
    deadline_s = surroundings.deadlines_s.get("Approve", deadline_s)
    given = await first_answer(surroundings, approval_request(call, deadline_s=deadline_s))
    if given is None:
        return "denied"
    decisions: dict[str, Decision] = {
        "accepted": "approved",
        "rejected": "denied",
        "timeout": "timeout",
    }
    return decisions.get(given.status, "dismissed")
