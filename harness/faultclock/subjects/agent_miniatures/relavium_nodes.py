"""Miniatures of Relavium runtimes whose nodes do too much or too little again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from faultclock.subjects.agent_miniatures.relavium_table import relavium
from faultclock.subjects.ports import Node
from faultclock.subjects.reference_agents.calls import Call, Outcome
from faultclock.subjects.reference_agents.core import Turn
from faultclock.subjects.reference_agents.relavium import RelaviumAgent
from faultclock.subjects.reference_agents.relavium_errors import RunError

__all__: list[str] = []


@relavium(
    "is-stricter-than-the-document",
    "Rejects JSON that does not fit its schema",
    fails="failures.outcome",
    shown_by="output-is-off-its-schema",
)
class _IsStricterThanTheDocument(RelaviumAgent):
    def check_output(self, node: Node, text: str) -> None:
        super().check_output(node, text)
        schema: Mapping[str, Any] = node.output_schema or {}
        if any(f'"{name}"' not in text for name in schema.get("required", ())):
            raise RunError("validation", "off the schema", target=node.id, field="output")


@relavium(
    "lets-siblings-run-on",
    "Lets the other tools of an answer run on after the run (google/adk-python#7172)",
    fails="ordering.nothing-after-the-end",
    shown_by="one-tool-of-three-fails",
    origin="google/adk-python#7172",
)
class _LetsSiblingsRunOn(RelaviumAgent):
    async def tool(self, turn: Turn, call: Call) -> Outcome:
        if call.name == "slower" and call.tool is not None:
            asyncio.get_running_loop().call_later(5.0, self.later, call)
        return await super().tool(turn, call)

    def later(self, call: Call) -> None:
        assert call.tool is not None
        self.floating = asyncio.ensure_future(call.tool.execute({}, call_id=call.id))
