"""Asking the person whether a tool may be executed: shown once, answered once, or not in time."""

from __future__ import annotations

import asyncio
from typing import Literal

from harness.subjects.ports import InteractionAnswer, InteractionRequest, Surroundings
from harness.subjects.reference_agents.calls import Call

__all__ = ["Decision", "approval_of"]

Decision = Literal["approved", "denied", "timeout", "dismissed"]


async def approval_of(surroundings: Surroundings, call: Call, *, deadline_s: float) -> Decision:
    """Show an Approve to everyone who can show it, and return the first answer.

    Where nobody can be asked, nobody has approved. What is still on a screen afterwards is taken
    off it; an answer that comes later changes nothing.

    Args:
        deadline_s: how long it stays open, unless the scenario's own deadline says otherwise.
    """
    deadline_s = surroundings.deadlines_s.get("Approve", deadline_s)
    request = InteractionRequest(
        id=f"approve-{call.id}",
        kind="Approve",
        prompt=f"Allow {call.name}?",
        deadline_s=deadline_s,
        tool=call.name,
        tool_call=call.id,
        arguments=call.arguments,
    )
    first: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()

    def answer(given: InteractionAnswer) -> None:
        if not first.done():
            first.set_result(given)

    shown = []
    for interactor in () if surroundings.headless else surroundings.interactors:
        if "Approve" in interactor.kinds:
            try:
                interactor.show(request, answer)
            except Exception:  # noqa: BLE001, S112 - a broken screen is one that does not answer
                continue
            shown.append(interactor)
    if not shown:
        return "denied"
    try:
        async with asyncio.timeout(deadline_s):
            given = await first
    except TimeoutError:
        return "timeout"
    finally:
        for interactor in shown:
            interactor.dismiss(request.id)
    return {"accepted": "approved", "rejected": "denied"}.get(given.status, "dismissed")  # type: ignore[return-value]
