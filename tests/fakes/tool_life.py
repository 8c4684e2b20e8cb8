"""What the tests of fake tools share: one life of a subject with one tool in its world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from faultclock.fakes.ports.tool_plan import effect_key
from faultclock.fakes.ports.tools import FakeTool, ToolsState
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.sim.kernel.context import CALL_ID
from faultclock.sim.kernel.kernel import Ending
from faultclock.sim.kernel.recorder import Recorder
from faultclock.sim.world import World

MS = 1_000_000
SECOND = 1_000 * MS
ONCE = {"arguments": {"to": "ann"}, "call_id": "call_1"}
KEY = effect_key("send", {"to": "ann"})
#: Ends long after everything that a test waits for.
SETTLE_NS = 20 * SECOND


def script(*rules: dict[str, Any], **fields: Any) -> ToolScript:
    """Return a tool named `send`, which takes 100 ms, as a file says it."""
    named = [{"id": f"r{number}", **rule} for number, rule in enumerate(rules, 1)]
    return ToolScript.model_validate({"name": "send", "rules": named, **fields})


def fault(kind: str, **outcome: Any) -> dict[str, Any]:
    """Return a rule for every execution."""
    extra: dict[str, Any] = {}
    if kind == "partial":
        errors = [{"item": "c", "class": "ToolTerminal", "code": "NotFound"}]
        extra = {"value": ["a", "b"], "errors": errors}
    return {"then": {"fault": {"kind": kind, **extra}, **outcome}}


@dataclass
class Life:
    """One life: a world with one tool in it."""

    script: ToolScript
    style: Any = "async"
    state: ToolsState = field(default_factory=ToolsState)
    number: int = 1
    start_ns: int = 0
    recorder: Recorder | None = None

    def __post_init__(self) -> None:
        self.world = World(recorder=self.recorder, life=self.number, start_ns=self.start_ns)
        kernel = self.world.kernel
        self.tool = FakeTool(self.script, kernel, self.style, self.state, self.number)

    def run(self, subject: Callable[[], Any]) -> Ending:
        """Run `subject` as the call ask/1 and end the life."""

        def blocking() -> Any:
            CALL_ID.set("ask/1")
            value = subject()
            self.world.kernel.pause(SETTLE_NS)
            return value

        async def asynchronous() -> Any:
            CALL_ID.set("ask/1")
            value = await subject()
            await asyncio.sleep(SETTLE_NS / SECOND)
            return value

        ending = self.world.run(asynchronous if iscoroutinefunction(subject) else blocking)
        self.tool.end_life()
        return ending

    def value(self, subject: Callable[[], Any]) -> Any:
        """Return what `subject` returns; fail if it does not."""
        ending = self.run(subject)
        if ending.error is not None:
            raise ending.error
        assert ending.reason == "completed", ending
        return ending.value

    def story(self) -> list[tuple[int, str]]:
        """Return (milliseconds, kind) of each fact of the tools."""
        return [(at_ns // MS, kind) for at_ns, kind, _ in self.facts()]

    def facts(self, wanted: str = "") -> list[tuple[int, str, dict[str, Any]]]:
        """Return (instant, kind, payload) of each fact of the tools, or of those of one kind."""
        return [
            (at_ns, kind, payload)
            for _, at_ns, actor, kind, payload in self.world.recorder.events
            if actor == "tool" and wanted in ("", kind)
        ]


def once(life: Life, **options: Any) -> Callable[[], Any]:
    """Return a subject of the life's style that executes the tool once."""

    async def asynchronous() -> Any:
        return await life.tool.execute(**{**ONCE, **options})

    return asynchronous if life.style == "async" else partial(life.tool.execute, **ONCE, **options)
