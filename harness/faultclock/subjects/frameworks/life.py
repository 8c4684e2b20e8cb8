"""One life of an agent of a framework: what an application around it does, for every framework.

It keeps the session in the store that the scenario has, asks the person for the approvals that the
framework asks for, and cancels a turn as applications do: it cancels the task.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Awaitable, Coroutine, Mapping
from typing import Any

from pydantic_core import to_json

from faultclock.subjects.frameworks.own_tools import OwnTools
from faultclock.subjects.ports import InteractionAnswer, InteractionRequest, Surroundings

#: How long a person has for an answer, in seconds. After that it is a no.
_DEADLINE_S = 120.0


class Life:
    """One life of an agent; a framework overrides `turn`, and `resume` where it can.

    Attributes:
        tools: the seam for its own tools.
        streaming: the turn is to be made with the framework's streaming call, and `deliver` called
            for each piece of text.
        blocking: there is no event loop: the framework's blocking calls are used.
        was_cancelled: the last turn, or the one that runs, was cancelled: no one wants the rest.
    """

    blocking = False
    streaming = False
    was_cancelled = False

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self.tools = OwnTools(surroundings)
        self._questions = 0
        self._open: list[threading.Event | asyncio.Event] = []
        self._turn: asyncio.Task[Any] | None = None

    @property
    def session_id(self) -> str:
        """Which session it is."""
        return self._surroundings.session_id

    async def start(self) -> None:
        """Open the session: read what an earlier life has kept, if it has kept anything."""
        if self._surroundings.resume:
            kept = await there(self._surroundings.store.read(self.session_id))
            if kept is not None:
                await self.resume(kept)

    async def resume(self, kept: Mapping[str, Any]) -> None:
        """Go on from what `keep` was given last."""

    async def keep(self, state: Mapping[str, Any]) -> None:
        """Keep the session over the end of the process."""
        await there(self._surroundings.store.write(self.session_id, state))

    async def run_turn(self, text: str) -> Any:
        """Answer one message of the user."""
        self._turn = None if self.blocking else asyncio.current_task()
        try:
            return await self.turn(text)
        finally:
            self._turn = None

    async def stream_turn(self, text: str) -> Any:
        """Answer one message of the user in a stream."""
        self.streaming = True
        try:
            return await self.run_turn(text)
        finally:
            self.streaming = False

    def deliver(self, piece: str) -> None:
        """Say that the user has seen a piece of the answer."""
        if piece:
            self._surroundings.host.delivered(piece)

    async def turn(self, text: str) -> Any:
        """Answer one message of the user, with the framework's own loop."""
        raise NotImplementedError

    def cancel(self, scope: str, target: str | None) -> None:  # noqa: ARG002 - of the port
        """Cancel the turn that runs: its task is cancelled."""
        if self._turn is not None:
            self.was_cancelled = True
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
        answers: list[InteractionAnswer] = []
        come = threading.Event() if self.blocking else asyncio.Event()
        self._open.append(come)

        def answer(given: InteractionAnswer) -> None:
            answers.append(given)
            come.set()

        for screen in screens:
            screen.show(request, answer)
        try:
            if isinstance(come, threading.Event):
                come.wait(deadline_s)
            else:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(come.wait(), deadline_s)
            return answers[0] if answers else None
        finally:
            self._open.remove(come)
            for screen in screens:
                screen.dismiss(request.id)

    def withdraw(self) -> None:
        """Take every question back that a person has not answered yet: that is a no."""
        for come in self._open:
            come.set()


class Blocking:
    """A life whose turns block, as those of a script do: nothing can cancel one."""

    def __init__(self, life: Life) -> None:
        life.blocking = True
        self._life = life

    def start(self) -> None:
        """Open the session."""
        ended(self._life.start())

    def run_turn(self, text: str) -> Any:
        """Answer one message of the user."""
        return ended(self._life.run_turn(text))

    def stream_turn(self, text: str) -> Any:
        """Answer one message of the user in a stream."""
        return ended(self._life.stream_turn(text))


def as_json(value: Any) -> str:
    """Return an answer that is no text, such as an object of the user's class, as JSON."""
    return to_json(value, fallback=str).decode()


def kind_of(value: object) -> str:
    """Return the class of what keeps a session of the user's; empty where nothing does."""
    return "" if value is None or isinstance(value, bool) else type(value).__name__


async def there(value: Any) -> Any:
    """Return a value, which has to be awaited where there is an event loop."""
    return await value if isinstance(value, Awaitable) else value


async def each(parts: Any) -> AsyncIterator[Any]:
    """Yield the parts of a stream, which has to be awaited where there is an event loop."""
    if isinstance(parts, AsyncIterator):
        async for part in parts:
            yield part
    else:
        for part in parts:
            yield part


def ended(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return what a coroutine of a blocking life comes to: it blocks where others would wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise AssertionError("a blocking life waits for no event loop")
