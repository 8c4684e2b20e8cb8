"""One life of an agent of a framework: what an application around it does, for every framework.

It keeps the session in the store that the scenario has, asks the person for the approvals that the
framework asks for, and cancels a turn as applications do: it cancels the task.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.frameworks.own_tools import OwnTools
from faultclock.subjects.ports import InteractionAnswer, InteractionRequest, Surroundings

#: How long a person has for an answer, in seconds. After that it is a no.
_DEADLINE_S = 120.0


class Life:
    """One life of an agent; a framework overrides `turn`, and `resume` where it can.

    Attributes:
        tools: the seam for its own tools.
    """

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.tools = OwnTools(surroundings)
        self._questions = 0
        self._turn: asyncio.Task[Any] | None = None

    @property
    def session_id(self) -> str:
        """Which session it is."""
        return self._surroundings.session_id

    async def start(self) -> None:
        """Open the session: read what an earlier life has kept, if it has kept anything."""
        if self._surroundings.resume:
            kept = await self._surroundings.store.read(self.session_id)
            if kept is not None:
                await self.resume(kept)

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what `keep` was given last."""

    async def keep(self, state: Mapping[str, Any]) -> None:
        """Keep the session over the end of the process."""
        await self._surroundings.store.write(self.session_id, state)

    async def run_turn(self, text: str) -> Any:
        """Answer one message of the user."""
        self._turn = asyncio.current_task()
        try:
            return await self.turn(text)
        finally:
            self._turn = None

    async def turn(self, text: str) -> Any:
        """Answer one message of the user, with the framework's own loop."""
        raise NotImplementedError

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Cancel the turn that runs: its task is cancelled."""
        if self._turn is not None:
            self._turn.cancel()

    async def approved(self, tool: str, arguments: Mapping[str, Any], call_id: str | None) -> str:
        """Ask the person whether a tool may be called; return why not, empty for a yes.

        No answer in two minutes is a no.
        """
        answer = await self._answer(tool, arguments, call_id)
        if answer is not None and answer.status == "accepted":
            return ""
        return (answer.reason if answer is not None else "") or "denied by the user"

    async def _answer(
        self, tool: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> InteractionAnswer | None:
        surroundings = self._surroundings
        screens = [one for one in surroundings.interactors if "Approve" in one.kinds]
        if surroundings.headless or not screens:
            return None
        self._questions += 1
        deadline_s = surroundings.deadlines_s.get("Approve", _DEADLINE_S)
        request = InteractionRequest(
            id=f"question-{self._questions}",
            kind="Approve",
            prompt=f"May {tool} be called?",
            deadline_s=deadline_s,
            tool=tool,
            tool_call=call_id,
            arguments=arguments,
        )
        answered: asyncio.Future[InteractionAnswer] = asyncio.get_running_loop().create_future()

        def answer(given: InteractionAnswer) -> None:
            if not answered.done():
                answered.set_result(given)

        for screen in screens:
            screen.show(request, answer)
        try:
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(answered, deadline_s)
            return None
        finally:
            for screen in screens:
                screen.dismiss(request.id)
