"""A tool call that the model proposes: what it asks for, read and checked against the contract."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultclock.subjects.ports import Reply, Tool, ToolContract, TypedError
from faultclock.subjects.reference_runtime.cancellation import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCall:
    """One call on its way.

    Attributes:
        tool: None where there is no tool of that name.
        arguments: empty where they are no JSON object.
        misfit: why the arguments cannot be used; None if they can.
        scope: what a cancel of this call alone goes to.
    """

    id: str
    name: str
    tool: Tool | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    misfit: str | None = None
    scope: Scope

    @property
    def contract(self) -> ToolContract:
        """What its tool declares; asked only of a call that has one."""
        assert self.tool is not None
        return self.tool.contract


def whole_calls(reply: Reply) -> Reply:
    """Return `reply` if each of its calls is whole.

    Raises:
        TypedError: ProviderCapability/OutputMalformed: a call has no name, its arguments are no
            JSON, two have the same id, or the answer was cut at its length.
    """
    if not reply.tool_calls:
        return reply
    ids = [call.id for call in reply.tool_calls if call.id]
    if len(set(ids)) != len(ids):
        raise _malformed("two tool calls have the same id")
    if reply.finish_reason == "length":
        raise _malformed("the answer was cut off within its tool calls")
    for call in reply.tool_calls:
        if not call.name:
            raise _malformed("a tool call has no name")
        try:
            json.loads(call.arguments.strip() or "{}")
        except ValueError as error:
            raise _malformed(f"the arguments of {call.name} are no JSON") from error
    return reply


def _malformed(message: str) -> TypedError:
    return TypedError("ProviderCapability", "OutputMalformed", message, {"signal": "tool_calls"})


def read_arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments of a whole call, and why they cannot be used (None if they can)."""
    value = json.loads(text.strip() or "{}")
    if isinstance(value, dict):
        return value, None
    return {}, "the arguments are no JSON object"
