"""McpServer: a server of the Model Context Protocol, by the tools that it has and what they say."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from faultclock.model._base import SparseValue


class McpTool(SparseValue):
    """One tool of the server, as `tools/list` has it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"reads", "idempotent", "result"})

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]{1,128}$")
    description: str = ""
    """What the model reads of it."""
    input_schema: dict[str, Any] = {"type": "object"}
    """JSON Schema of its arguments."""
    reads: bool = False
    """Whether it only reads: it is announced with `readOnlyHint`."""
    idempotent: bool = False
    """Whether a repetition changes nothing more: it is announced with `idempotentHint`."""
    result: Any = "done"
    """What a call gives: a text, or JSON, which is sent as structured content as well."""


class McpServer(SparseValue):
    """The server. It speaks the protocol in its version 2025-11-25, and the versions before."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"path", "answers_with"})

    path: str = Field(default="/mcp", pattern=r"^/[^\s?#]*$")
    """Where it is asked over HTTP."""
    answers_with: Literal["stream", "json"] = "stream"
    """Over HTTP: whether a request is answered with an event stream, as the official SDKs do it by
    default, or with JSON."""
    tools: tuple[McpTool, ...] = ()

    @field_validator("tools")
    @classmethod
    def _unique(cls, tools: tuple[McpTool, ...]) -> tuple[McpTool, ...]:
        names = [tool.name for tool in tools]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two tools have the name {twice!r}")
        return tools
