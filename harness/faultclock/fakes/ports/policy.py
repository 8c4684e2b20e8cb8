"""The fake policy engine: it allows or denies each call of a tool as the tool's script says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from faultclock.fakes.plain import plain
from faultclock.fakes.port import Port
from faultclock.model.scenario.tool_script import ToolScript
from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.flood import make_room
from faultclock.sim.kernel.kernel import Kernel


class FakePolicy(Port):
    """The policy engine of one life; it implements the port `Policy`.

    It answers at once, in every style of the subject. A tool without a policy, and one that
    it does not know, is allowed.

    Args:
        life: 1-based.
    """

    def __init__(self, tools: Iterable[ToolScript], kernel: Kernel, life: int = 1) -> None:
        super().__init__(kernel, life, actor="policy")
        self._denied = frozenset(tool.name for tool in tools if tool.policy == "deny")

    def decide(
        self,
        tool: str,
        arguments: Mapping[str, Any],  # noqa: ARG002 - the port's
        *,
        call_id: str,
    ) -> Literal["allow", "deny"]:
        """Return whether this call is allowed."""
        make_room(self._kernel)
        decision: Literal["allow", "deny"] = "deny" if tool in self._denied else "allow"
        self._record(
            "policy.decided",
            current_call(),
            tool=plain(tool),
            tool_call=plain(call_id),
            decision=decision,
        )
        return decision
