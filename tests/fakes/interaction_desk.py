"""What the tests of fake interactors share: a subject that shows requests and notes the answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from faultclock.fakes.ports.interactors import FakeInteractor, InteractorState
from faultclock.model.scenario.interaction_script import InteractorScript
from faultclock.model.scenario.port_values import InteractionAnswer, InteractionRequest
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.world import World

SECOND = 1_000_000_000
#: Later than everything that a test's person does.
LONG_S = 1_000


class Desk:
    """One life of a subject that shows requests and notes the answers; the tests' runtime."""

    def __init__(self, style: Any, *scripts: InteractorScript, life: int = 1, **kept: Any) -> None:
        self.style = style
        self.world = World()
        self.states = kept.get("states") or [InteractorState() for _ in scripts]
        self.interactors = [
            FakeInteractor(script, self.world.kernel, style, state, life)
            for script, state in zip(scripts, self.states, strict=True)
        ]
        self.answers: list[tuple[int, str, InteractionAnswer]] = []
        self.seen: list[Any] = []
        self.refuse: Callable[[InteractionAnswer], None] = lambda _: None

    def show(self, request: InteractionRequest, *interactors: FakeInteractor) -> None:
        """Show a request to some interactors, or to all."""
        for interactor in interactors or self.interactors:
            interactor.show(request, lambda answer, name=interactor.id: self._note(name, answer))

    def _note(self, name: str, answer: InteractionAnswer) -> None:
        self.answers.append((self.world.kernel.now_ns, name, answer))
        self.refuse(answer)

    def run(self, *steps: tuple[float, Callable[[], object]], for_s: float = LONG_S) -> Desk:
        """Do each step at its second, then let the rest of the time pass."""

        async def main_async() -> None:
            CALL_ID.set("ask/1")
            for at_s, step in steps:
                await asyncio.sleep(at_s - self.world.kernel.now_ns / SECOND)
                step()
            await asyncio.sleep(for_s - self.world.kernel.now_ns / SECOND)

        def main_sync() -> None:
            CALL_ID.set("ask/1")
            for at_s, step in steps:
                time.sleep(at_s - self.world.kernel.now_ns / SECOND)
                step()
            time.sleep(for_s - self.world.kernel.now_ns / SECOND)

        ending = self.world.run(main_async if self.style == "async" else main_sync)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        for interactor in self.interactors:
            interactor.seal()
        json.dumps(self.world.recorder.events, allow_nan=False)
        return self

    def facts(self, *kinds: str) -> list[tuple[int, str, dict[str, Any]]]:
        """Return (virtual second, kind, payload) of the interactors' facts, in order."""
        return [
            (at_ns // SECOND, kind, payload)
            for _, at_ns, actor, kind, payload in self.world.recorder.events
            if actor == "interactor" and (not kinds or kind in kinds)
        ]

    def answered(self) -> list[tuple[int, str, bool]]:
        """Return (virtual second, answer, accepted) of each answer."""
        return [
            (at_s, payload["answer"], payload["accepted"])
            for at_s, _, payload in self.facts("interaction.answered")
        ]


def script(*rules: dict[str, Any], **fields: Any) -> InteractorScript:
    """Return a script from its form in a file; rules get the ids r1, r2..."""
    numbered = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules, 1)]
    return InteractorScript.model_validate({"rules": numbered, **fields})


def request(kind: Any = "Approve", number: int = 1, **fields: Any) -> InteractionRequest:
    """Return a request about tool call c<number>."""
    told = {"deadline_s": 120.0, "tool": "write_file", "tool_call": f"c{number}", **fields}
    return InteractionRequest(id=f"q{number}", kind=kind, prompt="May I?", **told)
